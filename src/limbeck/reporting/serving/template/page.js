"use strict";
// Everything that comes from the run is put in as text, never as markup.
const at = (id) => document.getElementById(id);
const PAGE = 50;
const COUNTS = ["n", "contexts"];
const state = { layer: "", sort: "n", order: "down", search: "", offset: 0, total: 0, columns: [], titles: {}, word: null };
let asked = 0;

async function ask(path, query = {}) {
  const answer = await fetch(path + "?" + new URLSearchParams(query));
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

function cell(kind, text) {
  const made = document.createElement(kind);
  made.textContent = text;
  return made;
}

function button(text, act) {
  const made = cell("button", text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

const shown = (value) =>
  value === null ? "–" : Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(3);
const plain = (name) => state.titles[name] ?? name;

function drawHead() {
  const focused = [...at("head").children].findIndex((heading) => heading.contains(document.activeElement));
  at("head").replaceChildren(...["word", ...state.columns].map((name) => {
    const heading = document.createElement("th");
    const here = name === state.sort;
    heading.setAttribute("aria-sort", here ? (state.order === "down" ? "descending" : "ascending") : "none");
    const mark = here ? (state.order === "down" ? " ▾" : " ▴") : "";
    heading.append(button(plain(name) + mark, () => {
      state.order = here && state.order === "down" ? "up" : here ? "down" : name === "word" ? "up" : "down";
      state.sort = name;
      state.offset = 0;
      load();
    }));
    return heading;
  }));
  at("head").children[focused]?.querySelector("button").focus(); // who sorts by keyboard stays where they are
}

async function load() {
  const mine = ++asked;
  const { layer, sort, order, search, offset } = state;
  const found = await ask("/api/words", { layer, sort, order, search, offset, limit: PAGE });
  if (mine !== asked) return; // a later question is on its way
  state.total = found.total;
  drawHead();
  at("body").replaceChildren(...found.rows.map((row) => {
    const line = document.createElement("tr");
    line.dataset.word = row.word;
    line.addEventListener("click", () => openWord(row.word)); // a click on the button within comes here, too
    const first = document.createElement("td");
    first.append(button(row.word, () => {}));
    line.append(first, ...state.columns.map((name) => cell("td", shown(row[name]))));
    return line;
  }));
  mark();
  const last = Math.min(offset + PAGE, found.total);
  at("where").textContent = found.total
    ? `${(offset + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${found.total.toLocaleString("en")}`
    : "no such word";
  at("back").disabled = offset === 0;
  at("on").disabled = last >= found.total;
}

/** The row of the open word. */
function mark() {
  for (const line of at("body").children) line.setAttribute("aria-selected", String(line.dataset.word === state.word));
}

/** Up, down, first and last among the words of the table. */
function step(event) {
  const words = [...at("body").querySelectorAll("button")];
  const here = words.indexOf(document.activeElement);
  const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: words.length - 1 }[event.key];
  if (here < 0 || next === undefined) return;
  event.preventDefault();
  words[Math.max(0, Math.min(words.length - 1, next))].focus();
}

async function openWord(word) {
  const found = await ask("/api/word", { word });
  // counts are the same at every layer; of the rest those that have a number
  const columns = state.columns.filter((name) => !COUNTS.includes(name) && found[name].some((value) => value !== null));
  state.word = word;
  mark();
  at("one").hidden = false;
  at("word").textContent = found.word;
  at("counts").textContent = COUNTS.filter((name) => name in found)
    .map((name) => `${shown(found[name][0])} ${name === "n" ? "occurrences" : name}`).join(", ");
  const drawn = ["self_similarity", "mev", "mev_centered"].some((name) => columns.includes(name));
  at("picture").hidden = !drawn;
  if (drawn) at("picture").src = "/api/word.svg?" + new URLSearchParams({ word });
  at("picture").alt = `self-similarity and MEV of ${found.word} by layer; the table below has the numbers`;
  at("one-head").replaceChildren(...["layer", ...columns].map((name) => cell("th", plain(name))));
  at("one-body").replaceChildren(...found.layers.map((layer, place) => {
    const line = document.createElement("tr");
    line.append(cell("td", layer), ...columns.map((name) => cell("td", shown(found[name][place]))));
    return line;
  }));
  at("sentences").replaceChildren(...found.sentences.map((text) => cell("li", text)));
  at("one").scrollTop = 0;
  if (!matchMedia("(min-width: 60rem)").matches) at("one").scrollIntoView({ block: "start" }); // else it stands beside
}

async function start() {
  const run = await ask("/api/run");
  state.columns = run.columns;
  state.titles = run.titles;
  state.layer = run.layers[run.layers.length - 1];
  document.title = at("name").textContent = run.name;
  at("about").textContent = `${run.words.toLocaleString("en")} words at ${run.layers.length} layers; ${run.folder}`;
  at("layer").replaceChildren(...run.layers.map((layer) => cell("option", layer)));
  at("layer").value = state.layer;
  at("layer").addEventListener("change", () => { state.layer = at("layer").value; load(); });
  let wait;
  at("search").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => { state.search = at("search").value; state.offset = 0; load(); }, 150);
  });
  at("body").addEventListener("keydown", step);
  at("asked").addEventListener("submit", (event) => event.preventDefault());
  at("back").addEventListener("click", () => { state.offset = Math.max(0, state.offset - PAGE); load(); });
  at("on").addEventListener("click", () => { state.offset += PAGE; load(); });
  await load();
}

start().catch((error) => { at("about").textContent = error.message; });
