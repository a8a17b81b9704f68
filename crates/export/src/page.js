// The behaviour of an exported session. All text is already in the page, escaped; nothing here turns text into HTML.
// Without this script the current branch can still be read, folded and printed.
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);

  // ── Panel ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const isWide = matchMedia("(min-width: 60rem)");

  function showPanel(isShown) {
    root.classList.toggle("panel", isShown);
    $("show-panel")?.setAttribute("aria-expanded", String(isShown));
    if (isShown) markPlace();
  }

  root.classList.add("js");
  // The bar names the session only once its heading is out of sight.
  if (!location.hash) root.classList.add("at-top");
  root.classList.toggle("panel", isWide.matches);

  // ── Branches ──────────────────────────────────────────────────────────────────────────────────────────────────
  // A segment is a run of entries without a fork. Those of the displayed branch are in the conversation, the others
  // in templates, or here once they have been displayed.
  const segments = new Map();
  let conversation;
  let shown = [];

  function collectSegments() {
    conversation = $("conversation");
    for (const section of conversation.querySelectorAll(":scope > section")) {
      segments.set(section.dataset.segment, section);
      shown.push(section.dataset.segment);
    }
    for (const template of document.querySelectorAll("template[data-segment]")) {
      segments.set(template.dataset.segment, template.content.firstElementChild);
    }
  }

  function pathTo(number) {
    const path = [];
    for (let next = number; next !== undefined; next = segments.get(next).dataset.parent) path.unshift(next);
    return path;
  }

  function showBranch(leaf) {
    const path = pathTo(leaf);
    const common = path.findIndex((number, index) => shown[index] !== number);
    const from = common < 0 ? path.length : common;
    for (const number of shown.slice(from)) segments.get(number).remove();
    for (const number of path.slice(from)) {
      const section = segments.get(number);
      conversation.append(section);
      showLocalTimes(section);
    }
    shown = path;
    markBranch();
    forgetPlaces();
    if (search.text) search.run();
  }

  function markBranch() {
    for (const list of document.querySelectorAll("#panel [data-outline]")) {
      list.classList.toggle("active", shown.includes(list.dataset.outline));
    }
  }

  // Returns the element of an entry, after displaying its branch.
  function reveal(id) {
    let element = document.getElementById(id);
    if (element) return element;
    for (const section of segments.values()) {
      if (section.isConnected) continue;
      element = section.querySelector("#" + CSS.escape(id));
      if (element) {
        showBranch(section.dataset.leaf);
        return element;
      }
    }
    return null;
  }

  function openFolds(element) {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }

  function followAddress() {
    let id;
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    if (!id) return;
    const wasElsewhere = !document.getElementById(id);
    const element = reveal(id);
    if (!element) return;
    openFolds(element);
    // The browser only marks the element as the target if it went there by itself.
    if (wasElsewhere && id.startsWith("entry-")) location.replace("#" + encodeURIComponent(id));
    steady(element, "start");
    if (!isWide.matches) showPanel(false);
  }

  // Scrolls to an element. Elements in between get their true height only when they become visible, so this is repeated
  // for a few frames, unless the reader scrolls.
  let destination = null;

  function steady(element, block, frames = 5) {
    destination = element;
    element.scrollIntoView({ block });
    if (frames) requestAnimationFrame(() => { if (destination === element) steady(element, block, frames - 1); });
  }

  // ── Places: the current message ─────────────────────────────────────────────────────────────────────────────
  let places = null;

  function forgetPlaces() { places = null; }

  function articles() {
    places ??= [...conversation.querySelectorAll("article")];
    return places;
  }

  function barHeight() { return $("bar").offsetHeight; }

  // Articles are in order, so a binary search finds the first one that ends below the bar.
  function currentIndex() {
    const list = articles();
    const line = barHeight() + 20;
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].getBoundingClientRect().bottom > line) high = middle; else low = middle + 1;
    }
    return low;
  }

  function step(direction, selector) {
    const list = articles();
    const line = barHeight() + 20;
    let index = currentIndex();
    if (direction < 0 && list[index]?.getBoundingClientRect().top < line - 8) index += 1;
    for (index += direction; index >= 0 && index < list.length; index += direction) {
      if (list[index].matches(selector)) return steady(list[index], "start");
    }
  }

  function stepBranch(direction) {
    const line = barHeight() + 20;
    const forks = [...conversation.querySelectorAll(".fork")];
    const below = forks.find((fork) => fork.getBoundingClientRect().bottom > line);
    const fork = below ?? forks.at(-1);
    const link = direction < 0 ? fork?.firstElementChild : fork?.lastElementChild;
    if (link?.href) location.hash = link.hash;
  }

  let isMarking = false;

  function markPlace() {
    if (isMarking || !root.classList.contains("panel")) return;
    isMarking = true;
    requestAnimationFrame(() => {
      isMarking = false;
      const list = articles();
      const links = new Map();
      for (const link of document.querySelectorAll("#panel .active a")) links.set(link.hash.slice(1), link);
      document.querySelector("#panel a[aria-current]")?.removeAttribute("aria-current");
      for (let index = currentIndex(); index >= 0; index -= 1) {
        const link = links.get(list[index]?.id);
        if (!link) continue;
        link.setAttribute("aria-current", "true");
        keepInSight(link);
        return;
      }
    });
  }

  function keepInSight(link) {
    const panel = $("panel");
    const { top, bottom } = link.getBoundingClientRect();
    const frame = panel.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom) panel.scrollTop += top - frame.top - frame.height / 3;
  }

  // ── Search ────────────────────────────────────────────────────────────────────────────────────────────────────
  // Covers the content, not the controls. Matches are marked with the browser's highlights, which do not change the page;
  // without highlights, the message with the match is outlined.
  const MOST_MARKED = 5000;
  const canMark = typeof Highlight === "function" && CSS.highlights;

  // Not a tree walker with a filter, which takes several times as long.
  function textNodes(element, nodes = []) {
    for (let node = element.firstChild; node; node = node.nextSibling) {
      if (node.nodeType === Node.TEXT_NODE) nodes.push(node);
      else if (!node.className.includes("chrome")) textNodes(node, nodes);
    }
    return nodes;
  }

  // Some letters have more characters in lower case, which would shift positions; they are left as they are.
  function folded(text) {
    const lower = text.toLowerCase();
    if (lower.length === text.length) return lower;
    return [...text].map((letter) => {
      const small = letter.toLowerCase();
      return small.length === letter.length ? small : letter;
    }).join("");
  }

  const foldedTexts = new WeakMap();

  function foldedText(article) {
    let text = foldedTexts.get(article);
    if (text === undefined) {
      text = folded(textNodes(article).map((node) => node.data).join(""));
      foldedTexts.set(article, text);
    }
    return text;
  }

  function positions(article, needle) {
    const text = foldedText(article);
    const found = [];
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) found.push(at);
    return found;
  }

  function ranges(article, starts, length) {
    const nodes = textNodes(article);
    const result = [];
    let index = 0;
    let offset = 0;
    const locate = (position) => {
      while (index < nodes.length - 1 && position > offset + nodes[index].length) {
        offset += nodes[index].length;
        index += 1;
      }
      return [nodes[index], position - offset];
    };
    for (const start of starts) {
      const range = new Range();
      // A match begins in the node of its first letter, not at the end of the previous node.
      const [first, after] = locate(start + 1);
      range.setStart(first, after - 1);
      range.setEnd(...locate(start + length));
      result.push(range);
    }
    return result;
  }

  const search = {
    text: "",
    matches: [],
    current: -1,

    run() {
      const needle = folded($("search-text").value.trim());
      this.text = needle;
      this.matches = [];
      this.current = -1;
      this.elsewhere = null;
      if (needle) {
        for (const article of articles()) {
          const found = positions(article, needle);
          if (found.length) this.matches.push(...found.map((start) => ({ article, start })));
        }
        this.findElsewhere(needle);
      }
      this.mark();
      this.report();
    },

    // Records the first hidden segment with a match, and the number of messages with matches in hidden segments.
    findElsewhere(needle) {
      let count = 0;
      for (const section of segments.values()) {
        if (section.isConnected) continue;
        for (const article of section.querySelectorAll("article")) {
          if (!foldedText(article).includes(needle)) continue;
          count += 1;
          this.elsewhere ??= { section };
        }
      }
      if (this.elsewhere) this.elsewhere.count = count;
    },

    mark() {
      if (!canMark) return;
      CSS.highlights.clear();
      const byArticle = new Map();
      for (const match of this.matches.slice(0, MOST_MARKED)) {
        if (!byArticle.has(match.article)) byArticle.set(match.article, []);
        byArticle.get(match.article).push(match);
      }
      const highlight = new Highlight();
      for (const [article, matches] of byArticle) {
        const made = ranges(article, matches.map((match) => match.start), this.text.length);
        made.forEach((range, index) => {
          matches[index].range = range;
          highlight.add(range);
        });
      }
      CSS.highlights.set("found", highlight);
    },

    go(direction) {
      if (!this.matches.length) return;
      const count = this.matches.length;
      this.current = this.current < 0 ? this.nearest(direction) : (this.current + direction + count) % count;
      const match = this.matches[this.current];
      match.range ??= ranges(match.article, [match.start], this.text.length)[0];
      const element = match.range.startContainer.parentElement;
      openFolds(element);
      if (canMark) {
        const highlight = new Highlight(match.range);
        highlight.priority = 1;
        CSS.highlights.set("current", highlight);
      } else {
        document.querySelector(".found-here")?.classList.remove("found-here");
        match.article.classList.add("found-here");
      }
      steady(element, "center");
      this.report();
    },

    // The first match from the current position on.
    nearest(direction) {
      const here = articles()[currentIndex()];
      const isBefore = (match) => match.article.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_FOLLOWING;
      const index = this.matches.findIndex((match) => !isBefore(match));
      if (direction < 0) return (index < 0 ? this.matches.length : index || this.matches.length) - 1;
      return index < 0 ? 0 : index;
    },

    report() {
      const count = this.matches.length;
      const place = this.current < 0 ? String(count) : `${this.current + 1}/${count}`;
      $("search-count").textContent = this.text ? place : "";
      const button = $("search-elsewhere");
      button.hidden = !this.elsewhere;
      if (this.elsewhere) {
        button.textContent = `+${this.elsewhere.count}`;
        button.title = `Messages with a match on other branches: ${this.elsewhere.count}. Show the first.`;
      }
    },

    goElsewhere() {
      if (!this.elsewhere) return;
      const { section } = this.elsewhere;
      showBranch(section.dataset.leaf);
      this.current = this.matches.findIndex((match) => section.contains(match.article)) - 1;
      if (this.current === -1) this.current = this.matches.length - 1;
      this.go(1);
    },

    clear() {
      $("search-text").value = "";
      this.run();
      $("search-text").blur();
    },
  };

  // ── Folds ─────────────────────────────────────────────────────────────────────────────────────────────────────
  let closedForPrint = [];

  function toggleFolds() {
    const folds = [...conversation.querySelectorAll("details")];
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
  }

  function openForPrint() {
    closedForPrint = [...document.querySelectorAll("#middle details:not([open])")];
    for (const fold of closedForPrint) fold.open = true;
  }

  function closeAfterPrint() {
    for (const fold of closedForPrint) fold.open = false;
    closedForPrint = [];
  }

  // ── Controls ─────────────────────────────────────────────────────────────────────────────────────────────────
  const clockTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const shortTime = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const longTime = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const withLocalTime = new WeakSet();

  // The day is shown if it is not the first day of the session.
  let firstDay;

  function showLocalTimes(within) {
    for (const element of within.querySelectorAll("time")) {
      if (withLocalTime.has(element)) continue;
      withLocalTime.add(element);
      const time = new Date(element.dateTime);
      if (Number.isNaN(time.getTime())) continue;
      const isFirst = firstDay === undefined;
      firstDay ??= time.toDateString();
      element.textContent = (isFirst || time.toDateString() !== firstDay ? shortTime : clockTime).format(time);
    }
  }

  function explainTime(event) {
    const element = event.target;
    if (element.localName === "time" && !element.title) element.title = longTime.format(new Date(element.dateTime));
  }

  async function copyCode(button) {
    const text = button.parentElement.querySelector("pre").textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  function linkHere() {
    const article = articles()[currentIndex()];
    if (article) history.replaceState(null, "", "#" + article.id);
  }

  const keys = {
    "/": () => { $("search-text").focus(); $("search-text").select(); },
    n: () => search.go(1),
    N: () => search.go(-1),
    j: () => step(1, ".message"),
    k: () => step(-1, ".message"),
    u: () => step(1, ".user"),
    i: () => step(-1, ".user"),
    "]": () => stepBranch(1),
    "[": () => stepBranch(-1),
    l: linkHere,
    b: () => showPanel(!root.classList.contains("panel")),
    e: toggleFolds,
    t: theme.toggle,
    g: () => scrollTo(0, 0),
    G: () => steady($("end"), "end"),
    "?": () => $("help").showModal(),
    Escape: () => { if (search.text) search.clear(); else if (!isWide.matches) showPanel(false); },
  };

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    if (event.target.matches("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") search.clear();
      return;
    }
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }

  function start() {
    collectSegments();
    markBranch();
    showLocalTimes(document);
    showPanel(isWide.matches);

    let waiting;
    $("search-text").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => search.run(), 150);
    });
    $("search").addEventListener("submit", (event) => event.preventDefault());
    $("search-text").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      clearTimeout(waiting);
      if (folded($("search-text").value.trim()) !== search.text) search.run();
      search.go(event.shiftKey ? -1 : 1);
    });
    $("search-next").addEventListener("click", () => search.go(1));
    $("search-previous").addEventListener("click", () => search.go(-1));
    $("search-elsewhere").addEventListener("click", () => search.goElsewhere());
    $("theme").addEventListener("click", theme.toggle);
    $("folds").addEventListener("click", toggleFolds);
    $("show-help").addEventListener("click", () => $("help").showModal());
    $("show-panel").addEventListener("click", () => showPanel(!root.classList.contains("panel")));
    isWide.addEventListener("change", () => showPanel(isWide.matches));
    document.addEventListener("keydown", onKey);
    document.addEventListener("click", (event) => {
      const button = event.target.closest?.(".copy");
      if (button) copyCode(button);
      // Clicking the link to the current place does not change the address, but should still scroll.
      const link = event.target.closest?.('a[href^="#"]');
      if (link && link.hash === location.hash) followAddress();
      if (!isWide.matches && root.classList.contains("panel") && !event.target.closest?.("#panel, #bar")) showPanel(false);
    });
    for (const name of ["wheel", "touchmove", "keydown"]) {
      addEventListener(name, () => { destination = null; }, { passive: true, capture: true });
    }
    const markTop = ([top]) => root.classList.toggle("at-top", top.isIntersecting);
    new IntersectionObserver(markTop, { rootMargin: `-${$("bar").offsetHeight}px 0px 0px` }).observe($("top"));
    document.addEventListener("pointerover", explainTime);
    document.addEventListener("scroll", markPlace, { passive: true });
    addEventListener("hashchange", followAddress);
    addEventListener("beforeprint", openForPrint);
    addEventListener("afterprint", closeAfterPrint);
    followAddress();
  }

  document.addEventListener("DOMContentLoaded", start);
})();
