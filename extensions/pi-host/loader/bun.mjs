// Bun reads TypeScript itself; only pi's modules are made for it.

import { allSpecifiers, moduleOf, shimOf } from "./specifiers.mjs";

/** Makes Bun find pi's modules. */
export async function installPlugin() {
  const { composedExports } = await import("./composed_exports.mjs");
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
