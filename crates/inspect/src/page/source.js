// Where the records are from: this file, or the server that shows a live exchange.
const source = {
  about: {},
  mode: "saved",
  canAsk: false,
  next: 0,
  dialect: null,

  start() {
    const data = $("about");
    this.mode = data.dataset.mode;
    this.about = parse(data.textContent) ?? {};
    this.canAsk = this.mode === "live";
    $("follow").hidden = !this.canAsk;
    if (this.canAsk) this.poll(); else this.load();
  },

  // Reads the rows of this file in pieces, so that the page can be used meanwhile.
  async load() {
    const text = document.querySelector("script.rows").textContent;
    list.follow(false);
    this.dialect = this.about.dialect;
    this.header = this.about.header;
    let start = 1;
    let rows = [];
    while (start < text.length) {
      const end = text.indexOf("\n", start);
      if (end < 0) break;
      rows.push(parse(text.slice(start, end)));
      start = end + 1;
      if (rows.length === 4000) {
        arrived(rows);
        rows = [];
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
    arrived(rows);
    exchange.finish();
    showState(this.about.saved < this.about.rows ? `saved: the first ${count(this.about.saved, "record")} of ${this.about.rows.toLocaleString("en")}` : "saved");
  },

  // Asks for what follows, again and again.
  async poll() {
    let failures = 0;
    showState("connecting");
    for (;;) {
      let text;
      try {
        const response = await fetch(`records?from=${this.next}`, { cache: "no-store" });
        if (!response.ok) throw new Error(await response.text());
        text = await response.text();
        failures = 0;
      } catch {
        failures += 1;
        if (failures > 3 || exchange.ended) return this.lost();
        await new Promise((resolve) => setTimeout(resolve, 500 * failures));
        continue;
      }
      const [first, ...lines] = text.split("\n");
      const about = parse(first) ?? {};
      this.next = about.next;
      this.header = about.header;
      const isFound = about.dialect && !this.dialect && exchange.records.length > 0;
      this.dialect = about.dialect;
      if (isFound) await this.checkAgain();
      // What is over at once is a recording, which is read from its beginning.
      if (about.isOver && !exchange.records.length) exchange.finish();
      arrived(lines.map(parse).filter(Boolean));
      if (about.dialect) commandBox.know(about.dialect);
      if (about.isOver) {
        exchange.finish();
        $("send").hidden = true;
        $("follow").hidden = true;
        showState(exchange.ended ? "ended" : "recorded");
        return drawAll();
      }
      showState("live");
      if (about.next < about.rows) await new Promise((resolve) => setTimeout(resolve));
    }
  },

  // Asks what is wrong with the records that came before the dialect was known.
  async checkAgain() {
    try {
      const lines = (await (await fetch("records?from=0")).text()).split("\n").slice(1, exchange.records.length + 1);
      lines.forEach((line, n) => exchange.setProblems(n, parse(line)?.problems ?? []));
    } catch { /* They stay unchecked. */ }
  },

  lost() {
    exchange.finish();
    $("send").hidden = true;
    showState("disconnected");
    drawAll();
  },

  async whole(number) {
    try { return parse(await (await fetch(`record?number=${number}`)).text()); } catch { return undefined; }
  },

  async commands() {
    try { return parse(await (await fetch("commands")).text()); } catch { return undefined; }
  },

  // Sends a line to the agent. Returns why that failed, if it did.
  async send(line) {
    try {
      const response = await fetch("send", { method: "POST", body: line, headers: { "Bowline-Token": this.about.token } });
      return response.ok ? "" : (await response.text()).trim();
    } catch {
      return "The inspector does not answer.";
    }
  },
};

