// A table of any length: only the rows that are in sight are elements.

const ROW = 28; // pixels
const COLLATOR = new Intl.Collator('en');

/**
 * about: {
 *   label, columns: [{name, width, numeric, value(row)}], rows: row numbers, height
 *   sorted: [column, descending], picked(row)
 * }
 * Returns the element, with `.fill(rows)` for other rows and `.pick(row)`.
 */
function longTable(about) {
  let { rows, sorted } = about;
  let selected = -1; // place among the rows
  const widths = about.columns.map(column => column.width ?? '1fr').join(' ');
  const head = element('div', { class: 'head', role: 'row' });
  const inner = element('div', { role: 'presentation' });
  inner.style.position = 'relative';
  const body = element('div', { class: 'body', tabindex: 0, role: 'rowgroup', 'aria-label': `${about.label}: arrow keys choose a row` }, inner);
  body.style.height = `${about.height ?? 420}px`;
  const made = element('div', { class: 'listed', role: 'grid', 'aria-label': about.label }, head, body);
  const least = about.columns.reduce((sum, column) => sum + (column.least ?? 70), 0);
  for (const part of [head, body]) part.style.minWidth = `${least}px`;
  head.style.gridTemplateColumns = widths;

  const buttons = about.columns.map((column, at) => element('button', {
    type: 'button', role: 'columnheader', class: column.numeric && 'number', title: column.about,
    click: () => { sorted = [at, sorted[0] === at ? !sorted[1] : !!column.numeric]; sort(); },
  }, column.name));
  head.append(...buttons);

  function sort() {
    const [at, descending] = sorted;
    const { value, numeric } = about.columns[at];
    const sign = descending ? -1 : 1;
    const keys = numeric ? Float64Array.from(rows, row => value(row) ?? NaN) : rows.map(value);
    const compare = numeric
      ? (a, b) => (keys[a] - keys[b]) * sign || Number.isNaN(keys[a]) - Number.isNaN(keys[b]) // undefined comes last either way
      : (a, b) => COLLATOR.compare(keys[a], keys[b]) * sign;
    const before = rows;
    rows = Array.from(before.keys()).sort((a, b) => compare(a, b) || a - b).map(place => before[place]);
    buttons.forEach((button, i) => {
      const order = i !== at ? 'none' : descending ? 'descending' : 'ascending';
      button.setAttribute('aria-sort', order);
      button.textContent = about.columns[i].name + { none: '', ascending: ' ▲', descending: ' ▼' }[order];
    });
    selected = -1;
    body.scrollTop = 0;
    made.setAttribute('aria-rowcount', rows.length);
    inner.style.height = `${rows.length * ROW}px`;
    show();
  }

  function show() {
    const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 4);
    const last = Math.min(rows.length, Math.ceil((body.scrollTop + body.clientHeight) / ROW) + 4);
    const visible = [];
    for (let place = first; place < last; place++) {
      const row = rows[place];
      const line = element('div', { class: 'row', role: 'row', 'aria-rowindex': place + 1, 'aria-selected': String(place === selected), click: () => choose(place) },
        about.columns.map(column => element('div', { role: 'gridcell', class: column.numeric && 'number' }, told(column.value(row)))));
      line.style.cssText = `top:${place * ROW}px;height:${ROW}px;grid-template-columns:${widths}`;
      visible.push(line);
    }
    inner.replaceChildren(...visible);
  }

  function choose(place) {
    if (!rows.length) return;
    selected = Math.max(0, Math.min(rows.length - 1, place));
    const top = selected * ROW;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + ROW > body.scrollTop + body.clientHeight) body.scrollTop = top + ROW - body.clientHeight;
    show();
    about.picked?.(rows[selected]);
  }

  let asked = 0;
  body.addEventListener('scroll', () => { cancelAnimationFrame(asked); asked = requestAnimationFrame(show); });
  body.addEventListener('keydown', event => {
    const page = Math.floor(body.clientHeight / ROW) - 1;
    const next = { ArrowDown: selected + 1, ArrowUp: selected - 1, PageDown: selected + page, PageUp: selected - page, Home: 0, End: rows.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  });
  new ResizeObserver(show).observe(body);
  made.fill = (others, order) => { rows = others; sorted = order ?? sorted; sort(); };
  made.pick = row => choose(rows.indexOf(row));
  made.rows = () => rows;
  sort();
  return made;
}
