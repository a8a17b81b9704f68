// How modules of extensions are found, read and linked.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isWorthJiti } from "../../../extensions/pi-host/loader/factory.mjs";
import { isModule, withCommonNames, withoutUnusedImports } from "../../../extensions/pi-host/loader/typescript.mjs";
import { withHost } from "./fake_engine.mjs";

/** Bun has a loader of its own, which only takes pi's modules by their names. */
const skip = process.env.PI_HOST_RUNTIME?.endsWith("bun") ? "it is about Node's loader" : false;

/** Extensions by what they show: the files, and what the command `show` notifies of. */
const CASES = {
  "typescript with enums, namespaces and parameter properties": {
    files: {
      "a.ts": `enum Color { Red = 1, Green }
        namespace Inner { export const value: number = 2; }
        class Point { constructor(public x: number, private readonly y = 3) {} sum(): number { return this.x + this.y; } }
        export default function (pi: any): void { pi.registerCommand("show", { handler: async (_: string, ctx: any) => ctx.ui.notify([Color.Green, Inner.value, new Point(1).sum()].join()) }); }`,
    },
    shown: "2,2,4",
  },
  "imports by the compiled name, without an ending, and of a folder": {
    files: {
      "a.ts": `import { one } from "./one.js"; import { two } from "./two"; import { three } from "./three"; import four from "./four.mjs"; import { five } from ".";
        export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([one, two, three, four, five].join()) });`,
      "one.ts": `export const one: number = 1;`,
      "two.ts": `export const two = 2;`,
      "three/index.ts": `export const three = 3;`,
      "four.mts": `export default 4;`,
      "index.ts": `export const five = 5;`,
    },
    shown: "1,2,3,4,5",
  },
  "types that modules imported later take from others": {
    isOfNode: true,
    files: {
      "a.ts": `import { state } from "./state";
        export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => { state.count += 1; const later = await import("./later"); ctx.ui.notify(later.report()); } });`,
      "state.ts": `export const state = { count: 0 };`,
      "later.ts": `import { state } from "./state"; import { Verdict, judge /* a Verdict */ } from "./all.js";
        export { Verdict, Level as Kind } from "./verdict.js"; export const report = (verdict: Verdict = judge()): string => "Verdict " + verdict + state.count;`,
      "all.ts": `export * from "./verdict"; export * from "./later";`,
      "verdict.ts": `export type Verdict = string; export interface Level {}\nexport const judge = (): Verdict => "fine",\n  other = 1;`,
    },
    shown: "Verdict fine1",
  },
  "JSON with and without an attribute": {
    files: {
      "a.ts": `import one from "./data.json"; import two from "./data.json" with { type: "json" }; import { createRequire } from "node:module";
        export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([one.x, two.x, createRequire(import.meta.url)("./data.json").x].join()) });`,
      "data.json": `{"x":1}`,
    },
    shown: "1,1,1",
  },
  "types that are imported without saying so": {
    files: {
      "a.ts": `import { Shape, area } from "./shape";
        import Config from "./config";
        import type { Other } from "./missing";
        import { Gone } from "not-installed";
        import { Shape as Again, default as config } from "./both";
        const shape: Shape & Again = { side: 2 }; const options: Config | Gone = {};
        export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([area(shape), config].join()) });`,
      "shape.ts": `export interface Shape { side: number } export const area = (shape: Shape) => shape.side ** 2;`,
      "config.ts": `interface Config { x?: 1 } export type { Config as default };`,
      "both.ts": `export interface Shape { side: number } export default "config";`,
    },
    shown: "4,config",
  },
  "types that are exported again": {
    isOfNode: true,
    files: {
      "a.ts": `import { make } from "./index.js"; export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify(make().x) });`,
      "index.ts": `export { Shape, Point, make } from "./shape.js"; import { Line } from "./shape.js"; export { Line };`,
      "shape.ts": `export interface Shape { x: string } export type Point = Shape; export interface Line {} export const make = (): Shape => ({ x: "made" });`,
    },
    shown: "made",
  },
  "names of CommonJS in modules": {
    files: {
      "a.ts": `import { basename } from "node:path"; const { join } = require("node:path"); const local = require("./local.cjs");
        export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([basename(__filename), join(__dirname, "x") === join(import.meta.dirname, "x"), local.x].join()) });`,
      "local.cjs": `module.exports = { x: 7 };`,
    },
    shown: "a.ts,true,7",
  },
  "a module of CommonJS": {
    entries: ["a.js"],
    files: { "a.js": `module.exports = (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify("common") });` },
    shown: "common",
  },
  "a module in JavaScript that uses both": {
    entries: ["a.js"],
    files: { "a.js": `import { sep } from "node:path"; const { basename } = require("node:path"); export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify(basename("x/y") + sep) });` },
    shown: "y/",
  },
  "typescript below node_modules, and dependencies in JavaScript": {
    entries: ["node_modules/pkg/a.ts"],
    id: "node_modules/pkg/a",
    files: {
      "node_modules/pkg/package.json": `{"name":"pkg","pi":{"extensions":["./a.ts"]}}`,
      "node_modules/pkg/a.ts": `import { helper } from "lib"; import cjs from "cjs"; import { named } from "cjs";
        export default (pi: unknown) => (pi as any).registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([helper(), cjs.named, named].join()) });`,
      "node_modules/lib/package.json": `{"name":"lib","type":"module","exports":"./index.js"}`,
      "node_modules/lib/index.js": `export const helper = () => "lib";`,
      "node_modules/cjs/index.js": `exports.named = "cjs";`,
    },
    shown: "lib,cjs,cjs",
  },
  "a library's own typebox is its own": {
    isOfNode: true,
    files: {
      "a.ts": `import { kind } from "lib"; import * as ours from "@sinclair/typebox"; export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([kind, "kind" in ours].join()) });`,
      "node_modules/lib/package.json": `{"name":"lib","type":"module","exports":"./index.js"}`,
      "node_modules/lib/index.js": `export { kind } from "@sinclair/typebox";`,
      "node_modules/@sinclair/typebox/package.json": `{"name":"@sinclair/typebox","type":"module","exports":"./index.js"}`,
      "node_modules/@sinclair/typebox/index.js": `export const kind = "own";`,
    },
    shown: "own,false",
  },
  "pi's modules in both scopes, deep in them, and their types": {
    isOfNode: true,
    files: {
      "a.ts": `import * as one from "@earendil-works/pi-coding-agent"; import * as two from "@mariozechner/pi-coding-agent"; import { ExtensionAPI } from "@mariozechner/pi-coding-agent";
        import * as deep from "@mariozechner/pi-coding-agent/dist/core/tools.js"; import * as ai from "@mariozechner/pi-ai/compat";
        export { ExtensionContext } from "@earendil-works/pi-coding-agent";
        export default (pi: ExtensionAPI) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([one === two, one === deep, "createAgentSession" in one, "StringEnum" in ai].join()) });`,
    },
    shown: "true,true,true,true",
  },
  "names that a package maps to paths, and paths in packages, without an ending": {
    files: {
      "package.json": `{"name":"x","type":"module","imports":{"#src/*":"./src/*"}}`,
      "a.ts": `import { one } from "#src/one"; import { two } from "lib/two"; export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify([one, two].join()) });`,
      "src/one.ts": `export const one: number = 1;`,
      "node_modules/lib/package.json": `{"name":"lib","type":"module"}`,
      "node_modules/lib/two.js": `export const two = 2;`,
    },
    shown: "1,2",
  },
  "top-level await and dynamic imports": {
    files: {
      "a.ts": `const { value } = await import("./late"); export default (pi) => pi.registerCommand("show", { handler: async (_, ctx) => ctx.ui.notify(value + (await import("./late.js")).value) });`,
      "late.ts": `export const value: string = "late";`,
    },
    shown: "latelate",
  },
};

for (const [name, { files, entries = ["a.ts"], id = "a", shown, isOfNode }] of Object.entries(CASES)) {
  test(`loads ${name}`, { skip: isOfNode && skip }, async () => {
    await withHost(
      files,
      async (engine) => {
        assert.deepEqual(engine.registered.errors, []);
        const { error } = await engine.command("show", "", id);
        assert.equal(error, undefined);
        assert.equal(engine.of("notify")[0].params.message, shown);
      },
      { entries, environment: { npm_config_registry: "http://127.0.0.1:9" } },
    );
  });
}

test("sources are transformed once", { skip }, async () => {
  const cache = mkdtempSync(join(tmpdir(), "pi-host-cache-"));
  const files = { "a.ts": `export default (pi: any) => { pi.registerCommand("x", { handler() {} }); };` };
  const cached = () => readdirSync(join(cache, "sources"), { recursive: true }).filter((name) => name.endsWith(".js"));
  try {
    await withHost(files, () => {}, { environment: { BOWLINE_PI_CACHE: cache } });
    const [name, ...others] = cached();
    assert.deepEqual(others, []);
    writeFileSync(join(cache, "sources", name), `export default (pi) => { pi.registerCommand("cached", { handler() {} }); };`);
    await withHost(
      files,
      (engine) => assert.equal(engine.registered.extensions[0].commands[0].name, "cached"),
      { environment: { BOWLINE_PI_CACHE: cache } },
    );
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});

const JSX = `export default (pi: any) => { const element = <b>x</b>; };`;

test("what Node cannot load is tried with jiti, and both reasons are given if that cannot be had", { skip }, async () => {
  const environment = { npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };
  await withHost(
    { "a.tsx": JSX },
    (engine) => {
      const [{ ext, error }] = engine.registered.errors;
      assert.equal(ext, "a");
      assert.match(error, /a\.tsx: .+ \(another loader, jiti, may be able to load it, but could not be installed: /);
    },
    { environment },
  );
});

test("jiti is used if it is there", { skip }, async () => {
  const cache = mkdtempSync(join(tmpdir(), "pi-host-cache-"));
  const folder = join(cache, "jiti", "node_modules", "jiti");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(cache, "jiti", "package.json"), "{}");
  writeFileSync(join(folder, "package.json"), `{"name":"jiti","type":"module","exports":"./index.js"}`);
  const standIn = `export const createJiti = (from, { virtualModules }) => ({
    import: async (path) => ({ default: (pi) => pi.registerCommand("by-jiti", { description: typeof virtualModules["@mariozechner/pi-ai"], handler() {} }) }) });`;
  writeFileSync(join(folder, "index.js"), standIn);
  try {
    await withHost(
      { "a.tsx": JSX },
      (engine) => assert.deepEqual(engine.registered.extensions[0]?.commands, [{ name: "by-jiti", description: "object" }], JSON.stringify(engine.registered)),
      { environment: { BOWLINE_PI_CACHE: cache } },
    );
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});

test("only errors of linking and reading are tried again", () => {
  const coded = (code) => Object.assign(new Error("x"), { code });
  const cases = [
    [new SyntaxError("The requested module './x' does not provide an export named 'X'"), true],
    [coded("ERR_INVALID_TYPESCRIPT_SYNTAX"), true],
    [coded("ERR_REQUIRE_ASYNC_MODULE"), true],
    [coded("ERR_PACKAGE_PATH_NOT_EXPORTED"), true],
    [new ReferenceError("require is not defined in ES module scope"), true],
    [new ReferenceError("module is not defined"), true],
    [new ReferenceError("something is not defined"), false],
    [new TypeError("x is not a function"), false],
    [coded("ERR_MODULE_NOT_FOUND"), false],
    [coded("ENOENT"), false],
    ["text", false],
    [undefined, false],
  ];
  for (const [error, expected] of cases) assert.equal(isWorthJiti(error), expected, String(error));
});

test("names in imports that are not used are removed", () => {
  const cases = [
    [`import { A, B } from "x"; B();`, `import {    B } from "x"; B();`],
    [`import { A } from "x"; f();`, `                        f();`],
    [`import D, { A } from "x"; D();`, `import D from "x"; D();`],
    [`import D, { A } from "x"; A();`, `import { A } from "x"; A();`],
    [`import * as N from "x"; f();`, `                        f();`],
    [`import { A as B } from "x"; A();`, `                             A();`],
    [`import "x"; f();`, `import "x"; f();`],
    [`import { A } from "x"; const t = "A";`, `import { A } from "x"; const t = "A";`],
    [`import { A } from "x";\n// A is a type\n`, `                       \n// A is a type\n`],
    [`import {\n  A,\n  B,\n} from "x"; B();`, `import {\n    \n  B,\n} from "x"; B();`],
  ];
  for (const [source, expected] of cases) {
    const result = withoutUnusedImports(source);
    assert.equal(result.replace(/\s+/g, " "), expected.replace(/\s+/g, " "), source);
    assert.equal(result.split("\n").length, source.split("\n").length, source);
  }
});

test("names of CommonJS are only added where they are missing", () => {
  assert.equal(withCommonNames("f();"), "f();");
  assert.match(withCommonNames("require('x');"), /^import \{ createRequire as \S+ \} from "node:module"; var require = /);
  for (const source of [
    "const require = createRequire(import.meta.url); require('x')",
    "const __dirname = dirname(x); __dirname;",
    "function require() {} require()",
  ]) {
    assert.equal(withCommonNames(source), source);
  }
  assert.equal(isModule("module.exports = 1"), false);
  assert.equal(isModule("export default 1; module.exports"), true);
  assert.equal(isModule("f()"), true);
});
