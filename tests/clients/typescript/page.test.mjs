// The example of a page in the browser: what its server lets in, and what it passes on. `page.mjs` looks at the page itself.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { get } from "node:http";
import { test } from "node:test";
import { Example } from "./example.mjs";
import { open } from "./websocket_client.mjs";
import { Workshop, later, until } from "./workshop.mjs";

const BASH = (command) => ({ text: "I run it.", toolCalls: [{ name: "bash", arguments: { command } }] });

async function serve(test, ...steps) {
  const workshop = new Workshop(test);
  const model = workshop.script(...(steps.length > 0 ? steps : [{ text: "Hello." }]));
  const server = new Example(test, workshop, "page/server.mjs", "--model", model);
  await until(() => server.output.includes("#"), "the address is printed");
  const [, port, token] = /http:\/\/127\.0\.0\.1:(\d+)\/#(\S+)/.exec(server.output);
  const page = async () => {
    const { status, socket } = await open(port, { "Sec-WebSocket-Protocol": `bowline, ${token}` });
    assert.equal(status, 101);
    await until(() => socket.records.some(({ type }) => type === "hello"), "the page is greeted");
    return socket;
  };
  return { port: Number(port), token, page, server };
}

function fetchPage(port, path, headers = {}) {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    }).on("error", reject);
  });
}

test("only a page of this server with the token may connect", async (test) => {
  const { port, token } = await serve(test);
  const protocol = `bowline, ${token}`;
  const cases = [
    [{ "Sec-WebSocket-Protocol": protocol }, 101],
    [{ "Sec-WebSocket-Protocol": protocol, Host: `localhost:${port}`, Origin: `http://localhost:${port}` }, 101],
    [{ "Sec-WebSocket-Protocol": undefined }, 403],
    [{ "Sec-WebSocket-Protocol": "bowline, wrong" }, 403],
    [{ "Sec-WebSocket-Protocol": token }, 403],
    [{ "Sec-WebSocket-Protocol": protocol, Origin: undefined }, 403],
    [{ "Sec-WebSocket-Protocol": protocol, Origin: "https://evil.example" }, 403],
    [{ "Sec-WebSocket-Protocol": protocol, Origin: "null" }, 403],
    [{ "Sec-WebSocket-Protocol": protocol, Host: `evil.example:${port}` }, 403],
    [{ "Sec-WebSocket-Protocol": protocol, "Sec-WebSocket-Version": "8" }, 426],
    [{ "Sec-WebSocket-Protocol": protocol, "Sec-WebSocket-Key": "short" }, 400],
  ];
  for (const [headers, status] of cases) {
    const answer = await open(port, headers);
    assert.equal(answer.status, status, JSON.stringify(headers));
    answer.socket.stream.destroy();
  }
});

test("the page is served for this machine only, and may run nothing but itself", async (test) => {
  const { port, token } = await serve(test);
  const { status, headers, body } = await fetchPage(port, "/");
  assert.equal(status, 200);
  assert.ok(!body.includes(token));
  assert.match(headers["content-security-policy"], /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; connect-src 'self';/);
  assert.equal((await fetchPage(port, "/", { Host: "evil.example" })).status, 404);
  assert.equal((await fetchPage(port, "/server.mjs")).status, 404);
});

test("a page prompts, sees everything, steers and stops", async (test) => {
  const { page } = await serve(test, BASH("true"), { text: "Done." }, { text: "I hang", hang: true });
  const [one, two] = [await page(), await page()];
  one.say({ type: "prompt", message: "Go" });
  for (const socket of [one, two]) {
    await until(() => socket.records.some(({ type }) => type === "extension_ui_request"), "the question is shown");
  }
  const question = two.records.find(({ type }) => type === "extension_ui_request");
  two.say({ type: "answer", id: question.id, confirmed: true });
  await until(() => one.records.some(({ type }) => type === "agent_settled"), "the run is over");
  assert.ok(one.records.some(({ type, id }) => type === "answered" && id === question.id));
  assert.equal(one.records.find(({ type }) => type === "tool_execution_end").isError, false);

  two.say({ type: "prompt", message: "Hang" });
  await until(() => two.records.filter(({ type }) => type === "agent_start").length === 2, "the second run");
  one.say({ type: "prompt", message: "This way" });
  await until(() => two.records.some(({ type, steering }) => type === "queue_update" && steering.includes("This way")), "it is queued");
  one.say({ type: "abort" });
  await until(() => two.records.some(({ type, aborted }) => type === "agent_settled" && aborted), "it is stopped");
  const third = await page();
  const hello = third.records.find(({ type }) => type === "hello");
  assert.equal(hello.messages[0].content[0].text, "Go");
  assert.equal(hello.isBusy, false);
});

test("a page cannot do more", async (test) => {
  const { page } = await serve(test);
  const socket = await page();
  socket.say({ type: "bash", command: "touch made" });
  socket.frame(1, "no JSON");
  socket.say({ type: "answer", id: "unknown", confirmed: true });
  await until(() => socket.records.filter(({ type }) => type === "refused").length === 3, "all are refused");
});

test("frames that are not as they should be close the connection with the right number", async (test) => {
  const { page } = await serve(test);
  const cases = [
    ["no mask", (socket) => socket.frame(1, "{}", { isMasked: false }), 1002],
    ["reserved bits", (socket) => socket.frame(1, "{}", { reserved: 0x40 }), 1002],
    ["unknown opcode", (socket) => socket.frame(3, ""), 1002],
    ["binary", (socket) => socket.frame(2, "x"), 1003],
    ["a long ping", (socket) => socket.frame(9, "x".repeat(126)), 1002],
    ["a ping in pieces", (socket) => socket.frame(9, "x", { isFinal: false }), 1002],
    ["continuation of nothing", (socket) => socket.frame(0, "x"), 1002],
    ["a message within another", (socket) => (socket.frame(1, "x", { isFinal: false }), socket.frame(1, "y")), 1002],
    ["no UTF-8", (socket) => socket.frame(1, Buffer.from([0xff])), 1007],
    ["a frame that is announced too long", (socket) => socket.frame(1, "", { length: 2 ** 40 }), 1009],
    ["a message that is too long in pieces", (socket) => {
      for (let index = 0; index < 20; index += 1) socket.frame(index === 0 ? 1 : 0, "x".repeat(60_000), { isFinal: false });
    }, 1009],
    ["close", (socket) => socket.frame(8, Buffer.from([3, 232])), 1000],
  ];
  for (const [name, send, code] of cases) {
    const socket = await page();
    send(socket);
    await until(() => socket.closeCode !== undefined, `${name} is answered`);
    assert.equal(socket.closeCode, code, name);
    socket.stream.end();
    await socket.closed;
  }
});

test("frames may come in any pieces, and pings are answered", async (test) => {
  const { page } = await serve(test);
  const socket = await page();
  socket.frame(9, "are you there");
  await until(() => socket.frames.some(({ opcode, payload }) => opcode === 10 && payload.toString() === "are you there"), "pong");
  const bytes = [];
  const { raw } = socket;
  socket.raw = (part) => bytes.push(part);
  const text = JSON.stringify({ type: "prompt", message: "wörter ".repeat(30_000) });
  socket.frame(1, text.slice(0, 100), { isFinal: false });
  socket.frame(10, "");
  socket.frame(0, text.slice(100));
  socket.raw = raw;
  const all = Buffer.concat(bytes);
  for (let start = 0; start < 40; start += 1) {
    socket.raw(all.subarray(start, start + 1));
    await later(1);
  }
  socket.raw(all.subarray(40));
  await until(() => socket.records.some(({ type }) => type === "agent_settled"), "the prompt was understood");
});

test("the server ends with its agent", async (test) => {
  const { page, server } = await serve(test);
  const socket = await page();
  server.child.kill("SIGTERM");
  assert.equal(await server.ended, 0);
  assert.equal(socket.closeCode, 1001);
});
