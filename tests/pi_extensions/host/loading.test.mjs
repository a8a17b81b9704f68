// What the engine is told while extensions load, and what becomes of one that never ends.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Extension } from "../../../extensions/pi-host/host/extension.mjs";
import { loadAll } from "../../../extensions/pi-host/host/loading.mjs";
import { withHost } from "./fake_engine.mjs";

const FACTORIES = {
  fine: (pi) => pi,
  hangs: () => new Promise(() => {}),
  fails: () => {
    throw new Error("no");
  },
};

function fakeHost() {
  const sent = [];
  const loadFactory = async (path) => FACTORIES[path];
  return { sent, loadFactory, send: (record) => sent.push(record), createApi: () => ({}), hasServerConnector: () => false };
}

test("an extension that never ends to load is left out, and the engine knows of the others at once", async (t) => {
  t.mock.method(console, "error", () => {});
  const host = fakeHost();
  const extensions = ["fine", "hangs", "fails"].map((id) => new Extension(host, { id, path: id }));
  const { loaded, errors } = await loadAll(host, extensions, 100);
  assert.deepEqual(loaded.map(({ id }) => id), ["fine"]);
  assert.deepEqual(errors, [{ ext: "hangs", error: "did not load within 0 s" }, { ext: "fails", error: "no" }]);
  assert.deepEqual(
    host.sent.map(({ type, ext }) => `${type} ${ext}`),
    ["loading fine", "register fine", "loading hangs", "loading fails"],
  );
  assert.throws(() => extensions[1].runtime.assertUsable(), /failed to load/);
});

test("an extension that takes long does not keep a later one waiting", async () => {
  const host = fakeHost();
  const extensions = ["hangs", "fine"].map((id) => new Extension(host, { id, path: id }));
  const loading = loadAll(host, extensions, 2500);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const registered = host.sent.filter(({ type }) => type === "register").map(({ ext }) => ext);
  const { loaded } = await loading;
  assert.deepEqual(registered, ["fine"]);
  assert.deepEqual(loaded.map(({ id }) => id), ["fine"]);
});

test("a factory that never ends for a later session is reported", async () => {
  const host = fakeHost();
  const extension = new Extension(host, { id: "x", path: "fine" });
  await extension.load(100);
  extension.runtime.retire();
  host.createApi = () => {
    host.createApi = () => ({});
    return new Promise(() => {});
  };
  await extension.renew(50);
  assert.deepEqual(host.sent.map(({ type, where, message }) => [type, where, message]), [["error", "load", "did not start again within 0 s"]]);
  assert.equal(extension.runtime.isLoading, false);
});

test("extensions that load slowly are told of again and again", async () => {
  const slow = `await new Promise((resolve) => setTimeout(resolve, 2300)); export default (pi) => { pi.registerCommand("x", { handler() {} }); };`;
  const seen = [];
  await withHost({ "a.ts": slow }, async (engine) => {
    seen.push(...engine.atStart.map(({ type }) => type));
  });
  assert.deepEqual(seen, ["loading", "loading", "register", "registered"]);
});

test("an extension works while another one has not loaded", async () => {
  const files = {
    "a.ts": `export default (pi) => pi.registerCommand("x", { handler: async () => { pi.registerTool({ name: "t", parameters: {} }); pi.appendEntry("n", pi.getActiveTools()); } });`,
    "hangs.ts": `await new Promise(() => {}); export default () => {};`,
  };
  await withHost(
    files,
    async (engine) => {
      assert.equal((await engine.command("x")).error, undefined);
      assert.deepEqual(engine.of("register").map(({ tools }) => tools[0].name), ["t"]);
      assert.deepEqual(engine.of("notify")[0].params.data, ["t"]);
    },
    { until: "register" },
  );
});
