// Sections of other runs: findings, evaluations, probes, analyses, training.

const VERDICTS = {
  held: ['held', '✓ held'],
  'not held': ['not', '✗ not held'],
  'too close to call': ['close', '≈ too close to call'],
  'cannot be shown': ['close', '– cannot be shown'],
};

function verdictOf(verdict) {
  const [kind, words] = VERDICTS[verdict] ?? ['close', verdict ?? '–'];
  return element('span', { class: `verdict ${kind}` }, words);
}

RENDER.findings = (part, { papers }, column) => {
  part.append(saidHidden(papers.map(paper => paper.run)));
  for (const paper of papers) {
    const counts = new Map();
    for (const claim of paper.claims) counts.set(claim.verdict, (counts.get(claim.verdict) ?? 0) + 1);
    const choices = [['all', `all ${paper.claims.length} claims`], ...[...counts].map(([verdict, count]) => [verdict, `${verdict}: ${count}`])];
    const list = element('ul', { class: 'claims' });
    const fill = only => list.replaceChildren(...paper.claims.filter(claim => only === 'all' || claim.verdict === only).map(claimOf));
    part.append(belonging(element('div', {},
      element('h3', {}, paper.title), remark(paper.citation), paper.note && remark(paper.note),
      controls(choice('Show', choices, 'all', fill), csvButton(`findings-${paper.run}`, () => findingsTable(paper))),
      list, tablesOf(paper.run, paper.tables, column)), paper.run));
    fill('all');
  }
};

function claimOf(claim) {
  const judged = rows => element('ul', {}, rows.map(([model, verdict, why]) =>
    element('li', {}, `${model}: `, verdictOf(verdict), why ? ` · ${why}` : '')));
  const rule = element('details', {}, element('summary', {}, 'rule and numbers'),
    claim.rule && element('p', {}, `Held if ${claim.rule}.`),
    judged(claim.models),
    claim.published.length > 0 && element('div', {}, remark('The published numbers by the same rule:'), judged(claim.published)));
  // a figure or table that is there to be looked at: nothing was to be shown, the reason says why
  const described = ['figure', 'table'].includes(claim.kind) && claim.verdict === 'cannot be shown';
  return element('li', {}, described ? element('span') : verdictOf(claim.verdict), element('div', { class: 'about' },
    element('span', { class: 'quiet' }, `${claim.id} `), claim.claim ?? '',
    claim.where && element('span', { class: 'quiet' }, ` (${claim.where})`),
    claim.why && element('div', { class: 'why' }, claim.why),
    !described && (claim.models.length > 0 || claim.rule) && rule));
}

const findingsTable = paper => ({
  columns: ['paper', 'id', 'claim', 'verdict', 'why', 'model', 'verdict of model', 'why of model'],
  rows: paper.claims.flatMap(claim => (claim.models.length ? claim.models : [['', '', '']])
    .map(row => [paper.run, claim.id, claim.claim, claim.verdict, claim.why, ...row])),
});

RENDER.scores = (part, { rows, compared, made }, column) => {
  const kindOf = row => `${row.group}: ${row.metric}`;
  const targets = unique(rows.map(row => row.target)); // each has one look in all figures
  const figures = [...groupsBy(rows, kindOf)].map(([kind, own]) => scoresFigure(kind, own, compared, targets));
  if (rows.length) part.append(
    remark('Lines are 95\u00a0% intervals. *\u00a0p\u00a0<\u00a00.05, **\u00a0p\u00a0<\u00a00.01, ***\u00a0p\u00a0<\u00a00.001: differs from the first of its task, by a paired '
      + 'bootstrap with Holm’s correction over all comparisons of the run.'),
    figuresOf(rows.map(row => row.run), figures));
  if (compared.length) {
    const table = {
      columns: ['run', 'task', 'target', 'other', 'difference', 'low', 'high', 'p', 'p (Holm)'],
      rows: compared.map(c => [c.run, c.task, c.target, c.other, c.difference, c.low, c.high, c.p, c.p_holm]),
    };
    part.append(element('details', { class: 'more' }, element('summary', {}, `${compared.length} comparisons`),
      csvButton('comparisons', () => table), tableOf(table)));
  }
  const ofKind = (name, make) => made.flatMap(({ run, tables }) => tables.filter(table => table.name === name).flatMap(table => make(run, table, column)));
  const tuned = ofKind('tuning', tuningFigures);
  const runs = made.map(one => one.run);
  if (tuned.length) part.append(element('h3', {}, 'Tuning'), figuresOf(runs, tuned));
  const view = { quantity: 'score' };
  const trained = ofKind('epochs', (run, table) => epochFigures(run, table, column, view));
  if (!trained.length) return;
  const epochs = figuresOf(runs, trained);
  part.append(element('h3', {}, 'Epochs of the classifiers'),
    controls(choice('Show', TRAINED, 'score', value => { view.quantity = value; drawIn(epochs); })), epochs);
};

/** Scores by one metric: a row a task, a dot a target. */
function scoresFigure(title, own, compared, targets) {
  const tasks = unique(own.map(row => row.task));
  const lookOf = target => [colours().runs[targets.indexOf(target) % colours().runs.length], targets.indexOf(target)];
  const first = task => own.find(row => row.task === task).target;
  const mark = row => {
    const p = compared.find(c => c.run === row.run && c.task === row.task && c.target === row.target && c.other === first(row.task))?.p_holm;
    return !(p < 0.05) ? '' : p < 0.001 ? '***' : p < 0.01 ? '**' : '*';
  };
  const dotOf = row => ({
    name: row.target, colour: lookOf(row.target)[0], place: lookOf(row.target)[1],
    value: row.value ?? NaN, low: row.low ?? NaN, high: row.high ?? NaN, mark: mark(row), note: row.note,
  });
  return figure({
    name: safeName(['scores', title]), title, kind: 'dots',
    chart: () => own.some(row => shown(row.run)) ? {
      xName: own[0].metric, zero: true,
      legend: unique(own.filter(row => shown(row.run)).map(row => row.target)).map(target => [keyOf(...lookOf(target), { line: false }), target]),
      rows: tasks.map(task => ({ name: task, dots: own.filter(row => row.task === task && shown(row.run)).map(dotOf) })),
    } : undefined,
    table: () => ({
      columns: ['task', 'target', 'metric', 'score', 'low', 'high', 'mark', 'n', 'coverage', 'words found', 'note'],
      rows: own.map(row => [row.task, row.target, row.metric, row.value, row.low, row.high, mark(row), row.n, row.coverage ?? null, row.word_coverage ?? null, row.note]),
    }),
  });
}

// level lines and further kinds of probes: no two kinds of a chart look alike, whatever their colour
const DASHES = [undefined, '7 3', '2 3', '9 3 2 3', '1 5', '14 4', '9 3 2 3 2 3', '4 2'];
const LEVELS = { context: 'One vector an occurrence', type: 'One vector a word' };
const HEATS = [
  ['classes', 'class', 'Class by layer', 'F1 of each class on the test words. Grey: no such words.'],
  ['contexts', 'words to each side', 'Amount of context by layer',
    'Micro-F1 on the development words when the model sees only so many words to each side.'],
];

RENDER.probes = (part, { runs }, column) => {
  const levels = [...new Set(runs.flatMap(run => run.curves.map(curve => curve.level)))];
  part.append(
    remark('Micro-F1 on words that the probes were not trained on; shaded: 95\u00a0% interval over words. Level lines have no layers: '
      + 'static and random vectors, the most frequent class, and bags of words (P-), the mean over the words of the sentence.'),
    element('div', { class: 'figures' }, levels.map(level => figure({
      name: `probes-${level}`, title: LEVELS[level] ?? level, kind: 'lines',
      chart: () => probeChart(runs, level),
      table: () => ({
        columns: ['run', 'space', 'probe', 'layer', 'f1', 'low', 'high'],
        rows: runs.flatMap(run => run.curves.filter(curve => curve.level === level).flatMap(curve =>
          curve.f1.map((f1, i) => [run.run, curve.name, curve.probe, curve.layers?.[i] ?? '', f1, curve.low[i], curve.high[i]]))),
      }),
    }))));
  for (const [key, down, title, about] of HEATS) {
    const known = runs.filter(run => run[key]);
    if (!known.length) continue;
    let against = '';
    const figures = figuresOf(known.map(run => run.run), known.map(run => figure({
      name: safeName(['probes', key, run.run]), title: run.run, kind: 'heat',
      chart: () => shown(run.run) ? heatOf(run[key], known.find(one => one.run === against)?.[key], run.run, against, down) : undefined,
      table: () => ({
        columns: [down, 'layer', 'f1'],
        rows: run[key].down.flatMap((name, i) => run[key].layers.map((layer, j) => [name, layer, run[key].f1[i][j]])),
      }),
    })));
    const choices = [['', 'F1'], ...known.map(run => [run.run, `difference from ${run.run}`])];
    part.append(element('h3', {}, title), remark(about));
    if (known.length > 1) part.append(controls(choice('Show', choices, '', value => { against = value; drawIn(figures); })));
    part.append(figures);
  }
  for (const run of runs)
    if (run.tables.length) part.append(belonging(element('div', { class: 'tables' }, element('h4', {}, `Other tables, ${run.run}`), tablesOf(run.run, run.tables, column)), run.run));
};

/** F1 by layer. With one run colours tell spaces apart, with several they are the runs'. */
function probeChart(runs, level) {
  const curves = runs.filter(run => shown(run.run))
    .flatMap(run => run.curves.filter(curve => curve.level === level).map(curve => ({ ...curve, run: run.run })));
  const layers = [...new Set(curves.flatMap(curve => curve.layers ?? []))];
  const at = layers.map((_, i) => numbered(layers, i));
  const kindOf = curve => curve.name + (curve.probe === 'none' ? '' : `, ${curve.probe}`);
  const kinds = [...new Set(curves.map(kindOf))];
  const single = runs.length === 1;
  const palette = colours().runs;
  return {
    xName: 'layer', yName: 'micro-F1', zero: true,
    xLabels: layers.map((layer, i) => [at[i], layer]).sort((a, b) => a[0] - b[0]),
    nothing: curves.length ? undefined : 'its runs are hidden',
    series: curves.map(curve => {
      const kind = kindOf(curve);
      const place = single ? kinds.indexOf(kind) : placeOf(curve.run);
      const points = curve.layers
        ? curve.layers.map((layer, i) => ({ x: at[layers.indexOf(layer)], y: curve.f1[i] ?? NaN, low: curve.low[i] ?? NaN, high: curve.high[i] ?? NaN }))
        : [...at].sort((a, b) => a - b).map(x => ({ x, y: curve.f1[0] ?? NaN }));
      const dash = DASHES[kinds.indexOf(kind) % DASHES.length];
      const name = single ? kind : `${curve.run}: ${kind}`;
      return { name, colour: palette[place % palette.length], place, dash, points, plain: !curve.layers };
    }),
  };
}

/** A heat map of a probing, or of its difference from another: before and after fine-tuning, say. */
function heatOf(own, other, name, against, rowName) {
  const values = own.f1.map((row, i) => row.map((value, j) => {
    if (!other) return value ?? NaN;
    const [k, l] = [other.down.indexOf(own.down[i]), other.layers.indexOf(own.layers[j])];
    return value === null || k < 0 || l < 0 || other.f1[k][l] === null ? NaN : value - other.f1[k][l];
  }));
  const range = other ? { difference: true } : { low: 0, high: 1 };
  return { title: other ? `${name} less ${against}` : name, rows: own.down, columns: own.layers, values, rowName, columnName: 'layer', ...range };
}

RENDER.analyses = (part, { runs }, column) => {
  part.append(saidHidden(runs.map(run => run.run)));
  for (const run of runs) {
    const claims = run.claims.map(claim => {
      const where = [claim.model, claim.layer && `layer ${claim.layer}`, claim.about].filter(Boolean).join(', ');
      const number = toldWith(claim.value, claim.low, claim.high);
      return element('li', {}, verdictOf(claim.verdict), element('div', { class: 'about' },
        claim.text ?? '', element('span', { class: 'quiet' }, ` ${where}`),
        claim.rule && element('div', { class: 'rule' }, claim.rule),
        element('div', { class: 'why' }, claim.why ? `${number} · ${claim.why}` : number)));
    });
    const differences = differencesFigures(run);
    part.append(belonging(element('div', {}, element('h3', {}, run.run),
      claims.length > 0 && element('ul', { class: 'claims' }, claims),
      run.sentences.length > 0 && element('ul', { class: 'sentences' }, run.sentences.map(sentence => element('li', {}, sentence))),
      differences.length > 0 && remark(`${run.sides[1]} less ${run.sides[0]}. ` + 'Lines are 95\u00a0% intervals; * real: p adjusted by Holm’s method below 0.05.'),
      differences.length > 0 && element('div', { class: 'figures middling' }, differences),
      tablesOf(run.run, run.tables, column)), run.run));
  }
};

RENDER.training = (part, { runs }) => {
  // steps and epochs are no common axis
  const curve = (key, title, yName) => unique(runs.filter(run => run[key]).map(run => run[key].unit)).map(unit => figure({
    name: `training-${key}-${unit}`, title: `${title} by ${unit}`, kind: 'lines',
    chart: () => ({
      xName: unit, yName, zero: true, plain: true, nothing: 'its runs are hidden, or have no number',
      series: runs.filter(run => run[key]?.unit === unit && shown(run.run)).map(run => ({
        name: run.run, colour: colourOf(run.run), place: placeOf(run.run),
        points: run[key].x.map((x, i) => ({ x, y: run[key].y[i] ?? NaN })),
      })),
    }),
    table: () => ({
      columns: ['run', 'x', yName],
      rows: runs.filter(run => run[key]?.unit === unit).flatMap(run => run[key].x.map((x, i) => [run.run, x, run[key].y[i]])),
    }),
  }));
  const attention = run => figure({
    name: safeName(['attention', run.run]), title: `Attention before and after, ${run.run}`, kind: 'heat',
    about: 'Cosine of each head’s attention before and after fine-tuning: 1, unchanged.',
    chart: () => shown(run.run) ? {
      rows: run.attention.layers, columns: run.attention.heads, rowName: 'layer', columnName: 'head',
      values: run.attention.similarity.map(row => row.map(value => value ?? NaN)),
    } : undefined,
    table: () => ({
      columns: ['layer', 'head', 'similarity'],
      rows: run.attention.layers.flatMap((layer, i) => run.attention.heads.map((head, j) => [layer, head, run.attention.similarity[i][j]])),
    }),
  });
  const attended = runs.filter(run => run.attention);
  const classes = run => element('details', {}, element('summary', {}, `Scores by class, ${run.run}`), tableOf({
    columns: ['part', 'class', 'n', 'precision', 'recall', 'f1'],
    rows: run.classes.map(row => [row.part, row.class, row.n, row.precision, row.recall, row.f1]),
  }));
  part.append(
    element('div', { class: 'figures' }, [...curve('loss', 'Loss', 'loss'), ...curve('dev', 'Accuracy on the development set', 'accuracy')]),
    attended.length > 0 && figuresOf(attended.map(run => run.run), attended.map(attention)) || '',
    ...runs.filter(run => run.classes.length).map(run => belonging(classes(run), run.run)));
};
