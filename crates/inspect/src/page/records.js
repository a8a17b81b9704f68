// The list of records: only what is in sight is in the document.
const ROW_HEIGHT = 26;
const SPARE_ROWS = 12;
const GROUP_NAMES = { text: "text", thinking: "thinking", call: "tool call" };

const list = {
  // What is listed: records, and groups that stand for their records.
  items: [],
  selected: -1,
  selectedRecord: null,
  isFollowing: true,
  filter: { text: "", from: "", type: "", onlyProblems: false },

  start() {
    this.box = $("list");
    this.box.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    new ResizeObserver(() => this.drawSoon()).observe(this.box);
    this.box.addEventListener("wheel", (event) => { if (event.deltaY < 0) this.follow(false); }, { passive: true });
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      const index = Number(row.dataset.index);
      if (event.target.closest(".fold")) this.toggleGroup(index); else this.select(index);
      if (!event.target.closest(".fold") && event.detail > 0) showView("record");
    });
  },

  // Builds the list from what passes the filter.
  rebuild() {
    const words = this.filter.text.toLowerCase().split(/\s+/).filter(Boolean);
    const items = [];
    let group = null;
    for (const record of exchange.records) {
      if (!this.passes(record, words)) continue;
      if (record.group && record.group.records.length > 1) {
        if (group?.group !== record.group) {
          group = { group: record.group, record, count: 0 };
          items.push(group);
        }
        group.count += 1;
        if (!record.group.isFolded) items.push({ record, isWithin: true });
      } else {
        items.push({ record });
      }
    }
    this.items = items;
    if (this.selectedRecord !== null) this.selected = this.indexOf(this.selectedRecord);
    $("list-space").style.height = `${items.length * ROW_HEIGHT}px`;
    const empty = $("list-empty");
    empty.hidden = items.length > 0;
    empty.textContent = exchange.records.length ? "No record passes the filter." : "No records yet.";
    if (this.isFollowing && !exchange.isOver && !this.filter.text) this.box.scrollTop = items.length * ROW_HEIGHT;
    this.draw();
  },

  passes(record, words) {
    const { from, type, onlyProblems } = this.filter;
    if (onlyProblems && !record.problems.length) return false;
    if (type && record.type !== type) return false;
    if (from === "sent" && record.from !== "client" && record.from !== "page") return false;
    if (from === "received" && record.from !== "agent") return false;
    if (from === "stderr" && record.from !== "stderr") return false;
    if (!words.length) return true;
    const text = record.line.toLowerCase();
    return words.every((word) => {
      if (word.startsWith("type:")) return record.type.toLowerCase().includes(word.slice(5));
      if (word.startsWith("-") && word.length > 1) return !text.includes(word.slice(1)) && !record.type.toLowerCase().includes(word.slice(1));
      return text.includes(word) || record.summary.toLowerCase().includes(word);
    });
  },

  indexOf(n) {
    const index = this.items.findIndex((item) => item.record.n === n && !item.group);
    if (index >= 0) return index;
    return this.items.findIndex((item) => item.group?.records.includes(n));
  },

  drawSoon() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => { this.isDrawing = false; this.draw(); });
  },

  draw() {
    const { scrollTop, clientHeight } = this.box;
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
    const rows = $("list-rows");
    rows.style.transform = `translateY(${first * ROW_HEIGHT}px)`;
    const made = [];
    for (let index = first; index < last; index += 1) made.push(this.row(this.items[index], index));
    rows.replaceChildren(...made);
    this.box.setAttribute("aria-activedescendant", this.selected >= first && this.selected < last ? `row-${this.selected}` : "");
  },

  row(item, index) {
    const { record, group } = item;
    const isSent = record.from === "client" || record.from === "page";
    const arrow = { client: "→", page: "→", agent: "←", stderr: "!", session: "·", inspector: "■" }[record.from];
    const who = { client: "from the client", page: "from this page", agent: "from the agent", stderr: "stderr", session: "entry", inspector: "inspector" }[record.from];
    const problems = group ? group.records.some((n) => exchange.records[n].problems.length) : record.problems.length > 0;
    const summary = group ? group.text : record.summary;
    const took = record.took !== null && record.peer < record.n ? duration(record.took) : "";
    const row = element("div", {
      class: `row ${record.from}${isSent ? " sent" : ""}${problems ? " wrong" : ""}${item.isWithin ? " within" : ""}${kindClass(record)}`,
      id: `row-${index}`, role: "option", "aria-selected": String(index === this.selected), "data-index": index,
    },
    element("span", { class: "at", text: exchange.hasTimes ? clock(record.at) : String(record.n + 1) }),
    element("span", { class: "arrow", title: who, text: arrow }),
    group ? element("span", { class: "fold", title: group.isFolded ? "Unfold" : "Fold", text: group.isFolded ? "▸" : "▾" }) : null,
    element("span", { class: "type", text: group ? GROUP_NAMES[group.form] ?? group.form : record.type }),
    group ? element("span", { class: "times", text: `× ${item.count}` }) : null,
    record.from === "page" ? element("span", { class: "mark", text: "page" }) : null,
    problems ? element("span", { class: "mark bad", text: "schema", title: group ? "A record has a problem" : record.problems.map((problem) => `${problem.path} ${problem.reason}`).join("\n") }) : null,
    element("span", { class: "summary", text: shorten(summary, 300) }),
    took ? element("span", { class: "took", text: took }) : null);
    return row;
  },

  select(index, isKept = false) {
    const item = this.items[index];
    if (!item) return;
    this.selected = index;
    this.selectedRecord = item.record.n;
    const top = index * ROW_HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + ROW_HEIGHT > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW_HEIGHT - this.box.clientHeight;
    if (!isKept) this.follow(index === this.items.length - 1 && this.isFollowing);
    this.draw();
    detail.show(item.record, item.group);
    timing.mark(item.record);
  },

  // Shows a record, wherever it is; filters that hide it are cleared.
  go(n, view = "record") {
    let index = this.indexOf(n);
    if (index < 0) {
      clearFilter();
      index = this.indexOf(n);
    }
    this.follow(false);
    this.box.scrollTop = Math.max(0, index * ROW_HEIGHT - this.box.clientHeight / 3);
    this.select(index);
    // A group stands for its records, but here one is meant.
    if (this.items[index]?.group) detail.show(exchange.records[n], null);
    if (view) showView(view);
  },

  step(by) {
    this.select(Math.min(this.items.length - 1, Math.max(0, this.selected + by)));
  },

  toggleGroup(index, isFolded) {
    const { group } = this.items[index] ?? {};
    if (!group) return;
    group.isFolded = isFolded ?? !group.isFolded;
    this.follow(false);
    this.rebuild();
  },

  toggleAll() {
    const isFolded = exchange.groups.some((group) => !group.isFolded);
    for (const group of exchange.groups) group.isFolded = isFolded;
    $("folds").textContent = isFolded ? "Unfold" : "Fold";
    this.rebuild();
  },

  follow(isFollowing) {
    this.isFollowing = isFollowing;
    $("follow").setAttribute("aria-pressed", String(isFollowing));
    if (isFollowing) this.box.scrollTop = this.items.length * ROW_HEIGHT;
  },
};

// The colour of a record's type.
function kindClass({ type, from }) {
  if (from === "inspector") return " of-inspector";
  const name = type.toLowerCase();
  if (name === "response" || name === "result") return " of-response";
  if (name.includes("error")) return " of-error";
  if (name.includes("tool")) return " of-tool";
  if (name.includes("delta") || name.includes("message") || name.includes("text_") || name.includes("thinking") || name.includes("chunk")) return " of-message";
  if (name.startsWith("agent") || name.includes("turn") || name.includes("settled")) return " of-run";
  return "";
}

