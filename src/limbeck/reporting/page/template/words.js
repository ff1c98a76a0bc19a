// The word explorer.

RENDER.words = (part, { interesting, runs }, column) => {
  const many = new Set(column(interesting));
  for (const run of runs) {
    for (const name of ['words', 'n', 'contexts', 'similarity', 'mev', 'mev_baseline', 'mev_rows']) run[name] = column(run[name]);
    run.place = new Map(run.words.map((word, i) => [word, i]));
    run.mevPlace = new Map(Array.from(run.mev_rows, (row, i) => [row, i]));
    for (const group of ['neighbors', 'clouds'])
      if (run[group]) for (const [name, reference] of Object.entries(run[group])) if (reference?.type) run[group][name] = column(reference);
    if (run.neighbors) run.neighbors.rows = rowsBy(Array.from(run.neighbors.word, i => run.neighbors.names[i]));
    if (run.clouds) {
      run.clouds.rows = rowsBy(run.clouds.words);
      run.clouds.said = row => run.clouds.sentences[run.clouds.sentence[row]];
    }
  }
  const view = { run: runs[0], layer: 'mean', word: '', text: '', least: 0, cloudLayer: '' };
  const details = element('div', {});
  const counts = remark('');
  const ofRuns = (some, ...parts) => Object.assign(element('div', { class: 'of-runs' }, parts), { runs: some.map(run => run.run) });
  const search = element('input', { type: 'search', id: 'word', placeholder: 'type a word', 'aria-label': 'word', autocomplete: 'off', spellcheck: 'false',
    input: () => { view.text = search.value.trim(); refill(); },
    keydown: event => { if (event.key === 'Enter') { const first = matching()[0]; if (first !== undefined) pick(view.run.words[first]); } } });
  const least = element('input', { type: 'number', min: 0, value: 0, 'aria-label': 'least occurrences', input: () => { view.least = +least.value || 0; refill(); } });
  const counted = element('p', { class: 'quiet', role: 'status' });

  const similarity = row => {
    const { run, layer } = view, count = run.layers.length;
    if (layer !== 'mean') return run.similarity[row * count + +layer];
    let sum = 0;
    for (let i = 0; i < count; i++) sum += run.similarity[row * count + i];
    return sum / count;
  };
  const change = row => {
    const count = view.run.layers.length, own = view.run.similarity.subarray(row * count, (row + 1) * count);
    return own.reduce((a, b) => Math.max(a, b), -2) - own.reduce((a, b) => Math.min(a, b), 2);
  };
  const mev = row => {
    const at = view.run.mevPlace.get(row), count = view.run.layers.length;
    if (at === undefined) return NaN;
    if (view.layer !== 'mean') return view.run.mev[at * count + +view.layer];
    return view.run.mev.subarray(at * count, (at + 1) * count).reduce((a, b) => a + b, 0) / count;
  };
  const columns = [
    { name: 'word', value: row => view.run.words[row], width: 'minmax(5rem, 1.6fr)', least: 90 },
    { name: 'n', about: 'occurrences', value: row => view.run.n[row], numeric: true, width: 'minmax(3.6rem, 1fr)', least: 58 },
    { name: 'self-similarity', about: 'low: the word depends on its context', value: similarity, numeric: true, width: 'minmax(9.8rem, 1.6fr)', least: 150 },
    { name: 'change', about: 'largest less smallest self-similarity over the layers', value: change, numeric: true, width: 'minmax(5.2rem, 1fr)', least: 84 },
    { name: 'MEV', about: 'of the words whose occurrences were kept', value: mev, numeric: true, width: 'minmax(4.2rem, 1fr)', least: 68 },
  ];

  /** Rows of the words that fit what was typed: those that begin with it before those that have it inside. */
  function matching() {
    const wanted = view.text.toLowerCase(), { words, n } = view.run;
    const found = [[], [], []];
    for (let i = 0; i < words.length; i++) {
      if (n[i] < view.least) continue;
      const word = words[i].toLowerCase();
      const rank = word === wanted ? 0 : word.startsWith(wanted) ? 1 : 2;
      if (!wanted || word.includes(wanted)) found[rank].push(i);
    }
    return found.flat();
  }
  const table = longTable({ label: 'followed words', columns, rows: [], sorted: [2, false], picked: row => show(view.run.words[row]) });
  function refill(order) {
    const rows = matching();
    table.fill(rows, order);
    const all = view.run.all > view.run.words.length ? ` of ${view.run.all.toLocaleString('en')} followed, the most interesting ones` : '';
    counted.textContent = `${rows.length.toLocaleString('en')} ${rows.length === 1 ? 'word' : 'words'}${all}`;
  }
  function pick(word) {
    const row = view.run.place.get(word);
    if (row !== undefined && table.rows().includes(row)) table.pick(row);
    else show(word);
  }
  function choiceOfLayer() {
    const choices = [['mean', 'mean over layers'], ...view.run.layers.map((layer, i) => [String(i), layer])];
    return choice('Layer', choices, view.layer, value => { view.layer = value; refill(); });
  }
  let layerControl = choiceOfLayer(); // another run has other layers
  function choose(run) {
    view.run = run; view.layer = 'mean';
    const next = choiceOfLayer(); layerControl.replaceWith(next); layerControl = next;
    refill();
  }
  const runControl = runs.length > 1 && choice('Run', runs.map((run, i) => [String(i), run.run]), '0', value => choose(runs[+value]));
  /** A run that is hidden is hidden here, too: in the choice of runs and in what is told of a word. */
  function follow() {
    const some = runs.filter(run => shown(run.run));
    explorer.hidden = above.hidden = !some.length;
    if (runControl) runControl.querySelectorAll('option').forEach((option, i) => { option.disabled = option.hidden = !shown(runs[i].run); });
    if (some.length && !some.includes(view.run)) {
      choose(some[0]);
      runControl.querySelector('select').value = String(runs.indexOf(some[0]));
    }
    counts.textContent = `occurrences: ${some.filter(run => run.place.has(view.word))
      .map(run => `${run.run}: ${run.n[run.place.get(view.word)].toLocaleString('en')}`).join(', ') || 'none in the runs shown'}`;
    for (const one of details.querySelectorAll('.of-runs')) one.hidden = !one.runs.some(shown);
  }
  const order = (text, at, descending) => element('button', { type: 'button', click: () => refill([at, descending]) }, text);
  const above = controls(runControl, element('label', {}, 'Word', search), layerControl, element('label', {}, 'Occurrences from', least));
  const explorer = element('div', { class: 'explorer' },
    element('div', {}, controls(order('Most contextual', 2, false), order('Least contextual', 2, true), order('Most frequent', 1, true),
      element('button', { type: 'button', class: 'small', click: keepTable }, 'CSV')), counted, table),
    details);
  part.append(
    remark('Type a word, or choose one in the table. Self-similarity is raw: compare words within a layer.'
      + (many.size ? ` Of ${many.size.toLocaleString('en')} words the neighbours and occurrences are here too, where the run has them.` : '')),
    above, explorer, saidHidden(runs.map(run => run.run)));

  function keepTable() {
    const { run } = view;
    const rows = table.rows().flatMap(row => run.layers.map((layer, i) => {
      const at = run.mevPlace.get(row);
      const mevOf = name => (at === undefined ? null : run[name][at * run.layers.length + i]);
      return [run.words[row], layer, run.n[row], run.contexts[row], run.similarity[row * run.layers.length + i], mevOf('mev'), mevOf('mev_baseline')];
    }));
    const columns = ['word', 'layer', 'n', 'contexts', 'self_similarity', 'mev', 'mev_baseline'];
    download(`words-${run.run}.csv`, csvOf({ columns, rows }), 'text/csv');
  }

  /** Curves of a word by layer in every run that knows it. */
  function curves(name, word, { baseline } = {}) {
    return runs.filter(run => shown(run.run) && run.place.has(word)).flatMap(run => {
      const count = run.layers.length, row = run.place.get(word);
      const at = name === 'similarity' ? row : run.mevPlace.get(row);
      if (at === undefined) return [];
      const line = (from, kind, suffix) => ({
        name: run.run + suffix, colour: colourOf(run.run), place: placeOf(run.run), kind,
        points: run.layers.map((layer, i) => ({ x: numbered(run.layers, i), y: run[from][at * count + i] })),
      });
      return baseline ? [line(name, 'adjusted', ''), line(baseline, 'baseline', ', chance')] : [line(name, 'adjusted', '')];
    });
  }
  const labels = () => [...new Map(runs.flatMap(run => run.layers.map((layer, i) => [numbered(run.layers, i), layer])))].sort((a, b) => a[0] - b[0]);
  const tableFrom = series => ({ columns: ['run', 'layer', 'value'], rows: series.flatMap(one => one.points.map(p => [one.name, new Map(labels()).get(p.x), p.y])) });

  function show(word) {
    view.word = word;
    for (const old of details.querySelectorAll('figure')) redraws.delete(old.draw);
    details.replaceChildren(
      element('h3', {}, `“${word}”`), counts,
      element('div', { class: 'figures narrow' },
        figure({
          name: `self-similarity-${word}`, title: 'Self-similarity', kind: 'lines', about: 'Mean cosine of its occurrences.',
          chart: () => ({ xName: 'layer', yName: 'mean cosine', xLabels: labels(), zero: true, series: curves('similarity', word) }),
          table: () => tableFrom(curves('similarity', word)),
        }),
        curves('mev', word).length > 0 && figure({
          name: `mev-${word}`, title: 'MEV', kind: 'lines', about: 'Explainable variance; dotted: chance.',
          chart: () => ({ xName: 'layer', yName: 'share of variance', xLabels: labels(), zero: true, series: curves('mev', word, { baseline: 'mev_baseline' }) }),
          table: () => tableFrom(curves('mev', word, { baseline: 'mev_baseline' })),
        })),
      ...cloudsOf(word), ...neighborsOf(word));
    follow();
  }

  /** Where the word's occurrences lie in its own plane, at a layer. */
  function cloudsOf(word) {
    const known = runs.filter(run => run.clouds?.rows.has(word));
    if (!known.length) return [];
    const layers = longest(known.map(run => run.clouds));
    if (!layers.includes(view.cloudLayer)) view.cloudLayer = layers.at(-1);
    const grid = some => element('div', { class: 'figures narrow' }, some.map(run => {
      const { clouds } = run, rows = clouds.rows.get(word), step = clouds.layers.length;
      const at = () => atDepth(clouds.layers, view.cloudLayer, layers);
      const column = name => Float32Array.from(rows, row => clouds[name][row * step + at()]);
      return figure({
        name: `occurrences-${word}-${run.run}`, title: run.run, kind: 'points',
        chart: () => shown(run.run) ? {
          title: `${run.run}, layer ${clouds.layers[at()]}`, x: column('x'), y: column('y'), size: 4.5,
          colour: (i, palette) => colourOf(run.run, palette),
          hint: i => [element('strong', {}, word), sentenceOf(clouds.said(rows[i]), word)],
          spoken: i => clouds.said(rows[i]) || word,
        } : undefined,
        table: () => {
          const [x, y] = [column('x'), column('y')];
          return {
            columns: ['word', 'layer', 'x', 'y', 'sentence'],
            rows: rows.map((row, i) => [word, clouds.layers[at()], x[i] * clouds.scale, y[i] * clouds.scale, clouds.said(row)]),
          };
        },
      });
    }));
    const figures = element('div', {}, few(known, some => [grid(some)]));
    return [ofRuns(known, element('h3', {}, 'Its occurrences'),
      remark('Some of its occurrences on their own first two principal components. Two clouds may be two senses.'),
      controls(choice('Layer', layers.map(layer => [layer, layer]), view.cloudLayer, layer => { view.cloudLayer = layer; drawIn(figures); })),
      figures)];
  }

  /** The words whose mean direction is nearest, layer by layer. */
  function neighborsOf(word) {
    return few(runs.filter(run => run.neighbors?.rows.has(word)), some => some.map(run => {
      const rows = run.neighbors.rows.get(word);
      const by = run.layers.map((_, layer) => rows.filter(row => run.neighbors.layer[row] === layer));
      return ofRuns([run], element('h3', {}, `Nearest words, ${run.run}`),
        element('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': `nearest words, ${run.run}` }, element('table', {},
          element('thead', {}, element('tr', {}, element('th', {}, 'layer'), element('th', {}, 'nearest first, with the cosine of the centred mean directions'))),
          element('tbody', {}, by.map((own, layer) => own.length > 0 && element('tr', {}, element('td', {}, run.layers[layer]),
            element('td', {}, own.map(row => {
              const name = run.neighbors.names[run.neighbors.neighbor[row]];
              const go = () => { search.value = ''; view.text = ''; refill(); pick(name); };
              return element('button', { class: 'small', type: 'button', click: go }, `${name} ${told(run.neighbors.cosine[row])}`);
            }))))))));
    }));
  }

  redraws.add(follow);
  refill();
  const first = table.rows()[0];
  if (first !== undefined) show(view.run.words[first]);
};

const FEW = 6; // runs whose clouds and neighbours of a word are in sight, those of more are unfolded

/** What is made of the first few runs, and folded what is made of the others. */
function few(runs, make) {
  if (runs.length <= FEW) return make(runs);
  return [...make(runs.slice(0, FEW)), element('details', { class: 'more' }, element('summary', {}, `${runs.length - FEW} more runs`), make(runs.slice(FEW)))];
}

/** Rows by their word. */
function rowsBy(words) {
  const found = new Map();
  words.forEach((word, row) => { if (!found.has(word)) found.set(word, []); found.get(word).push(row); });
  return found;
}

/** Where a layer stands on an axis: its number, one before the first for the bare table, its place for other names. */
function numbered(layers, i) {
  if (!layers.every(layer => /^\d+$/.test(layer) || layer === 'table')) return i;
  return layers[i] === 'table' ? -1 : +layers[i];
}
