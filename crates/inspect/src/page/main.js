// The page as a whole: what is drawn when, the filter, the views, the keys.
const isWide = matchMedia("(min-width: 60rem)");
let view = "records";
let isDrawingAll = false;

// Takes rows, and draws what they change, at most once for each frame.
function arrived(rows) {
  for (const row of rows) exchange.add(row);
  drawAll();
}

function drawAll() {
  if (isDrawingAll) return;
  isDrawingAll = true;
  // A long list takes longer than a frame.
  const wait = exchange.records.length > 20_000 ? 250 : 0;
  setTimeout(() => requestAnimationFrame(() => {
    isDrawingAll = false;
    drawNow();
  }), wait);
}

function drawNow() {
  list.rebuild();
  timing.draw();
  conversation.draw();
  usage.draw();
  const last = exchange.usage.at(-1);
  $("counts").textContent = [
    count(exchange.records.length, "record"),
    source.dialect ? `dialect ${source.dialect}` : "",
    exchange.hasTimes ? duration(exchange.end) : "",
    last ? `${tokens(last.totalInput + last.totalOutput)} tokens` : "",
    last?.totalCost ? dollars(last.totalCost) : "",
  ].filter(Boolean).join(" · ");
  $("problem-count").textContent = exchange.problems ? String(exchange.problems) : "";
  $("only-errors-label").classList.toggle("some", exchange.problems > 0);
  const command = source.header?.command?.join(" ");
  if (command) {
    $("title").replaceChildren(visible(command));
    $("title").title = visibleText(command);
    document.title = `${shorten(visibleText(command), 60)} · bowline inspect`;
  }
  listTypes();
}

// Adds the types that are new.
function listTypes() {
  const select = $("filter-type");
  const known = new Set([...select.options].map((option) => option.value));
  for (const type of [...exchange.types.keys()].filter((type) => !known.has(type)).sort()) {
    select.append(element("option", { value: type, text: shorten(type, 60) }));
  }
}

function showState(state) {
  const ended = exchange.ended;
  const text = { live: "live", connecting: "connecting…", disconnected: "the inspector has ended", recorded: "recording" }[state] ?? state;
  $("state").textContent = state === "ended" && ended ? (ended.signal ? `ended by signal ${ended.signal}` : `ended, exit code ${ended.code}`) : text;
  $("state").dataset.state = state.split(":")[0];
}

function showView(name) {
  view = name === "records" && isWide.matches ? "record" : name;
  root.dataset.view = view;
  for (const tab of document.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", String(tab.dataset.view === view));
  for (const pane of document.querySelectorAll("[data-pane]")) pane.hidden = pane.dataset.pane !== view;
  conversation.draw();
  usage.draw();
  list.drawSoon();
}

function readFilter() {
  list.filter = { text: $("filter-text").value, from: $("filter-from").value, type: $("filter-type").value, onlyProblems: $("only-errors").checked };
  list.box.scrollTop = 0;
  list.rebuild();
}

function clearFilter() {
  [$("filter-text").value, $("filter-from").value, $("filter-type").value, $("only-errors").checked] = ["", "", "", false];
  readFilter();
}

const KEYS = [
  ["j  k", "next, previous record", { j: () => list.step(1), k: () => list.step(-1), ArrowDown: () => list.step(1), ArrowUp: () => list.step(-1) }],
  ["h  l", "fold, unfold deltas", { h: () => list.toggleGroup(list.selected, true), l: () => list.toggleGroup(list.selected, false), ArrowLeft: () => list.toggleGroup(list.selected, true), ArrowRight: () => list.toggleGroup(list.selected, false) }],
  ["p", "the command of a response, or the response", { p: () => { const { peer } = exchange.records[list.selectedRecord] ?? {}; if (peer !== null && peer !== undefined) list.go(peer, null); } }],
  ["g  G", "first, last record", { g: () => list.select(0), G: () => list.select(list.items.length - 1), Home: () => list.select(0), End: () => list.select(list.items.length - 1), PageDown: () => list.step(20), PageUp: () => list.step(-20) }],
  ["n", "next record with a problem", { n: () => nextProblem() }],
  ["/", "filter", { "/": () => { showView("records"); $("filter-text").focus(); $("filter-text").select(); } }],
  ["x", "only records with problems", { x: () => { $("only-errors").checked = !$("only-errors").checked; readFilter(); } }],
  ["e", "fold or unfold all deltas", { e: () => list.toggleAll() }],
  ["f", "follow the newest record", { f: () => list.follow(!list.isFollowing) }],
  ["1 … 4", "records, record, conversation, usage", { 1: () => showView("records"), 2: () => showView("record"), 3: () => showView("conversation"), 4: () => showView("usage") }],
  ["+  −  0", "zoom the times", { "+": () => timing.zoomBy(2), "-": () => timing.zoomBy(0.5), 0: () => timing.zoomBy(1 / timing.zoom) }],
  ["i", "type a command", { i: () => { if (!$("send").hidden) $("send-text").focus(); } }],
  ["c", "copy the line", { c: () => $("record").querySelector("button.quiet")?.click() }],
  ["t", "light or dark", { t: theme.toggle }],
  ["?", "this list", { "?": () => $("help").showModal() }],
];
const keys = Object.assign({}, ...KEYS.map(([, , actions]) => actions));

function nextProblem() {
  const from = list.selectedRecord ?? -1;
  const next = exchange.records.find((record) => record.n > from && record.problems.length) ?? exchange.records.find((record) => record.problems.length);
  if (next) list.go(next.n);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const { target } = event;
  if (target.matches("input, textarea, select")) {
    if (event.key === "Escape") { if (target.id === "filter-text") clearFilter(); target.blur(); }
    return;
  }
  // Other things that take the focus have arrows of their own.
  if (event.key.startsWith("Arrow") && !target.matches("#list, body")) return;
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
}

function start() {
  list.start();
  timing.start();
  commandBox.start();
  showView("records");
  isWide.addEventListener("change", () => showView(view));
  for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => showView(tab.dataset.view));
  let waiting;
  $("filter-text").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(readFilter, 120); });
  $("filter").addEventListener("submit", (event) => { event.preventDefault(); readFilter(); });
  for (const id of ["filter-from", "filter-type", "only-errors"]) $(id).addEventListener("change", readFilter);
  $("folds").addEventListener("click", () => list.toggleAll());
  $("follow").addEventListener("click", () => list.follow(!list.isFollowing));
  $("theme").addEventListener("click", theme.toggle);
  $("show-help").addEventListener("click", () => $("help").showModal());
  $("help-keys").replaceChildren(...KEYS.flatMap(([names, what]) => [
    element("dt", {}, ...names.split(/\s+/).map((name) => (name === "…" ? "…" : element("kbd", { text: name })))), element("dd", { text: what })]));
  document.addEventListener("keydown", onKey);
  source.start();
  if (source.mode === "live" && source.about.canSend) $("send").hidden = false;
  $("record").replaceChildren(element("p", { class: "nothing", text: "Select a record to see all of it." }));
}

document.addEventListener("DOMContentLoaded", start);
