// One colour a run throughout the page (Okabe & Ito 2008), a shape beside it for those who see no colours.

const LIGHT = {
  paper: '#ffffff', ink: '#1c2126', quiet: '#59616b', faint: '#dfe3e8', unknown: '#b9bfc7',
  runs: ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000'],
};
const DARK = {
  paper: '#14171b', ink: '#e8eaed', quiet: '#a4acb6', faint: '#353b43', unknown: '#4d555f',
  runs: ['#3A94D0', '#E8702A', '#1FB88C', '#D98BB5', '#F0B429', '#7CCBF5', '#E8EAED'],
};

/** The page's state: theme, and which runs are shown. Figures are drawn anew when it changes. */
const STATE = { dark: matchMedia('(prefers-color-scheme: dark)').matches, hidden: new Set(), names: [...PAGE.names] };
const redraws = new Set();

const colours = () => (STATE.dark ? DARK : LIGHT);
const shown = name => !STATE.hidden.has(name);

/** The place of a name among all that have a colour; newcomers are added behind. */
function placeOf(name) {
  if (!STATE.names.includes(name)) STATE.names.push(name);
  return STATE.names.indexOf(name);
}

const colourOf = (name, palette = colours()) => palette.runs[placeOf(name) % palette.runs.length];

function redraw() {
  document.documentElement.dataset.theme = STATE.dark ? 'dark' : 'light';
  for (const draw of redraws) draw();
}

/** The path of a marker about (x, y): circle, square, triangle, diamond, …, by the place of its run. */
function markerPath(place, x, y, r = 3.4) {
  const corners = points => 'M' + points.map(([a, b]) => `${(x + a * r).toFixed(1)} ${(y + b * r).toFixed(1)}`).join('L') + 'Z';
  switch (place % 6) {
    case 1: return corners([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
    case 2: return corners([[0, -1.2], [1.1, 0.9], [-1.1, 0.9]]);
    case 3: return corners([[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]]);
    case 4: return corners([[0, 1.2], [1.1, -0.9], [-1.1, -0.9]]);
    case 5: return corners([[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]]);
    default: return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
}

/** A short sample of a line for keys. */
function keyOf(colour, place, { dash, hollow, line = true, marker = true } = {}) {
  return drawn('svg', { class: 'key', viewBox: '0 0 30 14', 'aria-hidden': 'true' },
    line && drawn('line', { x1: 1, x2: 29, y1: 7, y2: 7, stroke: colour, 'stroke-width': 2.4, 'stroke-dasharray': dash }),
    marker && drawn('path', { d: markerPath(place, 15, 7, 4.2), fill: hollow ? colours().paper : colour, stroke: colour, 'stroke-width': 1.6 }));
}

// viridis at eleven places; the light end is left out on white paper, the dark end on black
const VIRIDIS = ['#440154', '#482475', '#414487', '#355f8d', '#2a788e', '#21918c', '#22a884', '#44bf70', '#7ad151', '#bddf26', '#fde725'];

function mixed(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [stops[low], stops[low + 1]].map(colour => [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16)));
  return '#' + a.map((value, i) => Math.round(value + (b[i] - value) * (at - low)).toString(16).padStart(2, '0')).join('');
}

/** A colour for a share of a scale. */
const shade = (share, palette = colours()) => mixed(VIRIDIS, palette === DARK ? 0.15 + 0.85 * share : 0.92 * share);

// for differences: blue below, orange above, the paper in the middle
const between = (share, palette = colours()) => mixed(['#0072B2', palette === DARK ? '#2a3037' : '#f3f4f6', '#D55E00'], share);

/** Ink that can be read on a colour. */
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b > 0.55 ? '#111111' : '#ffffff';
}
