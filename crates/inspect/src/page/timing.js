// Bars of time, a lane for each kind. Bars that would be thinner than a pixel are drawn as one.
const LANE_HEIGHT = 18;
const MOST_ZOOM = 4000;
const AXIS_HEIGHT = 18;

const timing = {
  zoom: 1,
  marked: null,
  // Bars in the order of time, with a row of their own where they overlap.
  start() {
    const legend = LANES.map(([lane, name, about]) => element("li", { class: lane, title: about, text: name }));
    $("legend").replaceChildren(...legend);
    this.scroll = $("lane-scroll");
    this.canvas = $("lane-canvas");
    this.scroll.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    this.scroll.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoomBy(event.deltaY < 0 ? 1.5 : 1 / 1.5, event.clientX - this.scroll.getBoundingClientRect().left);
    }, { passive: false });
    new ResizeObserver(() => this.drawSoon()).observe(this.scroll);
    $("zoom-in").addEventListener("click", () => this.zoomBy(2));
    $("zoom-out").addEventListener("click", () => this.zoomBy(0.5));
    $("zoom-fit").addEventListener("click", () => this.zoomBy(1 / this.zoom));
  },

  zoomBy(factor, place = this.scroll.clientWidth / 2) {
    const at = (this.scroll.scrollLeft + place) / this.zoom;
    this.zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    this.canvas.style.width = `${this.zoom * 100}%`;
    this.scroll.scrollLeft = at * this.zoom - place;
    this.draw();
  },

  drawSoon() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => { this.isDrawing = false; this.draw(); });
  },

  end() { return Math.max(exchange.end, 1); },

  draw() {
    $("timing").hidden = !exchange.hasTimes;
    if (!exchange.hasTimes) return;
    const width = this.scroll.clientWidth * this.zoom;
    const from = this.scroll.scrollLeft;
    const scale = width / this.end();
    const seen = [from - 50, from + this.scroll.clientWidth + 50];
    const made = [...this.axis(scale, seen)];
    const names = [];
    let top = AXIS_HEIGHT;
    for (const [lane, name] of LANES) {
      if (!exchange.spans[lane].length) continue;
      names.push(element("span", { class: "lane-name", text: name }));
      made.push(...this.lane(lane, top, scale, seen));
      top += LANE_HEIGHT;
    }
    if (this.marked) {
      const line = element("div", { class: "now" });
      line.style.left = `${this.marked.at * scale}px`;
      line.style.height = `${top}px`;
      made.push(line);
    }
    this.canvas.style.height = `${top + 2}px`;
    const focused = document.activeElement?.closest?.("#lane-canvas .bar")?.dataset.n;
    this.canvas.replaceChildren(...made);
    if (focused) this.canvas.querySelector(`.bar[data-n="${focused}"]`)?.focus();
    $("lane-names").replaceChildren(...names);
  },

  *axis(scale, [left, right]) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000];
    const step = steps.find((step) => step * scale >= 80) ?? 7_200_000;
    for (let at = Math.max(0, Math.floor(left / scale / step) * step); at * scale < right && (at === 0 || at * scale < this.end() * scale - 40); at += step) {
      const tick = element("span", { class: "tick", text: at === 0 ? "0" : duration(at).replace(/(\.\d*?)0+ s$/, "$1 s").replace(". s", " s").replace(" 0 s", "") });
      tick.style.left = `${at * scale}px`;
      yield tick;
    }
  },

  *lane(lane, top, scale, [left, right]) {
    let last = null;
    for (const span of exchange.spans[lane]) {
      const end = span.end ?? this.end();
      const [x, width] = [span.start * scale, Math.max((end - span.start) * scale, 3)];
      if (x > right || x + width < left) continue;
      // Drawn as a part of the one before.
      if (last && x + width - last.x - last.width < 2 && x < last.x + last.width + 1) continue;
      const took = duration(end - span.start);
      const bar = element("button", {
        type: "button", class: `bar ${lane}${span.isBad ? " bad" : ""}${span.end === null ? " open" : ""}`, "data-n": span.n,
        title: `${span.label}: ${took}${span.first !== null && span.first > span.start ? `, the first record after ${duration(span.first - span.start)}` : ""}`,
        "aria-label": `${span.label}, ${took}`,
        onclick: () => list.go(span.n),
      });
      bar.style.left = `${x}px`;
      bar.style.top = `${top}px`;
      bar.style.width = `${width}px`;
      if (span.first !== null && width > 6) {
        const wait = element("i", {});
        wait.style.width = `${Math.min(100, ((span.first - span.start) / Math.max(end - span.start, 0.001)) * 100)}%`;
        bar.append(wait);
      }
      if (width > 60) bar.append(element("span", { text: span.label }));
      last = { x, width };
      yield bar;
    }
  },

  // Marks the time of a record.
  mark(record) {
    this.marked = record;
    if (exchange.hasTimes) {
      const x = (record.at / this.end()) * this.scroll.clientWidth * this.zoom;
      if (x < this.scroll.scrollLeft || x > this.scroll.scrollLeft + this.scroll.clientWidth) this.scroll.scrollLeft = x - this.scroll.clientWidth / 2;
    }
    this.drawSoon();
  },
};

