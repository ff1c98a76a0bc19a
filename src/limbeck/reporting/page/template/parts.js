// Sections of measured runs: cards, layers, frequency, spectrum, space.

/** Layers on the x axis: by number, or by depth from the first to the last. */
const layerAt = (curve, i, depth) => {
  if (!depth) return curve.at ? curve.at[i] : i;
  const [first, last] = [curve.at[0], curve.at.at(-1)];
  return last === first ? 0 : (curve.at[i] - first) / (last - first);
};

/** The layers that a control offers: those of the run with the most; others take theirs at the same depth. */
const longest = runs => runs.map(run => run.layers).reduce((a, b) => (b.length > a.length ? b : a));

/** The place of the layer of this name, or else of the one at the same depth. */
function atDepth(layers, chosen, all) {
  const same = layers.indexOf(chosen);
  if (same >= 0) return same;
  return Math.round(Math.max(0, all.indexOf(chosen)) / Math.max(1, all.length - 1) * (layers.length - 1));
}

/** Show an element only while its run is shown. */
function belonging(made, run) {
  const draw = () => { made.hidden = !shown(run); };
  redraws.add(draw);
  draw();
  return made;
}

/** A sentence in the place of what some runs would have, while all of them are hidden. */
function saidHidden(runs) {
  const made = element('p', { class: 'nothing' }, 'Nothing to show: its runs are hidden.');
  const draw = () => { made.hidden = runs.some(shown); };
  redraws.add(draw);
  draw();
  return made;
}

/** Figures side by side, or the sentence. */
const figuresOf = (runs, figures, kind = '') => element('div', { class: `figures ${kind}` }, figures, saidHidden(runs));

const safeName = words => words.join('-').toLowerCase();

const RENDER = {};

const FACTS = 7; // in sight on a card, where there are many cards

RENDER.overview = (part, { cards }) => {
  const list = facts => element('dl', {}, facts.flatMap(([label, value]) => [element('dt', {}, label), element('dd', {}, value)]));
  const folded = facts => [list(facts.slice(0, FACTS)), element('details', {}, element('summary', {}, `${facts.length - FACTS} more`), list(facts.slice(FACTS)))];
  part.append(saidHidden(cards.map(card => card.name)), element('div', { class: 'cards' }, cards.map(({ name, kind, facts }) => {
    const card = element('article', { class: 'card' },
      element('h3', {}, keyOf(colourOf(name), placeOf(name)), ' ', name),
      element('div', { class: 'quiet' }, `limbeck ${kind}`),
      cards.length > 4 && facts.length > FACTS + 2 ? folded(facts) : list(facts));
    const tint = () => { card.style.borderTopColor = colourOf(name); card.querySelector('.key').replaceWith(keyOf(colourOf(name), placeOf(name))); };
    redraws.add(tint);
    tint();
    return belonging(card, name);
  })));
};

const MAIN = ['self_similarity', 'anisotropy', 'intra_sentence_similarity', 'mev', 'log10_isotropy', 'effective_rank'];

RENDER.layers = (part, { measures }) => {
  const view = { kinds: 'adjusted', depth: 'layer', logarithmic: 'auto' };
  const drawAll = () => drawIn(part);
  const set = key => value => { view[key] = value; drawAll(); };
  part.append(remark('Shaded: 95\u00a0% intervals. Adjusted: the raw value minus its baseline, what chance gives in the same layer.'),
    controls(
      radios('Show', [['adjusted', 'adjusted'], ['raw', 'raw and baseline'], ['all', 'all three']], 'adjusted', set('kinds')),
      radios('Along', [['layer', 'layer'], ['depth', 'depth (first to last)']], 'layer', set('depth')),
      radios('Axis', [['auto', 'as it fits'], ['linear', 'linear'], ['log', 'logarithmic']], 'auto', set('logarithmic'))));
  const figureOf = measure => figure({
    name: measure.measure, title: measure.title, about: measure.about, kind: 'lines',
    chart: () => layerChart(measure, view),
    table: () => layerTable(measure),
  });
  part.append(element('div', { class: 'figures' }, measures.filter(one => MAIN.includes(one.measure)).map(figureOf)));
  const others = measures.filter(one => !MAIN.includes(one.measure));
  if (others.length) {
    const inside = element('div', { class: 'figures' });
    const more = element('details', { class: 'more', toggle: () => { if (!inside.children.length) inside.append(...others.map(figureOf)); } },
      element('summary', {}, `${others.length} more measures`), inside);
    part.append(more);
  }
};

function layerChart(measure, view) {
  const depth = view.depth === 'depth';
  const kinds = { adjusted: ['adjusted'], raw: ['value', 'baseline'], all: ['adjusted', 'value', 'baseline'] }[view.kinds];
  const series = [], labels = new Map();
  const curves = measure.curves.filter(curve => shown(curve.run));
  // where only some runs have a baseline, the key tells which are adjusted; else the axis does
  const mixed = curves.some(curve => curve.adjusted) && !curves.every(curve => curve.adjusted);
  const adjusted = view.kinds === 'adjusted' && !mixed && curves.some(curve => curve.adjusted);
  for (const curve of curves) {
    curve.layers.forEach((layer, i) => labels.set(layerAt(curve, i, depth), depth ? tickText(+layerAt(curve, i, true).toFixed(2)) : layer));
    const own = curve.adjusted ? kinds : ['value'];
    for (const kind of own) {
      if (!curve[kind]) continue;
      const looks = curve.adjusted ? kind : 'adjusted'; // a lone value is the main thing, whatever it is called
      const name = curve.run + (own.length > 1 || mixed ? `, ${kind === 'value' ? 'raw' : kind}` : '');
      // the interval is of the raw value; the adjusted one, its difference from a fixed baseline, shares its width
      const shift = i => (kind === 'adjusted' ? curve.baseline?.[i] ?? 0 : 0);
      series.push({
        name, kind: looks, colour: colourOf(curve.run), place: placeOf(curve.run),
        points: curve[kind].map((y, i) => ({
          x: layerAt(curve, i, depth), y,
          low: kind === 'baseline' || !Number.isFinite(curve.low?.[i]) ? undefined : curve.low[i] - shift(i),
          high: kind === 'baseline' || !Number.isFinite(curve.high?.[i]) ? undefined : curve.high[i] - shift(i),
        })),
      });
    }
  }
  const positive = series.every(one => one.points.every(p => !(p.y <= 0)));
  const log = view.logarithmic === 'log' ? positive : view.logarithmic === 'auto' && measure.logarithmic;
  return {
    series, log, zero: !log && !measure.measure.startsWith('log10'), xName: depth ? 'depth' : 'layer',
    yName: [measure.unit, adjusted && 'adjusted'].filter(Boolean).join(', '),
    about: view.logarithmic === 'log' && !positive ? `${measure.about} Not all positive: linear.`.trim() : undefined,
    xLabels: depth ? undefined : [...labels].sort((a, b) => a[0] - b[0]),
    nothing: !curves.length ? 'its runs are hidden' : curves.map(curve => curve.note).find(Boolean) ?? 'it is undefined at every layer',
  };
}

function layerTable(measure) {
  const columns = ['value', 'baseline', 'adjusted', 'low', 'high'];
  const rows = measure.curves.filter(curve => shown(curve.run)).flatMap(curve =>
    curve.layers.map((layer, i) => [curve.run, layer, ...columns.map(column => curve[column]?.[i] ?? null)]));
  return { columns: ['run', 'layer', ...columns], rows };
}

/** A line a layer, from dark to light. */
const layerShade = (i, count, palette = colours()) => shade(count > 1 ? i / (count - 1) : 0.4, palette);

RENDER.frequency = (part, { measures, runs }) => {
  let measure = measures[0][0];
  part.append(remark('Means over the followed words of a band. Bands double; a line is a layer, from dark (first) to light (last). Scales differ between runs.'),
    controls(choice('Measure', measures, measure, value => { measure = value; drawIn(part); })),
    figuresOf(runs.map(run => run.run), runs.map(run => figure({
      name: safeName(['frequency', run.run]), title: run.run, kind: 'lines',
      chart: () => shown(run.run) && run.values[measure] ? {
        xName: 'occurrences of the word', yName: new Map(measures).get(measure).toLowerCase(), logX: true,
        xLabels: run.bands.map(([low]) => [low, low.toLocaleString('en')]),
        series: run.layers.map((layer, i) => ({
          name: `layer ${layer}`, colour: layerShade(i, run.layers.length), place: i,
          points: run.bands.map(([low], band) => ({ x: low, y: run.values[measure][i][band] ?? NaN })),
        })),
      } : undefined,
      table: () => ({
        columns: ['layer', 'from', 'below', 'words', measure],
        rows: run.layers.flatMap((layer, i) => run.bands.map(([low, high], band) => [layer, low, high, run.words[band], run.values[measure]?.[i][band] ?? null])),
      }),
    }))));
};

RENDER.spectrum = (part, { runs }, column) => {
  for (const run of runs) run.values = column(run.shares);
  const at = (run, layer, i) => run.values[layer * run.dim + i];
  part.append(remark('Each eigenvalue of the covariance as a share of their sum, largest first, a line a layer. Level: isotropic.'),
    figuresOf(runs.map(run => run.run), runs.map(run => figure({
      name: safeName(['spectrum', run.run]), title: run.run, kind: 'lines',
      chart: () => shown(run.run) ? {
        xName: 'rank', yName: 'share of variance', log: true, logX: true, plain: true,
        series: run.layers.map((layer, i) => ({
          name: `layer ${layer}`, colour: layerShade(i, run.layers.length), place: i,
          points: ranks(run.dim).map(rank => ({ x: rank, y: at(run, i, rank - 1) > 1e-12 ? at(run, i, rank - 1) : NaN })),
        })),
      } : undefined,
      table: () => ({
        columns: ['layer', 'rank', 'share'],
        rows: run.layers.flatMap((layer, i) => Array.from({ length: run.dim }, (_, rank) => [layer, rank + 1, at(run, i, rank)])),
      }),
    }))));
  const rogue = runs.filter(run => run.largest.some(rows => rows.length));
  if (!rogue.length) return;
  const layers = longest(rogue);
  let chosen = layers.at(-1);
  const figures = figuresOf(rogue.map(run => run.run), rogue.map(run => figure({
    name: safeName(['dimensions', run.run]), title: run.run, kind: 'dots',
    chart: () => {
      const at = atDepth(run.layers, chosen, layers);
      const rows = run.largest[at];
      if (!shown(run.run) || !rows?.length) return undefined;
      return {
        title: `${run.run}, layer ${run.layers[at]}`, xName: 'share of the mean cosine', zero: true,
        rows: rows.map(([dimension, value, low, high, mean, variance]) => ({
          name: `dimension ${dimension}`,
          dots: [{
            name: 'share', colour: colourOf(run.run), place: placeOf(run.run), value, low: low ?? NaN, high: high ?? NaN,
            note: `mean ${told(mean)}, variance ${told(variance)}`,
          }],
        })),
      };
    },
    table: () => ({
      columns: ['layer', 'dimension', 'share', 'low', 'high', 'mean', 'variance'],
      rows: run.layers.flatMap((layer, i) => (run.largest[i] ?? []).map(row => [layer, ...row])),
    }),
  })));
  part.append(element('h3', {}, 'Rogue dimensions'),
    remark('Dimensions that make most of the mean cosine. Where one or two make nearly all of it, the layer is anisotropic because of them alone.'),
    controls(choice('Layer', layers.map(layer => [layer, layer]), chosen, value => { chosen = value; drawIn(figures); })),
    figures);
};

/** Ranks that a logarithmic axis can tell apart. */
function ranks(count) {
  const found = new Set([count]);
  for (let i = 0; i <= 140; i++) found.add(Math.round(count ** (i / 140)));
  return [...found].filter(rank => rank >= 1 && rank <= count).sort((a, b) => a - b);
}

RENDER.space = (part, { panels, clustered }, column) => {
  if (panels.length) points(part, panels, column);
  if (!clustered.length) return;
  const view = { quantity: CLUSTERED[0][0] };
  const figures = figuresOf(clustered.map(one => one.run), clustered.flatMap(({ run, tables }) => tables.map(table => clusterFigure(run, table, column, view))));
  part.append(element('h3', {}, 'Clusters on the origin'),
    remark('The space before its repair when its occurrences are clustered and each cluster is centred: how much isotropy is a matter of the clusters alone. 0: as it is.'),
    controls(choice('Measure', CLUSTERED, view.quantity, value => { view.quantity = value; drawIn(figures); })), figures);
};

/** Clouds of occurrences, panel by panel. */
function points(part, panels, column) {
  for (const panel of panels) {
    for (const name of ['words', 'sentences', 'frequency']) panel[name] = column(panel[name]);
    panel.places = panel.places.map(({ scale, x, y }) => ({ scale, x: column(x), y: column(y) }));
  }
  const logs = panels.flatMap(panel => Array.from(panel.frequency)).filter(value => value > 0).map(Math.log10);
  const [low, high] = [logs.reduce((a, b) => Math.min(a, b), Infinity), logs.reduce((a, b) => Math.max(a, b), -Infinity)];
  const layers = longest(panels);
  const view = { layer: layers.at(-1), word: '' };
  const scale = logs.length > 0 && [10 ** low, 10 ** high].map(count => told(Math.round(count)));
  const drawAll = () => drawIn(figures);
  const slide = () => { view.layer = layers[+slider.value]; named.textContent = view.layer; drawAll(); };
  const slider = element('input', { type: 'range', min: 0, max: layers.length - 1, value: layers.length - 1, 'aria-label': 'layer', input: slide });
  const named = element('output', {}, view.layer);
  const look = () => { view.word = search.value.trim().toLowerCase(); drawAll(); };
  const search = element('input', { type: 'search', placeholder: 'a word', 'aria-label': 'word to mark', input: look });
  const figures = figuresOf(panels.map(panel => panel.run), panels.map(panel => figure({
    name: safeName(['space', panel.run]), title: panel.run, kind: 'points',
    chart: () => {
      if (!shown(panel.run)) return undefined;
      const at = atDepth(panel.layers, view.layer, layers);
      const facts = panel.facts?.[at];
      const share = i => (panel.frequency[i] > 0 ? (Math.log10(panel.frequency[i]) - low) / (high - low || 1) : NaN);
      const marked = new Set();
      if (view.word) panel.words.forEach((word, i) => { if (word.toLowerCase() === view.word) marked.add(i); });
      return {
        title: `${panel.run}, layer ${panel.layers[at]}`,
        about: facts && `The components have ${(100 * facts[0]).toFixed(1)} and ${(100 * facts[1]).toFixed(1)}\u00a0% of the variance; `
          + `correlation with log frequency: ${told(facts[2])}.`,
        x: panel.places[at].x, y: panel.places[at].y, marked, scale: scale && { from: scale[0], to: `${scale[1]} occurrences`, colour: shade },
        colour: (i, palette) => (Number.isNaN(share(i)) ? palette.unknown : shade(share(i), palette)),
        hint: i => [
          element('strong', {}, panel.words[i]),
          element('div', { class: 'quiet' }, panel.frequency[i] > 0 ? `${told(panel.frequency[i])} occurrences` : 'rare'),
          sentenceOf(panel.sentences[i], panel.words[i]),
        ],
        spoken: i => `${panel.words[i]}. ${panel.sentences[i]}`,
      };
    },
    table: () => {
      const at = atDepth(panel.layers, view.layer, layers);
      const { x, y, scale } = panel.places[at];
      return {
        columns: ['word', 'frequency', 'x', 'y', 'sentence'],
        rows: panel.words.map((word, i) => [word, panel.frequency[i] || null, x[i] * scale, y[i] * scale, panel.sentences[i]]),
      };
    },
  })), 'narrow');
  part.append(
    remark('Occurrences on the first two principal components of the layer. Colour: how often the word occurs, from dark (rare) to '
      + 'light (frequent); grey where it is rarer or unknown. Scales differ; a run with fewer layers shows the one at the same depth.'),
    controls(element('label', {}, 'Layer', slider, named), element('label', {}, 'Mark', search)),
    scale ? scaleBar(...scale) : '', figures);
}

function sentenceOf(sentence, word) {
  if (!sentence) return '';
  const parts = sentence.split(' ');
  const at = parts.indexOf(word);
  if (at < 0) return element('div', {}, sentence.length > 200 ? sentence.slice(0, 200) + '…' : sentence);
  const [before, after] = [parts.slice(Math.max(0, at - 12), at).join(' '), parts.slice(at + 1, at + 13).join(' ')];
  return element('div', {}, at > 12 ? '… ' : '', before, ' ', element('mark', {}, word), ' ', after, at + 13 < parts.length ? ' …' : '');
}

/** What the colours of points mean. */
function scaleBar(low, high) {
  const bar = element('span', {});
  const tint = () => bar.replaceChildren(stripes(shade));
  redraws.add(tint);
  tint();
  return element('p', { class: 'quiet' }, `${low} `, bar, ` ${high} occurrences`);
}
