"use strict";
// Everything that a model wrote reaches the page as text: textContent and value, never as HTML.
const token = location.hash.slice(1);
const by = (id) => document.getElementById(id);
const SAID = { open: "undecided", accepted: "accepted", rejected: "rejected", refused: "refused by a check" };
let state = null, at = 0, checking = 0;
// Counted, so that what is typed while a save is under way stays unsaved.
let changes = 0, saved = 0, saving = Promise.resolve();

async function call(path, body) {
  const headers = { "X-Review-Token": token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const content = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.error), { problems: content.problems || {} });
  return content;
}

function say(text) {
  by("message").hidden = !text;
  by("message").textContent = text || "";
}

function made(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function count() {
  const unsaved = changes !== saved;
  const n = { open: 0, accepted: 0, rejected: 0, refused: 0 };
  for (const entry of state.entries) n[entry.decision] += 1;
  by("counts").textContent = Object.keys(n).filter((key) => n[key]).map((key) => `${n[key]} ${SAID[key]}`).join(", ") + (unsaved ? "; not saved" : "; saved");
  document.title = (unsaved ? "* " : "") + "Review of " + state.file;
}

function list() {
  by("list").replaceChildren(...state.entries.map((entry, i) => {
    const row = made("li"), button = made("button", entry.fields.id || "(no id)");
    button.type = "button";
    button.append(made("small", SAID[entry.decision], entry.decision));
    if (i === at) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => show(i));
    row.append(button);
    return row;
  }));
  count();
}

// Whether a field holds sentences rather than a few words.
const long = (name) => state.entries.some((each) => (each.fields[name] || "").length > 60);

function mark() {
  const entry = state.entries[at], button = by("list").children[at].firstChild;
  button.firstChild.textContent = entry.fields.id || "(no id)";
  button.lastChild.textContent = SAID[entry.decision];
  button.lastChild.className = entry.decision;
  by("id").textContent = entry.fields.id || "(no id)";
  by("state").textContent = SAID[entry.decision];
  by("state").className = entry.decision;
  count();
}

function show(i) {
  if (!state.entries.length) return;
  at = Math.max(0, Math.min(i, state.entries.length - 1));
  const entry = state.entries[at];
  for (const [n, row] of [...by("list").children].entries()) row.firstChild.toggleAttribute("aria-current", false), n === at && row.firstChild.setAttribute("aria-current", "true");
  by("list").children[at].scrollIntoView({ block: "nearest" });
  by("item").hidden = false;
  by("fields").replaceChildren(...state.fields.map((name) => {
    const label = made("label", name), field = document.createElement(long(name) ? "textarea" : "input");
    field.value = entry.fields[name] || "";
    field.name = name;
    field.spellcheck = true;
    field.addEventListener("input", () => {
      entry.fields[name] = field.value;
      changes += 1;
      mark();
      look();
    });
    label.append(field);
    return label;
  }));
  by("steps").replaceChildren(...(entry.steps.length ? [made("h3", "Every step's text")] : []), ...entry.steps.map((step) => {
    const box = made("details"), last = step.refused;
    box.append(made("summary", `${step.step}, answer ${step.try}: ${last ? "refused, " + last : "taken"}`, last ? "refused" : "accepted"));
    box.append(made("h3", "Asked"), made("pre", step.prompt), made("h3", "Answered"), made("pre", step.answer));
    return box;
  }));
  mark();
  look();
}

async function look() {
  const turn = ++checking, entry = state.entries[at];
  try {
    const found = await call("/look", { fields: entry.fields });
    if (turn !== checking) return;
    by("problems").replaceChildren(...found.problems.map((text) => made("li", text)));
    by("notes").replaceChildren(...found.notes.map((text) => made("li", text)));
    by("shown").replaceChildren(...(found.shown.length ? [made("h3", "As it would be asked")] : []),
      ...found.shown.flatMap(([title, text]) => [made("small", title), made("pre", text)]));
  } catch (error) {
    if (turn === checking) say(String(error.message || error));
  }
}

function decide(decision) {
  const entry = state.entries[at];
  entry.decision = decision === "open" && entry.refused ? "refused" : decision;
  changes += 1;
  say("");
  mark();
  if (decision === "accepted" || decision === "rejected") {
    const next = state.entries.findIndex((each, i) => i > at && each.decision === "open");
    if (next >= 0) show(next);
  }
  by("item").focus({ preventScroll: true });
}

async function saveOnce() {
  const sent = changes;
  try {
    const answer = await call("/save", { version: state.version, entries: state.entries.map(({ fields, decision }) => ({ fields, decision })) });
    state.version = answer.version;
    saved = sent;
    say(answer.message);
    count();
  } catch (error) {
    const first = Object.keys(error.problems || {})[0];
    say(String(error.message || error));
    if (first !== undefined) show(Number(first));
  }
}

// One after the other: each sends the version that the one before made.
const save = () => { saving = saving.then(saveOnce, saveOnce); };

const KEYS = { a: () => decide("accepted"), r: () => decide("rejected"), u: () => decide("open"), e: () => (by("fields").querySelector("textarea") || by("fields").querySelector("input")).focus(),
  j: () => show(at + 1), k: () => show(at - 1), ArrowDown: () => show(at + 1), ArrowUp: () => show(at - 1) };

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
    event.preventDefault();
    if (state) save();
    return;
  }
  const writing = event.target.matches("textarea, input");
  if (event.key === "Escape" && writing) return by("item").focus();
  if (writing || event.ctrlKey || event.metaKey || event.altKey || !state || !state.entries.length) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});
for (const id of ["accepted", "rejected", "open"]) by(id).addEventListener("click", () => decide(id));
by("edit").addEventListener("click", KEYS.e);
by("save").addEventListener("click", save);
by("fields").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("beforeunload", (event) => { if (changes !== saved) event.preventDefault(); });
call("/entries").then((given) => {
  state = given;
  changes += Number(given.unsaved);
  by("file").textContent = given.file;
  list();
  const first = given.entries.findIndex((entry) => entry.decision === "open");
  show(first < 0 ? 0 : first);
  if (!given.entries.length) say("There is no item to review.");
}).catch((error) => say(String(error.message || error)));
