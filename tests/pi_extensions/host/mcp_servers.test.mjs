// MCP servers that extensions register.

import assert from "node:assert/strict";
import { homedir } from "node:os";
import { test } from "node:test";
import { withHost } from "./fake_engine.mjs";

const extension = (body) => `export default (pi) => { ${body} };`;
/** Registers a server in a command, and tells what it throws. */
const REGISTER = `pi.registerCommand("register", { handler(args, ctx) {
  const [name, config] = JSON.parse(args);
  let thrown = null;
  try { if (config) pi.registerMcpServer(name, config); else pi.unregisterMcpServer(name); } catch (error) { thrown = error.message; }
  ctx.ui.notify(JSON.stringify([thrown, pi.getMcpServers().map((server) => server.name)]));
} });`;

async function register(engine, ext, name, config) {
  engine.records.splice(0);
  await engine.command("register", JSON.stringify([name, config]), ext);
  return JSON.parse(engine.of("notify").at(-1).params.message);
}

test("a server that is registered while loading reaches the engine in its own terms", async () => {
  const config = `{ command: "~/bin/server", args: ["~/notes", "plain"], env: { A: "\${A}" }, timeout: 1.5, exposure: "codemode" }`;
  await withHost({ "a.ts": extension(`pi.registerMcpServer("files", ${config});`) }, async (engine) => {
    const [{ mcpServers }] = engine.registered.extensions;
    const expected = {
      ...{ command: `${homedir()}/bin/server`, args: [`${homedir()}/notes`, "plain"], env: { A: "${A}" } },
      ...{ timeout: 1500, exposure: "codemode" },
    };
    assert.deepEqual(mcpServers, [{ name: "files", config: expected }]);
  });
});

test("servers come and go, and belong to whoever registered them", async () => {
  const files = { "a.ts": extension(REGISTER), "b.ts": extension(`pi.registerMcpServer("theirs", { url: "https://x/mcp" });`) };
  await withHost(files, async (engine) => {
    assert.deepEqual(await register(engine, "a", "mine", { url: "http://localhost/mcp" }), [null, ["mine", "theirs"]]);
    assert.deepEqual(engine.of("register").at(-1).mcpServers, [{ name: "mine", config: { url: "http://localhost/mcp" } }]);
    const [thrown] = await register(engine, "a", "theirs", { url: "http://localhost/mcp" });
    assert.match(thrown, /registered by another extension: .*b\.ts/);
    assert.deepEqual(await register(engine, "a", "theirs"), [null, ["mine", "theirs"]]);
    assert.deepEqual(await register(engine, "a", "mine"), [null, ["theirs"]]);
    assert.deepEqual(engine.of("unregister").at(-1).mcpServers, ["mine"]);
  });
});

test("what is wrong with a server is thrown", async () => {
  await withHost({ "a.ts": extension(REGISTER) }, async (engine) => {
    for (const [name, config, expected] of [
      ["a b", { command: "x" }, "letters, digits"],
      ["x", {}, "needs a command or a url"],
      ["x", { command: "x", url: "http://x" }, "both"],
      ["x", { url: "file:///x" }, "url must be an http or https address"],
      ["x", { command: "x", args: [1] }, "args must be a list of texts"],
      ["x", { command: "x", timeout: 0 }, "timeout must be a number of seconds"],
      ["x", { command: "x", type: "http" }, "type must be stdio"],
      ["x", { url: "http://x", exposure: "some" }, "exposure must be one of codemode"],
    ]) {
      const [thrown, known] = await register(engine, "a", name, config);
      assert.ok(thrown?.includes(expected), `${JSON.stringify(config)}: ${thrown}`);
      assert.deepEqual(known, []);
    }
  });
});

test("an extension that handles changes connects the servers itself", async () => {
  const seen = `pi.on("mcp_servers_change", (event, ctx) => ctx.ui.notify("changed " + JSON.stringify(event.servers)));`;
  const files = { "a.ts": extension(`pi.registerMcpServer("early", { command: "x" }); ${REGISTER}`), "b.ts": extension(seen) };
  await withHost(files, async (engine) => {
    await register(engine, "a", "late", { command: "y", exposure: "direct" });
    const record = await engine.next(({ params }) => params?.message?.startsWith("changed "));
    const servers = JSON.parse(record.params.message.slice("changed ".length));
    assert.deepEqual(servers.map(({ name, config }) => [name, config]), [["early", { command: "x" }], ["late", { command: "y", exposure: "direct" }]]);
    assert.ok(servers[0].extensionPath.endsWith("a.ts"));
    assert.deepEqual(engine.of("register").filter(({ mcpServers }) => mcpServers?.length), []);
  });
});
