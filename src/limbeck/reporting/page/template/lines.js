// Charts of lines: values with intervals along an axis.

const KINDS = {
  adjusted: { width: 2.2 },
  value: { width: 1.6, dash: '6 3', hollow: true },
  baseline: { width: 1.6, dash: '1.5 3', small: true },
};

/**
 * chart: {xName, yName, xLabels: [[at, label]], log, logX, zero, plain, series: [{name, colour, place, kind, points: [{x, y, low, high}]}]}
 * Returns the drawing, and what is told at each place of the x axis.
 */
function lineChart(chart, width, palette, label) {
  const height = Math.round(Math.min(320, Math.max(220, width * 0.58)));
  const every = chart.series.flatMap(one => one.points);
  const box = { left: 58, right: width - 14, top: 12, bottom: height - (chart.xName ? 42 : 24) };
  const y = scaleOf(every.flatMap(p => [p.y, p.low, p.high]), box.bottom, box.top, chart);
  const x = chart.logX
    ? scaleOf(every.map(p => p.x), box.left + 6, box.right - 6, { log: true })
    : plainScale(every.map(p => p.x), box.left + 12, box.right - 12);
  const svg = canvasOf(width, height, palette, label);
  svg.append(...frame(box, palette, { x, y, xName: chart.xName, yName: chart.yName, xLabels: chart.xLabels }));
  const opacity = Math.min(0.18, 0.54 / chart.series.length); // the bands of many runs lie on one another
  const usable = p => Number.isFinite(p.y) && (!chart.log || p.y > 0);
  chart.series.forEach((one, number) => {
    const group = drawn('g', { 'data-series': number });
    svg.append(group);
    const look = KINDS[one.kind] ?? KINDS.adjusted;
    const points = one.points.filter(usable);
    const band = points.filter(p => Number.isFinite(p.low) && Number.isFinite(p.high) && (!chart.log || p.low > 0));
    if (band.length > 1 && one.kind !== 'baseline') {
      const edge = band.map(p => `${x.place(p.x).toFixed(1)} ${y.place(p.high).toFixed(1)}`)
        .concat(band.toReversed().map(p => `${x.place(p.x).toFixed(1)} ${y.place(p.low).toFixed(1)}`));
      group.append(drawn('path', { d: 'M' + edge.join('L') + 'Z', fill: one.colour, opacity }));
    }
    const dash = one.dash ?? look.dash;
    if (points.length > 1) {
      const path = points.map(p => `${x.place(p.x).toFixed(1)} ${y.place(p.y).toFixed(1)}`).join('L');
      group.append(drawn('path', { d: 'M' + path, fill: 'none', stroke: one.colour, 'stroke-width': look.width, 'stroke-dasharray': dash, 'stroke-linejoin': 'round' }));
    }
    if (points.length <= 40 && !chart.plain && !one.plain)
      for (const p of points)
        group.append(drawn('path', {
          d: markerPath(one.place ?? 0, x.place(p.x), y.place(p.y), look.small ? 2 : 3.4),
          fill: look.hollow ? palette.paper : one.colour, stroke: one.colour, 'stroke-width': 1.2,
        }));
  });
  const places = [...new Set(every.map(p => p.x))].sort((a, b) => a - b);
  const names = new Map(chart.xLabels ?? []);
  const stops = places.map(at => ({
    x: x.place(at),
    title: `${chart.xName ?? 'x'} ${names.get(at) ?? tickText(at)}`,
    lines: chart.series.flatMap(one => one.points.filter(p => p.x === at && Number.isFinite(p.y)).map(p => ({
      colour: one.colour, place: one.place ?? 0, name: one.name, y: y.place(p.y), value: p.y,
      text: toldWith(p.y, p.low, p.high),
    }))),
  }));
  return { svg, box, stops };
}

/** An axis whose ends are the first and last place. */
function plainScale(values, from, to) {
  const known = values.filter(Number.isFinite);
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (!known.length) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 1, high + 1];
  return { place: value => from + (value - low) / (high - low) * (to - from), ticks: ticksOf(low, high, 6), low, high };
}

/** Let pointer and arrow keys walk along the places of a line chart. */
function walkLines(drawing, { svg, box, stops }, palette) {
  const hint = hintIn(drawing);
  let at = -1;
  const cursor = drawn('g');
  svg.append(cursor);
  svg.setAttribute('tabindex', '0');
  const show = (place, spoken, y) => {
    at = Math.max(0, Math.min(stops.length - 1, place));
    const stop = stops[at];
    if (!stop) return;
    cursor.replaceChildren(
      drawn('line', { x1: stop.x, x2: stop.x, y1: box.top, y2: box.bottom, stroke: palette.quiet, 'stroke-dasharray': '2 3' }),
      ...stop.lines.map(line => drawn('circle', { cx: stop.x, cy: line.y, r: 5, fill: 'none', stroke: line.colour, 'stroke-width': 2 })));
    const lines = someOf(stop.lines, y);
    hint.show(stop.x / svg.viewBox.baseVal.width, 0.05, [
      element('strong', {}, stop.title),
      ...lines.map(line => element('div', {}, line.colour && keyOf(line.colour, line.place, { line: false }), ` ${line.name} ${line.text}`)),
    ]);
    if (spoken) say(`${stop.title}: ${stop.lines.map(line => `${line.name} ${line.text}`).join('; ')}`);
  };
  const hide = () => { hint.hide(); cursor.replaceChildren(); };
  svg.addEventListener('pointermove', event => {
    const bounds = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top].map(at => at / bounds.width * svg.viewBox.baseVal.width);
    let best = 0;
    stops.forEach((stop, i) => { if (Math.abs(stop.x - x) < Math.abs(stops[best].x - x)) best = i; });
    show(best, false, y);
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    const next = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: stops.length - 1 }[event.key];
    if (event.key === 'Escape') hide();
    if (next === undefined) return;
    event.preventDefault();
    show(next, true);
  });
}

/** Of the values at a place as many as a box can tell: those nearest to the pointer, or else the first. */
function someOf(lines, y, most = 14) {
  if (lines.length <= most) return lines;
  const distance = line => (y === undefined ? 0 : Math.abs(line.y - y));
  const near = new Set([...lines].sort((a, b) => distance(a) - distance(b)).slice(0, most));
  return [...lines.filter(line => near.has(line)), { name: `and ${lines.length - most} more`, text: '' }];
}

/** A small box beside what is pointed at. */
function hintIn(drawing) {
  const box = element('div', { class: 'hint', hidden: true });
  drawing.append(box);
  return {
    show(x, y, content) {
      box.replaceChildren(...content);
      box.hidden = false;
      const right = x > 0.5;
      box.style.left = right ? 'auto' : `calc(${100 * x}% + 14px)`;
      box.style.right = right ? `calc(${100 * (1 - x)}% + 14px)` : 'auto';
      box.style.top = `${Math.max(0, 100 * y)}%`;
    },
    hide() { box.hidden = true; },
  };
}
