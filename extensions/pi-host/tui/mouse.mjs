// Passing mouse events to components.

/**
 * Gives the event to the component and returns its result with where it went, or undefined if the
 * component did not take it.
 */
export function dispatchMouseEvent(component, event) {
  const result = component.handleMouse?.(event);
  if (!result) return undefined;
  if ("target" in result) return result;
  if (!result.handled && !result.capture && !result.focus) return undefined;
  const target = {
    component,
    originX: event.screenX - event.x,
    originY: event.screenY - event.y,
    width: event.width,
    height: event.height,
  };
  return { ...result, handled: true, ...(result.focus ? { focusTarget: component } : {}), target };
}

/** Gives the event to the one of the stacked children that is at its row. Heights are measured by rendering. */
export function dispatchToStack(children, event) {
  let top = 0;
  for (const child of children) {
    const height = child.render(event.width).length;
    if (event.y >= top && event.y < top + height) {
      return dispatchMouseEvent(child, { ...event, y: event.y - top, height });
    }
    top += height;
  }
  return undefined;
}
