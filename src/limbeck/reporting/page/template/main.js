// The page: its head, its list of sections, and the sections one after the other.

function headOfPage() {
  const themed = element('button', { type: 'button', id: 'theme' });
  const name = () => { themed.textContent = STATE.dark ? 'Light' : 'Dark'; themed.setAttribute('aria-label', `Switch to ${STATE.dark ? 'light' : 'dark'} colours`); };
  themed.addEventListener('click', () => { STATE.dark = !STATE.dark; redraw(); name(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', event => { STATE.dark = event.matches; redraw(); name(); });
  name();
  const runs = element('div', { class: 'runs', role: 'group', 'aria-label': 'runs shown' });
  const drawKeys = () => runs.replaceChildren(...PAGE.names.map(run => {
    const change = () => {
      STATE.hidden[box.checked ? 'delete' : 'add'](run);
      redraw(); // this list, too: the new box takes the place of the old one
      runs.querySelectorAll('input')[PAGE.names.indexOf(run)].focus();
    };
    const box = element('input', { type: 'checkbox', checked: shown(run), 'data-run': run, change });
    return element('label', {}, box, keyOf(colourOf(run), placeOf(run)), run);
  }));
  if (PAGE.names.length > 1) { redraws.add(drawKeys); drawKeys(); }
  const allOf = (text, act) => element('button', { type: 'button', class: 'small', click: () => { PAGE.names.forEach(act); redraw(); } }, text);
  const both = PAGE.names.length > 4 && element('div', { class: 'both' },
    allOf('Hide all runs', run => STATE.hidden.add(run)), allOf('Show all', run => STATE.hidden.delete(run)));
  document.getElementById('top').append(
    element('div', {}, element('h1', {}, PAGE.title), element('div', { class: 'quiet' }, `a report of limbeck ${PAGE.limbeck}`), runs, both),
    element('div', { class: 'buttons' }, themed, element('button', { type: 'button', click: () => window.print() }, 'Print')));
}

/** Of the sections in sight, the one whose link is marked. */
function followSections(parts) {
  const links = new Map(parts.map(part => [part, document.querySelector(`nav a[href="#${part.id}"]`)]));
  const list = document.getElementById('sections');
  const watch = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const [part, link] of links) link.setAttribute('aria-current', String(part === entry.target));
      const link = links.get(entry.target);
      list.scrollTo({ left: link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2 }); // on a phone the list is wider than the page
    }
  }, { rootMargin: '-20% 0px -70% 0px' });
  parts.forEach(part => watch.observe(part));
}

async function start() {
  document.documentElement.dataset.theme = STATE.dark ? 'dark' : 'light';
  headOfPage();
  const page = document.getElementById('page');
  page.replaceChildren();
  const parts = [];
  for (const section of PAGE.sections) {
    document.getElementById('sections').append(element('a', { href: `#${section.id}` }, section.title));
    const part = element('section', { id: section.id, 'aria-labelledby': `${section.id}-title` }, element('h2', { id: `${section.id}-title` }, section.title));
    page.append(part);
    parts.push(part);
  }
  followSections(parts);
  for (const [i, section] of PAGE.sections.entries()) {
    RENDER[section.id](parts[i], section, await opened(section.id));
    await new Promise(go => setTimeout(go)); // let the browser draw and listen between two sections
  }
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame); // figures are drawn when they know their width
  document.documentElement.dataset.ready = 'true';
}

// what the page was drawn in is what is printed, but light
let wasDark = null;
window.addEventListener('beforeprint', () => { wasDark ??= STATE.dark; STATE.dark = false; redraw(); });
window.addEventListener('afterprint', () => { STATE.dark = wasDark ?? STATE.dark; wasDark = null; redraw(); });

start();
