// What shims and the host's parts need of the host. `main.mjs` connects it before anything else is loaded.

/** The host, as shims see it. Filled in by `connect`. */
export const bridge = {
  state: {},
};

/** Makes the host available to shims. */
export function connect(host) {
  Object.defineProperties(bridge, Object.getOwnPropertyDescriptors(host));
}
