// Heat maps: a number for every row and column, as a colour and in figures.

/** chart: {rows, columns, values: [[…]], rowName, columnName, low, high, difference} */
function heatMap(chart, width, palette, label) {
  const longest = Math.max(...chart.rows.map(name => name.length), 3);
  const left = Math.min(width * 0.38, longest * 7 + 32);
  const letters = Math.floor((left - 32) / 7 + 1e-6);
  const cell = (width - left - 8) / chart.columns.length;
  const tall = Math.max(19, Math.min(28, cell));
  const top = 6, bottom = top + tall * chart.rows.length;
  const height = bottom + 42;
  const svg = canvasOf(width, height, palette, label);
  const [low, high] = heatRange(chart);
  const size = Math.min(10.5, cell / 3.1);
  chart.rows.forEach((name, i) => {
    svg.append(text(name.length > letters ? name.slice(0, letters - 1) + '…' : name, left - 6, top + tall * (i + 0.5) + 4, palette, { 'text-anchor': 'end' }));
    chart.columns.forEach((_, j) => {
      const value = chart.values[i][j];
      const box = { x: left + j * cell, y: top + i * tall, width: Math.max(cell - 1, 0.5), height: tall - 1 };
      if (!Number.isFinite(value)) { svg.append(drawn('rect', { ...box, fill: palette.faint, opacity: 0.5 })); return; }
      const colour = (chart.difference ? between : shade)((value - low) / (high - low), palette);
      svg.append(drawn('rect', { ...box, fill: colour }));
      if (size >= 7.5) svg.append(text(digitsOf(value, chart), box.x + box.width / 2, box.y + tall / 2 + 3.2, palette, { 'text-anchor': 'middle', 'font-size': size, fill: inkOn(colour) }));
    });
  });
  const every = Math.max(1, Math.ceil(Math.max(...chart.columns.map(name => name.length)) * 7 / cell));
  chart.columns.forEach((name, j) => {
    if (j % every === 0) svg.append(text(name, left + (j + 0.5) * cell, bottom + 15, palette, { 'text-anchor': 'middle' }));
  });
  svg.append(text(chart.columnName ?? '', (left + width) / 2, bottom + 33, palette, { 'text-anchor': 'middle', fill: palette.quiet }));
  if (chart.rowName && chart.rowName.length * 6.5 < bottom - top)
    svg.append(text(chart.rowName, 0, 0, palette, {
      'text-anchor': 'middle', fill: palette.quiet, transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`,
    }));
  return { svg, left, top, cell, tall, chart };
}

/** A cell's number; the key of the colours has as many digits. */
const digitsOf = (value, chart) => (chart.difference && value > 0 ? '+' : '') + value.toFixed(2).replace(/^(-?)0\./, '$1.');

/** The numbers at both ends of the colours. */
function heatRange(chart) {
  const known = chart.values.flat().filter(Number.isFinite);
  let low = chart.low ?? Math.min(...known), high = chart.high ?? Math.max(...known);
  if (chart.difference) { high = Math.max(...known.map(Math.abs), 1e-9); low = -high; }
  return [low, high > low ? high : low + 1];
}

/** What the colours mean. */
function heatScale(chart) {
  const [from, to] = heatRange(chart).map(value => digitsOf(value, chart));
  return { from, to, colour: chart.difference ? between : shade };
}

function stripes(colour) {
  return drawn('svg', { class: 'stripes', viewBox: '0 0 100 10', 'aria-hidden': 'true' },
    Array.from({ length: 25 }, (_, i) => drawn('rect', { x: i * 4, width: 4.2, height: 10, fill: colour(i / 24) })));
}

/** Let pointer and arrow keys walk over the cells. */
function walkHeat(drawing, { svg, left, top, cell, tall, chart }, palette) {
  const hint = hintIn(drawing);
  const cursor = drawn('rect', { width: cell, height: tall, fill: 'none', stroke: palette.ink, 'stroke-width': 2, visibility: 'hidden' });
  svg.append(cursor);
  svg.setAttribute('tabindex', '0');
  let [row, column] = [-1, -1];
  const show = (i, j, spoken) => {
    row = Math.max(0, Math.min(chart.rows.length - 1, i));
    column = Math.max(0, Math.min(chart.columns.length - 1, j));
    cursor.setAttribute('x', left + column * cell - 0.5);
    cursor.setAttribute('y', top + row * tall - 0.5);
    cursor.setAttribute('visibility', 'visible');
    const what = `${chart.rowName ?? ''} ${chart.rows[row]}, ${chart.columnName ?? ''} ${chart.columns[column]}`.trim();
    const value = told(chart.values[row][column]);
    hint.show((left + (column + 0.5) * cell) / svg.viewBox.baseVal.width, (top + (row + 1.2) * tall) / svg.viewBox.baseVal.height,
      [element('strong', {}, value), element('div', {}, what)]);
    if (spoken) say(`${what}: ${value}`);
  };
  const hide = () => { hint.hide(); cursor.setAttribute('visibility', 'hidden'); };
  svg.addEventListener('pointermove', event => {
    const bounds = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / bounds.width;
    const j = Math.floor(((event.clientX - bounds.left) * scale - left) / cell), i = Math.floor(((event.clientY - bounds.top) * scale - top) / tall);
    if (i >= 0 && i < chart.rows.length && j >= 0 && j < chart.columns.length) show(i, j); else hide();
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (event.key === 'Escape') hide();
    if (!step) return;
    event.preventDefault();
    show(row + step[0], column + step[1], true);
  });
}
