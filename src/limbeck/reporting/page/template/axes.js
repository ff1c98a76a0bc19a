// Scales and axes of the drawings.

const FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif';

/** Round numbers that cover a range. */
function ticksOf(low, high, count = 5) {
  const step = stepOf(high - low, count);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(+(i * step).toPrecision(12));
  return found;
}

function stepOf(span, count) {
  const raw = span / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find(factor => factor * power >= raw * 0.999);
}

/** Powers of ten in a range, with 2 and 5 between where there are few. */
function logTicksOf(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const factors = last - first > 2 ? [1] : [1, 2, 5];
  const every = Math.max(1, Math.ceil((last - first) / 7));
  const found = [];
  for (let power = first; power <= last; power += every)
    for (const factor of factors) if (factor * 10 ** power >= low * 0.999 && factor * 10 ** power <= high * 1.001) found.push(+(factor * 10 ** power).toPrecision(6));
  return found;
}

/** Where numbers stand between two ends, and the ticks there. */
function scaleOf(values, from, to, { log = false, zero = false, count = 5 } = {}) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) if (Number.isFinite(value) && (!log || value > 0)) { low = Math.min(low, value); high = Math.max(high, value); }
  if (low > high) [low, high] = log ? [0.1, 1] : [0, 1];
  if (log) {
    if (high / low < 1.5) [low, high] = [low / 1.5, high * 1.5];
    const [a, b] = [Math.log(low), Math.log(high)];
    const pad = (b - a) * 0.04;
    const place = value => from + (Math.log(value) - a + pad) / (b - a + 2 * pad) * (to - from);
    return { place, ticks: logTicksOf(low, high), low, high };
  }
  if (zero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (high - low < 1e-9) [low, high] = [low - 0.5 * (Math.abs(low) || 1), high + 0.5 * (Math.abs(high) || 1)];
  const pad = (high - low) * 0.05;
  if (!(zero && low === 0)) low -= pad;
  if (!(zero && high === 0)) high += pad;
  const place = value => from + (value - low) / (high - low) * (to - from);
  return { place, ticks: ticksOf(low, high, count), low, high };
}

/** A tick's label, as short as it can be. */
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential(0).replace('e+', 'e');
  return value.toLocaleString('en', { maximumFractionDigits: 4 });
}

function text(content, x, y, palette, attributes = {}) {
  return drawn('text', { x, y, fill: palette.ink, 'font-size': 11.5, 'font-family': FONT, ...attributes }, content);
}

/** The frame of a chart: grid lines, ticks and names of both axes. */
function frame(box, palette, { x, y, xName, yName, xLabels }) {
  const parts = [];
  for (const tick of y.ticks) {
    const at = y.place(tick);
    parts.push(drawn('line', { x1: box.left, x2: box.right, y1: at, y2: at, stroke: palette.faint }));
    parts.push(text(tickText(tick), box.left - 6, at + 4, palette, { 'text-anchor': 'end' }));
  }
  if (y.low < 0 && y.high > 0) parts.push(drawn('line', { x1: box.left, x2: box.right, y1: y.place(0), y2: y.place(0), stroke: palette.quiet }));
  parts.push(drawn('line', { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, stroke: palette.quiet }));
  const labels = xLabels ?? x.ticks.map(tick => [tick, tickText(tick)]);
  const wide = Math.max(...labels.map(([, label]) => label.length), 1) * 6.6 + 8;
  const every = Math.max(1, Math.ceil(labels.length * wide / (box.right - box.left)));
  labels.forEach(([at, label], i) => {
    if (i % every) return;
    parts.push(drawn('line', { x1: x.place(at), x2: x.place(at), y1: box.bottom, y2: box.bottom + 4, stroke: palette.quiet }));
    parts.push(text(label, x.place(at), box.bottom + 17, palette, { 'text-anchor': 'middle' }));
  });
  if (xName) parts.push(text(xName, (box.left + box.right) / 2, box.bottom + 34, palette, { 'text-anchor': 'middle', fill: palette.quiet }));
  const turned = `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`;
  if (yName) parts.push(text(yName, 0, 0, palette, { 'text-anchor': 'middle', fill: palette.quiet, transform: turned }));
  return parts;
}

/** An empty drawing of a size. */
function canvasOf(width, height, palette, label) {
  return drawn('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label, xmlns: SVG },
    drawn('rect', { width, height, fill: palette.paper }));
}
