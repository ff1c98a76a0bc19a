// Charts of rows: a value with its interval, several to a row.

/** chart: {xName, rows: [{name, dots: [{name, colour, place, value, low, high, mark}]}]} */
function dotChart(chart, width, palette, label) {
  const longest = Math.max(...chart.rows.map(row => row.name.length), 4);
  const left = Math.min(width * 0.42, longest * 6.6 + 14);
  const letters = Math.floor((left - 12) / 6.4);
  const tall = row => Math.max(22, 11 * row.dots.length + 8);
  const height = chart.rows.reduce((sum, row) => sum + tall(row), 0) + 58;
  const svg = canvasOf(width, height, palette, label);
  const box = { left, right: width - 18, top: 8, bottom: height - 44 };
  const every = chart.rows.flatMap(row => row.dots.flatMap(dot => [dot.value, dot.low, dot.high]));
  const x = scaleOf(every, box.left, box.right, { zero: chart.zero, count: 5 });
  for (const tick of x.ticks) {
    svg.append(drawn('line', { x1: x.place(tick), x2: x.place(tick), y1: box.top, y2: box.bottom, stroke: tick === 0 ? palette.quiet : palette.faint }));
    svg.append(text(tickText(tick), x.place(tick), box.bottom + 16, palette, { 'text-anchor': 'middle' }));
  }
  svg.append(text(chart.xName ?? '', (box.left + box.right) / 2, box.bottom + 33, palette, { 'text-anchor': 'middle', fill: palette.quiet }));
  let top = box.top;
  const stops = [];
  for (const row of chart.rows) {
    const name = row.name.length > letters ? row.name.slice(0, letters - 1) + '…' : row.name;
    svg.append(text(name, box.left - 8, top + tall(row) / 2 + 4, palette, { 'text-anchor': 'end' }));
    svg.append(drawn('line', { x1: 0, x2: box.right, y1: top + tall(row), y2: top + tall(row), stroke: palette.faint }));
    row.dots.forEach((dot, i) => {
      const y = top + tall(row) / 2 + (i - (row.dots.length - 1) / 2) * 11;
      if (Number.isFinite(dot.low) && Number.isFinite(dot.high))
        svg.append(drawn('line', { x1: x.place(dot.low), x2: x.place(dot.high), y1: y, y2: y, stroke: dot.colour, 'stroke-width': 2.2, opacity: 0.6 }));
      if (Number.isFinite(dot.value))
        svg.append(drawn('path', { d: markerPath(dot.place, x.place(dot.value), y, 4), fill: dot.colour, stroke: palette.paper, 'stroke-width': 0.8 }));
      if (dot.mark) svg.append(text(dot.mark, x.place(Number.isFinite(dot.high) ? dot.high : dot.value) + 4, y + 5, palette, { 'font-weight': 700 }));
      const said = `${dot.name}: ${toldWith(dot.value, dot.low, dot.high)}`;
      stops.push({ y, title: row.name, text: said + (dot.mark ? ` ${dot.mark}` : '') + (dot.note ? ` · ${dot.note}` : '') });
    });
    top += tall(row);
  }
  return { svg, box, stops };
}

/** Let pointer and arrow keys walk down the dots. */
function walkDots(drawing, { svg, box, stops }, palette) {
  const hint = hintIn(drawing);
  const cursor = drawn('rect', { x: 0, width: box.right, height: 12, fill: palette.quiet, opacity: 0.18, visibility: 'hidden' });
  svg.append(cursor);
  svg.setAttribute('tabindex', '0');
  let at = -1;
  const show = (place, spoken) => {
    at = Math.max(0, Math.min(stops.length - 1, place));
    const stop = stops[at];
    if (!stop) return;
    cursor.setAttribute('y', stop.y - 6);
    cursor.setAttribute('visibility', 'visible');
    hint.show(0.3, (stop.y + 10) / svg.viewBox.baseVal.height, [element('strong', {}, stop.title), element('div', {}, stop.text)]);
    if (spoken) say(`${stop.title}, ${stop.text}`);
  };
  const hide = () => { hint.hide(); cursor.setAttribute('visibility', 'hidden'); };
  svg.addEventListener('pointermove', event => {
    const bounds = svg.getBoundingClientRect();
    const y = (event.clientY - bounds.top) / bounds.height * svg.viewBox.baseVal.height;
    let best = 0;
    stops.forEach((stop, i) => { if (Math.abs(stop.y - y) < Math.abs(stops[best].y - y)) best = i; });
    show(best);
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    const next = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (event.key === 'Escape') hide();
    if (next === undefined) return;
    event.preventDefault();
    show(next, true);
  });
}
