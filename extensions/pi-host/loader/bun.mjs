// Bun reads TypeScript itself; only pi's modules are made for it.

import { composedExports } from "./composed_exports.mjs";
import { allSpecifiers, moduleOf, shimOf } from "./specifiers.mjs";

/** Makes Bun find pi's modules. */
export function installPlugin() {
  globalThis.Bun.plugin({
    name: "pi-modules",
    setup(build) {
      for (const specifier of allSpecifiers()) {
        const module = moduleOf(specifier);
        build.module(specifier, async () => {
          const shim = shimOf(module);
          return { exports: composedExports(module, shim ? await import(shim) : {}), loader: "object" };
        });
      }
    },
  });
}
