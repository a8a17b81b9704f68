// Curves of tokens and cost, and totals. A step for every answer of the model.
const usage = {
  draw() {
    const pane = $("usage");
    if (pane.hidden) return;
    const points = exchange.usage;
    if (!points.length) {
      pane.replaceChildren(element("p", { class: "nothing", text: "No answer of a model has told its tokens yet." }));
      return;
    }
    const last = points.at(-1);
    const sum = (name) => points.reduce((sum, point) => sum + point[name], 0);
    const totals = [
      ["Answers", points.length.toLocaleString("en")], ["Input", tokens(sum("input"))], ["Output", tokens(last.totalOutput)],
      ["Cache read", tokens(sum("cacheRead"))], ["Cache written", tokens(sum("cacheWrite"))], ["Cost", last.totalCost ? dollars(last.totalCost) : "$0"],
      ["Model time", duration(this.time("model"))], ["Tool time", duration(this.time("tools"))],
    ];
    pane.replaceChildren(
      element("dl", { class: "totals" }, ...totals.map(([name, value]) => element("div", {}, element("dt", { text: name }), element("dd", { text: value })))),
      this.curve("Context per answer", "tokens of input with the cache", points, "context", tokens),
      this.curve("Output so far", "tokens", points, "totalOutput", tokens),
      ...(last.totalCost ? [this.curve("Cost so far", "dollars", points, "totalCost", dollars)] : []),
    );
  },

  // How long a lane was busy; what overlaps counts once.
  time(lane) {
    let [sum, until] = [0, 0];
    for (const { start, end } of exchange.spans[lane]) {
      const last = end ?? exchange.end;
      if (last > until) {
        sum += last - Math.max(start, until);
        until = last;
      }
    }
    return sum;
  },

  curve(title, unit, points, name, format) {
    // As wide as the pane, so that the labels are as large as other text.
    const width = Math.max(280, Math.min(704, $("usage").clientWidth - 32));
    const [height, left, bottom] = [130, 50, 18];
    const most = Math.max(...points.map((point) => point[name])) || 1;
    const end = Math.max(exchange.hasTimes ? exchange.end : points.length, 0.001);
    const x = (point, index) => left + ((exchange.hasTimes ? point.at : index + 1) / end) * (width - left - 8);
    const y = (value) => 8 + (1 - value / most) * (height - bottom - 8);
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${format(points.at(-1)[name])} at the end` });
    for (const part of [0, 0.5, 1]) {
      const line = shape("line", { x1: left, x2: width - 8, y1: y(most * part), y2: y(most * part), class: "grid" });
      const label = shape("text", { x: left - 6, y: y(most * part) + 4, class: "label" });
      label.textContent = format(most * part);
      svg.append(line, label);
    }
    let path = `M ${left} ${y(0)}`;
    points.forEach((point, index) => { path += ` H ${x(point, index)} V ${y(point[name])}`; });
    path += ` H ${width - 8}`;
    svg.append(shape("path", { d: `${path} V ${y(0)} Z`, class: "area" }), shape("path", { d: path, class: "line" }));
    // As many points as can be told apart.
    const stride = Math.ceil(points.length / 120);
    points.forEach((point, index) => {
      if (index % stride && index !== points.length - 1) return;
      const dot = shape("circle", { cx: x(point, index), cy: y(point[name]), r: 3, class: "dot" });
      const about = shape("title", {});
      about.textContent = `${format(point[name])}, record ${point.n + 1}`;
      dot.append(about);
      dot.addEventListener("click", () => list.go(point.n));
      svg.append(dot);
    });
    const foot = shape("text", { x: width - 8, y: height - 3, class: "label" });
    foot.textContent = exchange.hasTimes ? duration(end) : count(points.length, "answer");
    svg.append(foot);
    return element("figure", { class: "curve" }, element("figcaption", {}, element("b", { text: title }), element("span", { class: "about", text: ` ${unit}` })), svg);
  },
};

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

