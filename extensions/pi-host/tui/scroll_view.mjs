// A component that may be higher than its place.
//
// On a client's screen all lines are shown, as pi does outside of its full-screen mode; the position is
// kept for extensions that move and read it.

import { Container } from "./container.mjs";

const grey = (text) => `\x1b[90m${text}\x1b[39m`;
const white = (text) => `\x1b[37m${text}\x1b[39m`;

/** Holds one component and a scroll position. */
export class ScrollView extends Container {
  scrollTop = 0;
  viewportHeight = 0;
  isScrollbarVisible = false;
  isScrollbarActive = false;
  #contentHeight = 0;
  #requestRender;

  constructor(component, options = {}) {
    super();
    if ((options.axis ?? "vertical") !== "vertical") throw new Error(`A scroll view cannot scroll along "${options.axis}"`);
    this.children.push(component);
    this.followEnd = options.follow === "end";
    this.isFollowingEnd = this.followEnd;
    this.primary = options.primary ?? false;
    this.overscroll = options.overscroll ?? "chain";
    this.scrollbar = options.scrollbar ?? "hidden";
    this.scrollbarTrackStyle = options.scrollbarTrackStyle ?? grey;
    this.scrollbarThumbStyle = options.scrollbarThumbStyle ?? white;
  }

  get #end() {
    return Math.max(0, this.#contentHeight - this.viewportHeight);
  }

  setScrollbar(scrollbar) {
    if (scrollbar === this.scrollbar) return;
    this.scrollbar = scrollbar;
    this.#requestRender?.();
  }

  setScrollbarActive(active) {
    this.isScrollbarActive = active;
  }

  getContentWidth(width) {
    return this.scrollbar === "always" && width > 1 ? width - 1 : width;
  }

  scrollTo(scrollTop, options = {}) {
    const wanted = Number.isFinite(scrollTop) ? Math.trunc(scrollTop) : this.scrollTop;
    this.#move(wanted, options.disableFollow !== true);
  }

  /** Returns how many of the lines could not be scrolled. */
  scrollBy(lines) {
    const wanted = Number.isFinite(lines) ? Math.trunc(lines) : 0;
    const start = this.isFollowingEnd ? this.#end : this.scrollTop;
    if (wanted !== 0) this.#move(start + wanted, true);
    return wanted === 0 ? 0 : wanted - (this.scrollTop - start);
  }

  scrollToStart() {
    this.#move(0, true);
  }

  scrollToEnd() {
    this.#move(this.#end, true);
  }

  #move(wanted, mayFollow) {
    const before = this.scrollTop;
    this.scrollTop = Math.max(0, Math.min(this.#end, wanted));
    this.isFollowingEnd = mayFollow && this.followEnd && this.scrollTop === this.#end;
    if (this.scrollTop !== before) this.#requestRender?.();
  }

  /** Sets the heights of the content and of its place. */
  updateLayout(contentHeight, viewportHeight, requestRender) {
    this.#contentHeight = Math.max(0, Math.floor(contentHeight));
    this.viewportHeight = Math.max(0, Math.floor(viewportHeight));
    this.#requestRender = requestRender;
    this.scrollTop = this.isFollowingEnd ? this.#end : Math.min(this.scrollTop, this.#end);
    this.isScrollbarVisible = this.scrollbar === "always" && this.viewportHeight > 0;
  }

  addChild() {
    throw new Error("A scroll view has exactly one component");
  }

  removeChild() {
    throw new Error("The component of a scroll view cannot be removed");
  }

  clear() {
    throw new Error("The component of a scroll view cannot be removed");
  }

  render(width) {
    const contentWidth = this.getContentWidth(width);
    const lines = this.children[0].render(contentWidth);
    return contentWidth === width ? lines : lines.map((line) => `${line} `);
  }
}
