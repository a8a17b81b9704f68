// A page in the browser that works with an agent: serves the page, and passes on what it says over a WebSocket.
// Only for this machine: it listens on 127.0.0.1, and only a page with the token of the address that it prints may connect.
// Usage: node server.mjs [--port PORT] [--model MODEL]
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { parseArgs } from "node:util";
import { Agent, CommandFailed } from "bowline-agent";
import { accept } from "./websocket.mjs";

/** More pages than anybody looks at. */
const PAGES = 16;

const { values } = parseArgs({ options: { port: { type: "string", default: "0" }, model: { type: "string" } } });
const token = randomBytes(32).toString("base64url");
const page = readFileSync(new URL("index.html", import.meta.url), "utf8");
const agent = await Agent.start({
  ...(values.model === undefined ? {} : { model: values.model }),
  args: ["--ask", "untrusted"],
  restart: true,
  // The pages answer.
  ui: "manual",
});

/** @type {Set<import("./websocket.mjs").WebSocket>} */
const sockets = new Set();
/** Dialogs that nobody has answered: a page that is opened later shows them, too. @type {Map<string, object>} */
const dialogs = new Map();
agent.on("extension_ui_request", (event) => {
  if (!["select", "confirm", "input", "editor"].includes(event.method)) return;
  dialogs.set(event.id, event);
  // bowline goes on without an answer when the time is up, and does not say so.
  if ("timeout" in event && event.timeout !== undefined) setTimeout(() => withdraw(event.id), event.timeout).unref();
});
agent.on("agent_settled", ({ aborted }) => {
  if (aborted) for (const id of dialogs.keys()) withdraw(id);
});

const server = createServer((request, response) => {
  const isPage = request.method === "GET" && request.url === "/" && isForHere(request);
  response.writeHead(isPage ? 200 : 404, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy":
      `default-src 'none'; script-src ${hashOf("script")}; style-src ${hashOf("style")}; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(isPage ? page : "");
});

server.on("upgrade", (request, stream, head) => {
  const socket = accept(request, stream, head, (protocols) => {
    const isAllowed = isForHere(request) && isOurs(request.headers.origin) && protocols.some(isToken) && sockets.size < PAGES;
    return isAllowed && protocols.includes("bowline") ? "bowline" : undefined;
  });
  if (socket !== undefined) void serve(socket);
});

server.listen(Number(values.port), "127.0.0.1", () => {
  // Browsers do not send what follows the `#`, so the token is in no log.
  console.log(`http://127.0.0.1:${port()}/#${token}`);
});

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.once(signal, async () => {
    server.close();
    for (const socket of sockets) socket.close(1001, "the server ends");
    await agent.close();
    process.exit(0);
  });
}

function port() {
  return /** @type {import("node:net").AddressInfo} */ (server.address()).port;
}

/** The hash of what is in an element of the page, which is all that the browser may run. @param {string} element */
function hashOf(element) {
  const content = page.split(`<${element}>`)[1]?.split(`</${element}>`)[0] ?? "";
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}

/** Another name for this address may be a trick of another site. @param {import("node:http").IncomingMessage} request */
function isForHere(request) {
  return [`127.0.0.1:${port()}`, `localhost:${port()}`].includes(request.headers.host ?? "");
}

/** @param {string | undefined} origin */
function isOurs(origin) {
  return [`http://127.0.0.1:${port()}`, `http://localhost:${port()}`].includes(origin ?? "");
}

/** @param {string} text */
function isToken(text) {
  const [given, expected] = [text, token].map((each) => createHash("sha256").update(each).digest());
  return given !== undefined && expected !== undefined && timingSafeEqual(given, expected);
}

/** Tells a page everything, and does what it says. @param {import("./websocket.mjs").WebSocket} socket */
async function serve(socket) {
  sockets.add(socket);
  const events = agent.events();
  socket.on("close", () => {
    sockets.delete(socket);
    void events.return?.();
  });
  socket.on("message", (text) => {
    obey(text).catch((error) => {
      const code = error instanceof CommandFailed ? error.code : "invalid";
      void socket.send(JSON.stringify({ type: "refused", code, error: error.message }));
    });
  });
  try {
    const [{ messages }, state] = await Promise.all([agent.getMessages(), agent.getState()]);
    const { isStreaming: isBusy, pendingMessageCount: pending, model, cwd } = state;
    await socket.send(JSON.stringify({ type: "hello", messages, isBusy, pending, model: model?.id, cwd }));
    for (const dialog of dialogs.values()) await socket.send(JSON.stringify(dialog));
    // A page that reads slowly slows down the agent; nothing piles up here.
    for await (const event of events) await socket.send(JSON.stringify(event));
  } catch (error) {
    socket.close(1011, error instanceof Error ? error.name : "error");
  }
}

/** Closes a question on all pages. @param {string} id */
function withdraw(id) {
  dialogs.delete(id);
  for (const socket of sockets) void socket.send(JSON.stringify({ type: "answered", id }));
}

/** A page can do this and no more. @param {string} text */
async function obey(text) {
  const said = JSON.parse(text);
  switch (said.type) {
    case "prompt":
      await agent.prompt(String(said.message), { streamingBehavior: said.isLater === true ? "followUp" : "steer" });
      break;
    case "abort":
      await agent.abort();
      break;
    case "answer":
      if (!dialogs.has(String(said.id))) throw new Error("This question is not open any more.");
      agent.answer({ type: "extension_ui_response", id: String(said.id), ...answerOf(said) });
      withdraw(String(said.id));
      break;
    default:
      throw new Error("The page said something that the server does not know.");
  }
}

/** @param {{ value?: unknown, confirmed?: unknown }} said */
function answerOf(said) {
  if (typeof said.value === "string") return { value: said.value };
  return typeof said.confirmed === "boolean" ? { confirmed: said.confirmed } : { cancelled: true };
}
