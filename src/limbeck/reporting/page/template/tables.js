// Tables of run folders as they are, and figures that are drawn straight from them.

/** The rows of a table, whose cells are text; those that are numbers become such. */
function rowsOf(table, column) {
  table.read ??= column(table.cells).map(cell => (cell !== '' && Number.isFinite(+cell) ? +cell : cell));
  const width = table.columns.length;
  return Array.from({ length: table.rows }, (_, i) => table.read.slice(i * width, (i + 1) * width));
}

/** The rows as objects by column. */
const recordsOf = (table, column) => rowsOf(table, column).map(row => Object.fromEntries(table.columns.map((name, i) => [name, row[i]])));

const wholeOf = (table, column) => ({ columns: table.columns, rows: rowsOf(table, column) });

/** A run's tables, each made when it is opened; many of them are folded together. */
function tablesOf(run, tables, column) {
  const all = tables.map(table => {
    if (table.note) return remark(`${table.name}.csv ${table.note}.`);
    const count = table.rows < table.all ? `the first ${told(table.rows)} of ${told(table.all)} rows` : `${told(table.rows)} ${table.rows === 1 ? 'row' : 'rows'}`;
    const open = () => {
      if (made.open && !made.querySelector('.wide'))
        made.append(csvButton(`${run}-${table.name}`, () => wholeOf(table, column)), tableOf(wholeOf(table, column), 100),
          table.rows < table.all && remark(`The run folder has all of them, in ${table.name}.csv.`) || '');
    };
    const made = element('details', { 'data-table': table.name, toggle: open }, element('summary', {}, `${table.name}: ${count}`));
    return made;
  });
  return all.length > 6 ? [element('details', { class: 'more' }, element('summary', {}, `${all.length} tables of numbers`), all)] : all;
}

const groupsBy = (rows, keyOf) => {
  const found = new Map();
  for (const row of rows) { const key = keyOf(row); if (!found.has(key)) found.set(key, []); found.get(key).push(row); }
  return found;
};
const unique = values => [...new Set(values)];
const mean = values => values.reduce((a, b) => a + b, 0) / values.length;

/** Scores of a repair by its numbers of clusters and of components, on the set that they were tuned on. */
function tuningFigures(run, table, column) {
  return [...groupsBy(recordsOf(table, column), row => `${row.target}, layer ${row.layer}`)].map(([name, rows]) => {
    const rowOf = row => (row.method === 'global' ? 'global' : String(row.clusters));
    const [down, across] = [unique(rows.map(rowOf)), unique(rows.map(row => row.components)).sort((a, b) => a - b)];
    const values = new Map(rows.map(row => [`${rowOf(row)} ${row.components}`, row.value]));
    return figure({
      name: safeName(['tuning', run, name]), title: `${run}: tuned on ${rows[0].task}, ${name}`, kind: 'heat',
      about: `${rows[0].metric} by number of clusters and of removed components; ${told(rows[0].baseline)} without a repair.`,
      chart: () => shown(run) ? {
        rows: down, columns: across.map(String), rowName: 'clusters', columnName: 'components removed',
        values: down.map(one => across.map(other => values.get(`${one} ${other}`) ?? NaN)),
      } : undefined,
      table: () => wholeOf(table, column),
    });
  });
}

const TRAINED = [['score', 'score'], ['held_out', 'score on held-out examples'], ['loss', 'loss']];

/** Curves of classifiers over their epochs: means over the starts. */
function epochFigures(run, table, column, view) {
  return [...groupsBy(recordsOf(table, column), row => row.task)].map(([task, rows]) => figure({
    name: safeName(['epochs', run, task]), title: `${run}: training on ${task}`, kind: 'lines',
    chart: () => {
      if (!shown(run)) return undefined;
      const series = [...groupsBy(rows, row => `${row.target}${row.setting === 'baseline' ? '' : ` + ${row.setting}`}`)].map(([name, own], i) => ({
        name, colour: colours().runs[i % colours().runs.length], place: i,
        points: [...groupsBy(own, row => row.epoch)].map(([epoch, some]) => ({ x: epoch, y: mean(some.map(row => +row[view.quantity])) })),
      }));
      return {
        xName: 'epoch', yName: view.quantity === 'loss' ? 'loss' : rows[0].metric, series,
        about: `Means over ${unique(rows.map(row => row.seed)).length} starts.`,
        nothing: 'nothing was held out',
      };
    },
    table: () => wholeOf(table, column),
  }));
}

const CLUSTERED = [
  ['log10_isotropy', 'log₁₀ I(W)'], ['log10_isotropy_one_sign', 'log₁₀ I(W), one sign'], ['mean_cosine', 'mean cosine'],
];

/** Isotropy of a space before its repair when so many clusters are each put on the origin, a line a layer. */
function clusterFigure(run, table, column, view) {
  const rows = recordsOf(table, column);
  const layers = unique(rows.map(row => row.layer));
  return figure({
    name: safeName(['local', run]), title: run, kind: 'lines',
    chart: () => shown(run) ? {
      xName: 'clusters', yName: new Map(CLUSTERED).get(view.quantity),
      series: layers.map((layer, i) => ({
        name: `layer ${layer}`, colour: layerShade(i, layers.length), place: i,
        points: rows.filter(row => row.layer === layer).map(row => ({ x: row.clusters, y: row[view.quantity] === '' ? NaN : row[view.quantity] })),
      })),
    } : undefined,
    table: () => wholeOf(table, column),
  });
}

/** What two runs differ in, a row a measure and layer; marked is what is real. */
function differencesFigures({ run, differences, layers }) {
  return [...groupsBy(differences, row => row.title)].map(([name, rows]) => figure({
    name: safeName(['difference', run, name]), title: name, kind: 'dots',
    chart: () => shown(run) ? {
      xName: 'difference', zero: true,
      rows: rows.map(row => ({
        name: (layers ? 'layer ' : '') + (row.layer_a === row.layer_b ? row.layer_a : `${row.layer_a} : ${row.layer_b}`),
        dots: [{
          name: row.real === null ? 'not judged' : row.real ? 'real' : 'not real', colour: colourOf(run), place: placeOf(run),
          value: row.difference, low: row.low ?? NaN, high: row.high ?? NaN, mark: row.real ? '*' : '',
        }],
      })),
    } : undefined,
    table: () => ({
      columns: ['measure', 'part', 'layer_a', 'layer_b', 'difference', 'low', 'high', 'real'],
      rows: rows.map(row => [row.measure, row.part, row.layer_a, row.layer_b, row.difference, row.low, row.high, row.real === null ? '' : String(row.real)]),
    }),
  }));
}
