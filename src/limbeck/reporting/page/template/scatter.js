// Clouds of points on a canvas, which can hold more of them than a drawing of elements.

/**
 * cloud: {x, y (typed arrays), colour(i, palette), hint(i) -> nodes, spoken(i) -> text, marked: Set, size, label}
 * Returns an element, and the same picture as SVG for the reader to keep.
 */
function scatterPlot(cloud, width, palette) {
  const height = Math.round(Math.min(width, 420));
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const canvas = element('canvas', { width: width * ratio, height: height * ratio, tabindex: 0, role: 'img', 'aria-label': cloud.label });
  canvas.style.height = `${height}px`;
  const places = placesOf(cloud, width, height);
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  paint(pen, cloud, places, width, height, palette);
  return { canvas, places, width, height };
}

/** Points in pixels, the same scale both ways, and the order in which arrow keys visit them. */
function placesOf({ x, y }, width, height) {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(x[i]) || !Number.isFinite(y[i])) continue;
    left = Math.min(left, x[i]); right = Math.max(right, x[i]);
    low = Math.min(low, y[i]); high = Math.max(high, y[i]);
  }
  const scale = Math.min((width - 24) / (right - left || 1), (height - 24) / (high - low || 1));
  const [cx, cy] = [(left + right) / 2, (low + high) / 2];
  const px = Float32Array.from(x, value => width / 2 + (value - cx) * scale);
  const py = Float32Array.from(y, value => height / 2 - (value - cy) * scale);
  const by = column => Array.from(column.keys()).filter(i => Number.isFinite(column[i])).sort((a, b) => column[a] - column[b]);
  return { px, py, across: by(px), down: by(py) };
}

function paint(pen, cloud, { px, py }, width, height, palette) {
  pen.fillStyle = palette.paper;
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = palette.faint;
  pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  const size = cloud.size ?? 2.4;
  const dim = cloud.marked?.size > 0;
  for (let i = 0; i < px.length; i++) {
    if (!Number.isFinite(px[i]) || cloud.marked?.has(i)) continue;
    pen.globalAlpha = dim ? 0.2 : 0.8;
    pen.fillStyle = cloud.colour(i, palette);
    pen.beginPath();
    pen.arc(px[i], py[i], size, 0, 2 * Math.PI);
    pen.fill();
  }
  pen.globalAlpha = 1;
  for (const i of cloud.marked ?? []) {
    pen.fillStyle = cloud.colour(i, palette);
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.arc(px[i], py[i], size + 2, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}

function scatterSvg(cloud, width, palette) {
  const height = Math.round(Math.min(width, 420));
  const { px, py } = placesOf(cloud, width, height);
  const svg = canvasOf(width, height, palette, cloud.label);
  for (let i = 0; i < px.length; i++)
    if (Number.isFinite(px[i]))
      svg.append(drawn('circle', { cx: px[i].toFixed(1), cy: py[i].toFixed(1), r: cloud.size ?? 2.4, fill: cloud.colour(i, palette), opacity: 0.8 }));
  return svg;
}

/** Let pointer and arrow keys visit points: left and right by x, up and down by y. */
function walkPoints(drawing, cloud, { canvas, places, width, height }, palette) {
  const hint = hintIn(drawing);
  const ring = drawn('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  ring.style.cssText = 'position:absolute;inset:0;pointer-events:none';
  drawing.append(ring);
  const { px, py, across, down } = places;
  let at = -1;
  const show = (i, spoken) => {
    if (i === undefined) return;
    at = i;
    ring.replaceChildren(drawn('circle', { cx: px[i], cy: py[i], r: 6, fill: 'none', stroke: palette.ink, 'stroke-width': 2 }));
    hint.show(px[i] / width, py[i] / height, cloud.hint(i));
    if (spoken) say(cloud.spoken(i));
  };
  const hide = () => { hint.hide(); ring.replaceChildren(); };
  canvas.addEventListener('pointermove', event => {
    const bounds = canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - bounds.left) / bounds.width * width, (event.clientY - bounds.top) / bounds.height * height];
    let best, nearest = 14 ** 2;
    for (let i = 0; i < px.length; i++) {
      const distance = (px[i] - x) ** 2 + (py[i] - y) ** 2;
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    if (best === undefined) hide(); else show(best);
  });
  canvas.addEventListener('pointerleave', hide);
  canvas.addEventListener('blur', hide);
  canvas.addEventListener('keydown', event => {
    const [order, step] = { ArrowRight: [across, 1], ArrowLeft: [across, -1], ArrowUp: [down, -1], ArrowDown: [down, 1] }[event.key] ?? [];
    if (event.key === 'Escape') hide();
    if (!order) return;
    event.preventDefault();
    const from = at < 0 ? (step > 0 ? -1 : order.length) : order.indexOf(at);
    show(order[Math.max(0, Math.min(order.length - 1, from + step))], true);
  });
}
