// Elements. Text from runs only ever becomes text: no markup is made of strings anywhere on the page.

const SVG = 'http://www.w3.org/2000/svg';

/** An element with attributes (functions become listeners) and children (anything else becomes text). */
function element(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    made.append(child instanceof Node ? child : String(child));
  }
  return made;
}

/** A number as a person reads it; a dash where there is none. */
function told(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return value.toLocaleString('en');
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  if (size >= 100) return value.toFixed(1);
  if (size >= 0.001 || size === 0) return value.toFixed(3);
  return value.toExponential(1);
}

/** A value with its interval, where it has one. */
function toldWith(value, low, high) {
  return told(value) + (Number.isFinite(low) && Number.isFinite(high) ? ` [${told(low)}, ${told(high)}]` : '');
}

/** Say something to those who listen to the page. */
function say(text) {
  document.getElementById('said').textContent = text;
}

/** A control with a list of choices [value, label]. */
function choice(label, options, chosen, changed) {
  const select = element('select', { change: () => changed(select.value) },
    options.map(([value, text]) => element('option', { value, selected: value === chosen }, text)));
  return element('label', {}, label, select);
}

/** A control with a few choices side by side. */
function radios(label, options, chosen, changed) {
  const group = 'radio-' + ++radios.groups;
  return element('fieldset', {}, element('legend', {}, label), options.map(([value, text]) =>
    element('label', {}, element('input', {
      type: 'radio', name: group, value, checked: value === chosen, change: () => changed(value),
    }), text)));
}
radios.groups = 0;

function check(label, chosen, changed) {
  const box = element('input', { type: 'checkbox', checked: chosen, change: () => changed(box.checked) });
  return element('label', {}, box, label);
}

/** A remark; a row of controls; a button that hands a table to the reader; all figures inside drawn anew. */
const remark = text => element('p', { class: 'quiet' }, text);
const controls = (...parts) => element('div', { class: 'controls' }, parts);
const csvButton = (name, table) => element('button', {
  type: 'button', class: 'small', click: () => download(`${name}.csv`, csvOf(table()), 'text/csv'),
}, 'CSV');
const drawIn = part => part.querySelectorAll('figure').forEach(one => one.draw());

/** Columns and rows as a table for reading; long ones are cut, the CSV is whole. */
function tableOf({ columns, rows }, most = 300) {
  const numeric = columns.map((_, at) => rows.some(row => typeof row[at] === 'number'));
  const cell = (tag, value, at) => element(tag, { class: numeric[at] && 'number' }, tag === 'td' ? told(value) : value);
  return element('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'table' },
    element('table', {},
      element('thead', {}, element('tr', {}, columns.map((name, at) => cell('th', name, at)))),
      element('tbody', {}, rows.slice(0, most).map(row => element('tr', {}, row.map((value, at) => cell('td', value, at)))))),
    rows.length > most && element('p', { class: 'quiet' }, `The first ${most} of ${rows.length.toLocaleString('en')} rows; the CSV has all.`));
}

/** Columns and rows as CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
function csvOf({ columns, rows }) {
  const cell = value => {
    if (value === null || value === undefined || Number.isNaN(value)) return '';
    let text = String(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return [columns, ...rows].map(row => row.map(cell).join(',')).join('\n') + '\n';
}

/** Hand a file to the reader. */
function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = element('a', { href: address, download: name.replace(/[^\p{L}\p{N}._]+/gu, '-').replace(/-+(?=\.\w+$)/, '') });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
