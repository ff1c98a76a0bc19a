// A figure: title, drawing, key, data as a table, and buttons that hand all of it to the reader.

/**
 * about: {
 *   name      of the files it is kept as
 *   title, about
 *   kind      'lines', 'dots', 'heat' or 'points'
 *   chart()   what to draw, see lines.js, dots.js, heat.js and scatter.js; undefined: not now. A chart without any
 *             number becomes a sentence, with the reason that it gives as `nothing`
 *   table()   the same as {columns, rows}
 * }
 * Returns the element. It is drawn anew when the page's state or its width changes.
 */
function figure(about) {
  const drawing = element('div', { class: 'drawing' });
  const legend = element('div', { class: 'legend' });
  const note = element('p', {}, about.about);
  const title = element('h3', {}, about.title);
  const tools = element('div', { class: 'tools' });
  for (const [form, keep] of [['CSV', keepCsv], ['SVG', keepSvg], ['PNG', keepPng]])
    tools.append(element('button', { class: 'small', type: 'button', title: `Download as ${form}`, 'aria-label': `Download ${about.title} as ${form}`, click: () => keep(about) }, form));
  const data = element('details', { toggle: () => fillTable(data, about) }, element('summary', {}, 'Data as a table'));
  const made = element('figure', { 'data-figure': about.name }, element('figcaption', {}, title, tools), note, drawing, legend, data);
  let width = 0;
  made.draw = () => {
    if (!width || !made.isConnected) return;
    const chart = about.chart();
    made.hidden = chart === undefined;
    if (chart === undefined) return;
    title.textContent = chart.title ?? about.title;
    note.textContent = chart.about ?? about.about ?? '';
    const some = hasSome(about.kind, chart);
    for (const part of [tools, legend, data]) part.hidden = !some;
    if (!some) {
      const why = chart.nothing ?? (PAGE.names.some(shown) ? 'no run that is shown has a number here' : 'all runs are hidden');
      drawing.replaceChildren(element('p', { class: 'nothing' }, `Nothing to show: ${why}.`));
      return;
    }
    drawing.replaceChildren();
    drawInto(drawing, about, chart, width, colours());
    legend.replaceChildren(...legendOf(about, chart, drawing));
    if (data.open) fillTable(data, about);
  };
  new ResizeObserver(() => {
    const now = Math.floor(made.clientWidth);
    if (now && now !== width) { width = now; made.draw(); }
  }).observe(made);
  redraws.add(made.draw);
  return made;
}

/** Whether a chart has any number to draw. */
function hasSome(kind, chart) {
  if (kind === 'lines') return chart.series.some(one => one.points.some(p => Number.isFinite(p.y) && (!chart.log || p.y > 0)));
  if (kind === 'dots') return chart.rows.some(row => row.dots.some(dot => Number.isFinite(dot.value)));
  if (kind === 'heat') return chart.values.some(row => row.some(Number.isFinite));
  return chart.x.some((x, i) => Number.isFinite(x) && Number.isFinite(chart.y[i]));
}

/** In words, what the picture shows: for those who cannot see it. */
function labelOf(about, chart) {
  const title = chart.title ?? about.title;
  if (about.kind === 'lines') {
    const ends = chart.series.slice(0, 8).map(one => {
      const known = one.points.filter(p => Number.isFinite(p.y));
      return known.length ? `${one.name} from ${told(known[0].y)} to ${told(known.at(-1).y)}` : `${one.name} undefined`;
    });
    return `${title}, ${chart.yName ?? ''} by ${chart.xName ?? ''}: ${ends.join('; ')}. Arrow keys read the values.`;
  }
  if (about.kind === 'dots') return `${title}: ${chart.rows.length} rows. Arrow keys read the values.`;
  if (about.kind === 'heat') return `${title}: ${chart.rows.length} by ${chart.columns.length}. Arrow keys read the values.`;
  return `${title}: ${chart.x.length} points. Arrow keys visit them.`;
}

function drawInto(drawing, about, chart, width, palette) {
  const label = labelOf(about, chart);
  if (about.kind === 'points') {
    chart.label = label;
    const plot = scatterPlot(chart, width, palette);
    drawing.append(plot.canvas);
    walkPoints(drawing, chart, plot, palette);
    return;
  }
  const [make, walk] = { lines: [lineChart, walkLines], dots: [dotChart, walkDots], heat: [heatMap, walkHeat] }[about.kind];
  const made = make(chart, width, palette, label);
  drawing.append(made.svg);
  walk(drawing, made, palette);
}

/** How a line is drawn in a key. */
const lookOf = (one, chart) => {
  const look = KINDS[one.kind] ?? KINDS.adjusted;
  return { dash: one.dash ?? look.dash, hollow: look.hollow, marker: !chart.plain && !one.plain };
};

const FOLDED = 16; // so many curves have their keys in sight, those of more are unfolded

/** Keys of what is drawn. That of a curve brings it out when it is pointed at; of many curves also by keyboard. */
function legendOf(about, chart, drawing) {
  if (chart.legend) return chart.legend.map(([key, name]) => element('span', {}, key, name));
  if (about.kind === 'heat') {
    const { from, to, colour } = heatScale(chart);
    return [element('span', {}, from, stripes(colour), to)];
  }
  if (about.kind !== 'lines') return [];
  const many = chart.series.length > FOLDED;
  const bringOut = at => drawing.querySelectorAll('[data-series]').forEach(one => {
    one.setAttribute('opacity', at === undefined || +one.dataset.series === at ? 1 : 0.12);
  });
  let kept; // the curve that was clicked
  const keys = chart.series.map((one, at) => {
    const point = { pointerenter: () => bringOut(at), pointerleave: () => bringOut(kept) };
    const choose = {
      type: 'button', 'aria-pressed': 'false', focus: () => bringOut(at), blur: () => bringOut(kept),
      click: () => {
        kept = kept === at ? undefined : at;
        keys.forEach((key, i) => key.setAttribute('aria-pressed', String(i === kept)));
        bringOut(kept);
      },
    };
    return element(many ? 'button' : 'span', { ...point, ...(many ? choose : {}) }, keyOf(one.colour, one.place ?? 0, lookOf(one, chart)), one.name);
  });
  if (!many) return keys;
  return [element('details', { class: 'many' }, element('summary', {}, `Key: ${keys.length} curves`), element('div', {}, keys))];
}

function fillTable(details, about) {
  details.querySelector('.wide')?.remove();
  if (details.open) details.append(tableOf(about.table()));
}

function keepCsv(about) {
  download(`${about.name}.csv`, csvOf(about.table()), 'text/csv');
}

/** The drawing for paper: light, of a fixed size, with its title and key. */
function svgOf(about) {
  const chart = about.chart();
  const width = 760;
  const label = labelOf(about, chart);
  const inner = about.kind === 'points' ? scatterSvg({ ...chart, label }, width, LIGHT)
    : { lines: lineChart, dots: dotChart, heat: heatMap }[about.kind](lightened(chart), width, LIGHT, label).svg;
  const height = +inner.getAttribute('height');
  const keys = about.kind === 'lines' ? lightened(chart).series : [];
  const scale = about.kind === 'heat' ? heatScale(chart) : chart.scale;
  const rows = scale ? 1 : Math.ceil(keys.length / 3);
  const svg = canvasOf(width, height + 34 + 20 * rows, LIGHT, label);
  svg.append(text(chart.title ?? about.title, 12, 22, LIGHT, { 'font-size': 15, 'font-weight': 600 }));
  inner.setAttribute('y', 32);
  svg.append(inner);
  if (scale) svg.append(...scaleSvg(scale, 20, height + 44));
  keys.forEach((one, i) => {
    const look = lookOf(one, chart);
    const [x, y] = [20 + (i % 3) * 245, height + 44 + 20 * Math.floor(i / 3)];
    svg.append(...[
      drawn('line', { x1: x, x2: x + 28, y1: y, y2: y, stroke: one.colour, 'stroke-width': 2, 'stroke-dasharray': look.dash }),
      look.marker && drawn('path', { d: markerPath(one.place ?? 0, x + 14, y, 3.6), fill: look.hollow ? '#ffffff' : one.colour, stroke: one.colour }),
      text(one.name.length > 32 ? one.name.slice(0, 31) + '…' : one.name, x + 36, y + 4, LIGHT)].filter(Boolean));
  });
  return svg;
}

/** What colours mean, on paper: the number at one end, the colours, the number at the other. */
function scaleSvg({ from, to, colour }, x, y) {
  const left = x + 8 + 7 * from.length;
  return [text(from, x, y + 4, LIGHT),
    ...Array.from({ length: 25 }, (_, i) => drawn('rect', { x: left + 5 * i, y: y - 5, width: 5.2, height: 10, fill: colour(i / 24, LIGHT) })),
    text(to, left + 133, y + 4, LIGHT)];
}

/** A chart's own colours as they are on white paper. */
function lightened(chart) {
  const light = colour => {
    const at = DARK.runs.indexOf(colour);
    return at < 0 ? colour : LIGHT.runs[at];
  };
  if (chart.series) return { ...chart, series: chart.series.map(one => ({ ...one, colour: light(one.colour) })) };
  if (chart.rows?.[0]?.dots) return { ...chart, rows: chart.rows.map(row => ({ ...row, dots: row.dots.map(dot => ({ ...dot, colour: light(dot.colour) })) })) };
  return chart;
}

function keepSvg(about) {
  download(`${about.name}.svg`, new XMLSerializer().serializeToString(svgOf(about)), 'image/svg+xml');
}

function keepPng(about) {
  const svg = svgOf(about);
  const [width, height] = [+svg.getAttribute('width'), +svg.getAttribute('height')];
  const picture = new Image();
  picture.onload = () => {
    const canvas = element('canvas', { width: 2 * width, height: 2 * height });
    canvas.getContext('2d').drawImage(picture, 0, 0, 2 * width, 2 * height);
    canvas.toBlob(blob => download(`${about.name}.png`, blob), 'image/png');
  };
  picture.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(new XMLSerializer().serializeToString(svg));
}
