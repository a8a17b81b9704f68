// Components that hold others.

import { dispatchMouseEvent, dispatchToStack } from "./mouse.mjs";
import { visibleWidth } from "./width.mjs";

/** Marks the place of the text cursor in a rendered line; takes no column. */
export const CURSOR_MARKER = "\x1b_pi:c\x07";

/** Returns whether the component takes the focus. */
export function isFocusable(component) {
  return component !== null && component !== undefined && "focused" in component;
}

/** Has children. */
class Parent {
  children = [];

  addChild(component) {
    this.children.push(component);
  }

  removeChild(component) {
    const index = this.children.indexOf(component);
    if (index >= 0) this.children.splice(index, 1);
  }

  clear() {
    this.children = [];
  }

  invalidate() {
    for (const child of this.children) child.invalidate?.();
  }
}

/** Shows its children one under another. */
export class Container extends Parent {
  handleMouse(event) {
    if (event.y < 0 || event.y >= event.height) return undefined;
    const result = dispatchToStack(this.children, event);
    return result?.focus && this.handleInput ? { ...result, focusTarget: this } : result;
  }

  render(width) {
    return this.children.flatMap((child) => child.render(width));
  }
}

/** Shows its children one under another, with space around them and a background. */
export class Box extends Parent {
  constructor(paddingX = 1, paddingY = 1, bgFn) {
    super();
    this.paddingX = paddingX;
    this.paddingY = paddingY;
    this.bgFn = bgFn;
  }

  setBgFn(bgFn) {
    this.bgFn = bgFn;
  }

  #contentWidth(width) {
    return Math.max(1, width - this.paddingX * 2);
  }

  handleMouse(event) {
    const width = this.#contentWidth(event.width);
    const x = event.x - this.paddingX;
    const y = event.y - this.paddingY;
    if (x < 0 || x >= width || y < 0) return undefined;
    return dispatchToStack(this.children, { ...event, x, y, width });
  }

  render(width) {
    const content = this.children.flatMap((child) => child.render(this.#contentWidth(width)));
    if (content.length === 0) return [];
    const left = " ".repeat(this.paddingX);
    const around = Array(this.paddingY).fill("");
    return [...around, ...content.map((line) => left + line), ...around].map((line) => {
      const padded = line + " ".repeat(Math.max(0, width - visibleWidth(line)));
      return this.bgFn ? this.bgFn(padded) : padded;
    });
  }
}

/** Gives a component a handler for mouse events that it does not take itself. */
export class MouseRegion {
  #child;
  #onMouse;

  constructor(child, onMouse) {
    this.#child = child;
    this.#onMouse = onMouse;
  }

  render(width) {
    return this.#child.render(width);
  }

  handleMouse(event) {
    return dispatchMouseEvent(this.#child, event) ?? this.#onMouse(event);
  }

  invalidate() {
    this.#child.invalidate?.();
  }
}
