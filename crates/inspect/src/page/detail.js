// One record as a tree of JSON that folds.
const DEEPEST_OPEN = 3;
const MOST_MEMBERS = 200;

const detail = {
  show(record, group) {
    const pane = $("record");
    const parts = [this.head(record, group)];
    if (record.problems.length) {
      parts.push(element("ul", { class: "problems" }, ...record.problems.map(({ path, reason }) =>
        element("li", {}, path ? element("code", { text: path }) : null, visible(path ? ` ${reason}` : `The line ${reason}`)))));
    }
    if (group) parts.push(element("h3", { text: "Together" }), element("pre", { class: "joined", text: group.text || "(no text)" }));
    const parsed = record.event ?? parse(record.line);
    const wrong = new Set(record.problems.map(({ path }) => path));
    parts.push(parsed === undefined ? element("pre", { class: "line", text: record.line }) : this.tree(parsed, wrong));
    pane.replaceChildren(...parts);
    pane.scrollTop = 0;
  },

  // The members of the record are not within a fold of their own.
  tree(parsed, wrong) {
    const tree = element("div", { class: "tree" });
    if (typeof parsed !== "object" || parsed === null) tree.append(this.value(parsed, "", "", wrong, 0));
    else this.members(tree, Object.entries(parsed), 0, "", wrong, 0);
    return tree;
  },

  head(record, group) {
    const raw = record.line;
    const copy = element("button", { type: "button", class: "quiet", onclick: () => copyText(raw, copy), title: "Copy the line (c)" }, "Copy");
    const facts = [
      exchange.hasTimes ? `at ${clock(record.at)}` : "",
      { client: "from the client", page: "from this page", agent: "from the agent", stderr: "stderr", session: "an entry of the session", inspector: "from the inspector" }[record.from],
      record.line ? bytes(new Blob([raw]).size) : "",
      record.unfinished ? "no line feed at its end" : "",
    ].filter(Boolean);
    const title = element("h2", {}, visible(record.type), element("span", { class: "number", text: `#${record.n + 1}` }));
    const head = element("header", {}, title, element("p", { class: "about", text: facts.join(" · ") }));
    if (record.peer !== null) {
      const isAnswer = record.peer < record.n;
      const text = isAnswer ? `its command, ${duration(record.took)} before` : `its response, ${duration(record.took)} later`;
      head.append(element("button", { type: "button", class: "link", onclick: () => list.go(record.peer) }, text));
    }
    if (record.cut) head.append(element("p", { class: "about bad", text: `Only the beginning of this line is recorded; it has ${bytes(record.cut)}.` }));
    else if (record.shortened) head.append(this.rest(record));
    if (record.line) head.append(copy);
    if (group) head.append(element("p", { class: "about", text: `${count(group.records.length, "record")} of one block` }));
    return head;
  },

  // Offers the rest of a long line, which only the live page can get.
  rest(record) {
    const line = element("p", { class: "about", text: `This is the beginning of a line of ${bytes(record.shortened)}. ` });
    if (source.canAsk) {
      line.append(element("button", { type: "button", class: "link", onclick: async () => {
        const row = await source.whole(record.n);
        if (!row) return;
        record.line = row.line;
        record.shortened = undefined;
        this.show(record, null);
      } }, "Load all of it"));
    }
    return line;
  },

  value(value, key, path, wrong, depth) {
    const name = key === "" ? null : element("span", { class: "key", text: key });
    const colon = name ? ": " : "";
    const isWrong = path !== "" && wrong.has(path);
    if (typeof value !== "object" || value === null) {
      return element("div", { class: `leaf${isWrong ? " wrong" : ""}` }, name, colon, this.leaf(value));
    }
    const isList = Array.isArray(value);
    const entries = isList ? value.map((item, index) => [String(index), item]) : Object.entries(value);
    const about = isList ? `[${entries.length}]` : `{${shorten(Object.keys(value).join(", "), 60)}}`;
    if (!entries.length) return element("div", { class: `leaf${isWrong ? " wrong" : ""}` }, name, colon, element("span", { class: "empty" }, isList ? "[]" : "{}"));
    const has = [...wrong].some((other) => other.startsWith(path));
    const fold = element("details", { class: isWrong ? "wrong" : "", open: depth < DEEPEST_OPEN || has });
    fold.append(element("summary", {}, name, colon, element("span", { class: "about", text: about })));
    // Members are made when they are seen.
    let isMade = false;
    const make = () => {
      if (isMade || !fold.open) return;
      isMade = true;
      this.members(fold, entries, 0, path, wrong, depth);
    };
    fold.addEventListener("toggle", make);
    make();
    return fold;
  },

  members(fold, entries, from, path, wrong, depth) {
    for (const [key, item] of entries.slice(from, from + MOST_MEMBERS)) {
      const place = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      fold.append(this.value(item, key, place, wrong, depth + 1));
    }
    // A member that is missing has no place of its own.
    const missing = from > 0 ? [] : [...wrong].filter((other) => other.startsWith(`${path}/`) && !other.slice(path.length + 1).includes("/"));
    for (const other of missing) {
      const key = other.slice(path.length + 1);
      if (!entries.some(([known]) => known === key)) fold.append(element("div", { class: "leaf wrong" }, element("span", { class: "key", text: key }), ": ", element("span", { class: "empty" }, "(missing)")));
    }
    const next = from + MOST_MEMBERS;
    if (entries.length > next) {
      const more = element("button", { type: "button", class: "link", onclick: () => { more.remove(); this.members(fold, entries, next, path, wrong, depth); } }, `${(entries.length - next).toLocaleString("en")} more`);
      fold.append(more);
    }
  },

  leaf(value) {
    if (typeof value !== "string") return element("span", { class: value === null ? "null" : typeof value, text: String(value) });
    if (value.length <= 120 && !value.includes("\n")) return element("span", { class: "string", text: JSON.stringify(value) });
    if (value.length <= 4000) return element("pre", { class: "string", text: value });
    const shown = element("pre", { class: "string", text: value.slice(0, 4000) });
    const more = element("button", { type: "button", class: "link", onclick: () => { shown.append(visible(value.slice(4000))); more.remove(); } }, `${bytes(value.length - 4000)} more`);
    return element("div", { class: "long" }, shown, more);
  },
};

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

