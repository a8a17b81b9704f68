// The conversation as the records tell it. Only messages that have changed are made anew.
const conversation = {
  shown: new Map(),

  draw() {
    const pane = $("conversation");
    if (pane.hidden) return;
    if (!exchange.messages.length) {
      pane.replaceChildren(element("p", { class: "nothing", text: "No messages yet." }));
      return;
    }
    pane.querySelector(".nothing")?.remove();
    const isAtEnd = pane.scrollTop + pane.clientHeight > pane.scrollHeight - 60;
    exchange.messages.forEach((message, index) => {
      const known = this.shown.get(index);
      if (known?.version === message.version) return;
      const made = this.message(message);
      if (known) known.made.replaceWith(made); else pane.append(made);
      this.shown.set(index, { version: message.version, made });
    });
    if (isAtEnd && list.isFollowing && !exchange.isOver) pane.scrollTop = pane.scrollHeight;
  },

  message(message) {
    const name = { user: "User", assistant: "Assistant", note: "Note", system: "System" }[message.role] ?? message.role;
    const link = element("button", { type: "button", class: "link", title: "Go to the record", onclick: () => list.go(message.n) }, exchange.hasTimes ? clock(message.at) : `#${message.n + 1}`);
    const body = message.blocks.map((block) => this.block(block)).filter(Boolean);
    if (message.error) body.push(element("p", { class: "ending", text: message.error }));
    if (message.isOpen) body.push(element("p", { class: "about", text: "…" }));
    return element("section", { class: `message ${message.role === "user" ? "user" : message.role}${message.isBad ? " bad" : ""}` },
      element("header", {}, element("h3", { text: name }), link), ...body);
  },

  block(block) {
    switch (block.form) {
      case "thinking":
        if (!block.text) return null;
        return element("details", { class: "thinking" }, element("summary", {}, "Thinking ", element("span", { text: shorten(block.text.replace(/\s+/g, " "), 80) })), element("div", { class: "words", text: block.text }));
      case "call": return this.call(block);
      case "result": return element("pre", { class: block.isError ? "bad" : "", text: shorten(block.text, 4000) });
      default: return block.text ? element("div", { class: "words", text: block.text }) : null;
    }
  },

  call({ name, args, text, result, isDelta }) {
    const shown = isDelta ? text : argumentsOf(args);
    const state = result ? (result.isError ? "failed" : "") : "";
    const head = element("summary", {}, element("b", { text: name || "tool" }), " ", element("code", { text: shorten(shown.replace(/\s+/g, " "), 160) }),
      state ? element("span", { class: "mark bad", text: state }) : null,
      result?.took !== null && result?.took !== undefined ? element("span", { class: "took", text: duration(result.took) }) : null);
    const fold = element("details", { class: `call ${state}` }, head);
    if (args !== undefined) fold.append(element("pre", { text: shorten(JSON.stringify(args, null, 2), 4000) }));
    if (result) {
      fold.append(element("pre", { class: result.isError ? "bad" : "output", text: shorten(result.text || "(no output)", 8000) }),
        element("button", { type: "button", class: "link", onclick: () => list.go(result.n) }, "Record of the result"));
    }
    return fold;
  },
};

