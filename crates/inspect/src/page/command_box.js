// The box that sends commands, with what the schema knows of them.
const commandBox = {
  commands: [],
  options: [],
  chosen: 0,
  history: [],
  place: null,
  next: 1,

  start() {
    this.text = $("send-text");
    this.menu = $("suggestions");
    this.text.addEventListener("input", () => { this.grow(); this.suggest(); });
    this.text.addEventListener("keydown", (event) => this.onKey(event));
    this.text.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
    this.text.addEventListener("focus", () => this.suggest());
    $("send").addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    this.menu.addEventListener("mousedown", (event) => {
      const option = event.target.closest("[role=option]");
      if (!option) return;
      event.preventDefault();
      this.chosen = Number(option.dataset.index);
      this.accept();
    });
  },

  async know(dialect) {
    if (this.dialect === dialect || !source.canAsk) return;
    this.dialect = dialect;
    this.commands = (await source.commands()) ?? [];
  },

  grow() {
    this.text.rows = Math.min(8, this.text.value.split("\n").length);
  },

  // What can stand at the caret: a command, a field of the command, or a value of the field.
  suggest() {
    const { value, selectionStart: caret } = this.text;
    const before = value.slice(0, caret);
    const options = [];
    const trimmed = before.trim();
    if (!trimmed.startsWith("{")) {
      const word = trimmed.toLowerCase();
      for (const command of this.commands) {
        if (command.name.toLowerCase().includes(word)) options.push({ label: command.name, about: command.about, insert: () => this.template(command) });
      }
      options.sort((one, other) => Number(other.label.startsWith(word)) - Number(one.label.startsWith(word)));
    } else {
      const command = this.commands.find(({ name }) => new RegExp(`"(type|method)"\\s*:\\s*"${name.replace(/[.*+?^$()|[\]\\{}]/g, "\\$&")}"`).test(value));
      const open = before.match(/"([^"\\]*)$/);
      const isKey = open && /[{,]\s*"[^"\\]*$/.test(before);
      const ofField = before.match(/"([^"\\]+)"\s*:\s*"?([^",}\s]*)$/);
      if (isKey && command) {
        for (const field of command.fields) {
          if (field.name.startsWith(open[1]) && !value.includes(`"${field.name}":`)) {
            options.push({ label: field.name, about: `${field.kinds}${field.isRequired ? ", required" : ""}. ${field.about}`, insert: () => this.replace(open[1], `${field.name}": `, /^"/) });
          }
        }
      } else if (ofField) {
        const [, name, typed] = ofField;
        if (name === "type" || name === "method") {
          for (const { name: known, about } of this.commands) {
            if (known.startsWith(typed)) options.push({ label: known, about, insert: () => this.replace(typed, this.quoted(before, known), /^[^",}]*"?/) });
          }
        } else {
          for (const known of command?.fields.find((field) => field.name === name)?.values ?? []) {
            const label = String(known);
            const text = typeof known === "string" ? this.quoted(before, known) : label;
            if (label.startsWith(typed)) options.push({ label, about: name, insert: () => this.replace(typed, text, /^[^",}]*"?/) });
          }
        }
      }
    }
    this.options = options.slice(0, 50);
    this.chosen = 0;
    this.drawMenu();
  },

  quoted(before, text) {
    return /"[^"]*$/.test(before.slice(before.lastIndexOf(":"))) ? `${text}"` : `"${text}"`;
  },

  // Puts a text in the place of what was typed of it, and of what follows it already.
  replace(typed, text, following) {
    const { value, selectionStart: caret } = this.text;
    const start = caret - typed.length;
    const rest = value.slice(caret).replace(following, "");
    this.text.value = value.slice(0, start) + text + rest;
    this.text.setSelectionRange(start + text.length, start + text.length);
  },

  template(command) {
    const line = { ...command.template };
    const tag = command.template.method === undefined ? "type" : "method";
    const text = JSON.stringify({ id: `inspect-${this.next}`, [tag]: line[tag], ...line });
    this.text.value = text;
    const blank = text.indexOf('""');
    const place = blank >= 0 ? blank + 1 : text.length - 1;
    this.text.setSelectionRange(place, place);
  },

  drawMenu() {
    this.menu.hidden = !this.options.length || document.activeElement !== this.text;
    this.menu.replaceChildren(...this.options.map((option, index) => element("div", { role: "option", "data-index": index, "aria-selected": String(index === this.chosen) },
      element("b", { text: option.label }), element("span", { text: option.about }))));
    this.menu.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  },

  hide() {
    this.options = [];
    this.drawMenu();
  },

  accept() {
    this.options[this.chosen]?.insert();
    this.hide();
    this.text.focus();
    this.grow();
  },

  onKey(event) {
    const isOpen = !this.menu.hidden;
    const isCommand = this.text.value.trim().startsWith("{");
    switch (event.key) {
      case "Tab":
        if (!isOpen || event.shiftKey) return;
        event.preventDefault();
        this.accept();
        break;
      case "Enter":
        if (event.shiftKey) return;
        event.preventDefault();
        if (isOpen && !isCommand) this.accept(); else this.send();
        break;
      case "Escape": if (isOpen) this.hide(); else this.text.blur(); break;
      case "ArrowDown": case "ArrowUp": {
        const by = event.key === "ArrowDown" ? 1 : -1;
        if (isOpen) {
          this.chosen = (this.chosen + by + this.options.length) % this.options.length;
          this.drawMenu();
        } else if (!this.text.value.includes("\n")) {
          this.recall(by);
        } else return;
        event.preventDefault();
        break;
      }
      default:
    }
    event.stopPropagation();
  },

  recall(by) {
    if (!this.history.length) return;
    const from = this.place ?? this.history.length;
    this.place = Math.min(this.history.length, Math.max(0, from + by));
    this.text.value = this.history[this.place] ?? "";
    this.grow();
  },

  async send() {
    const text = this.text.value.trim();
    if (!text) return;
    const parsed = parse(text);
    // A line that is not JSON can be sent on purpose, to see what the agent makes of it; but not by accident.
    if (parsed === undefined && this.warned !== text) {
      this.warned = text;
      return this.note("This is not JSON. Enter sends it all the same.", true);
    }
    const line = parsed === undefined ? text.replaceAll("\n", " ") : JSON.stringify(parsed);
    const problem = await source.send(line);
    if (problem) return this.note(problem, true);
    this.history.push(text);
    this.place = null;
    this.next += 1;
    this.text.value = "";
    this.grow();
    this.hide();
    this.note("");
    list.follow(true);
  },

  note(text, isBad = false) {
    $("send-note").textContent = text;
    $("send-note").classList.toggle("bad", isBad);
  },
};

