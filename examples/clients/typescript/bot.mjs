// A bot as for a chat room: answers a message with posts that it edits while it works. Here the room is the terminal.
// Usage: node bot.mjs MESSAGE [MODEL]
import process from "node:process";
import { pathToFileURL } from "node:url";
import { Agent } from "bowline-agent";

/** The longest post; most chats have such a limit. */
const POST_LENGTH = 2_000;
/** How often a post is edited at most: chats refuse more than about one edit per second. */
const EDIT_MS = 1_000;

/**
 * @typedef {object} Room
 * @property {(text: string) => Promise<string>} post Returns the id of the post.
 * @property {(id: string, text: string) => Promise<void>} edit
 */

/** One post that grows, and is followed by others when it is full. */
class GrowingPost {
  #text = "";
  #shown = "";
  /** @type {string | undefined} */
  #id;
  #lastEdit = 0;

  /** @param {Room} room */
  constructor(room) {
    this.room = room;
  }

  /** @param {string} text */
  async add(text) {
    this.#text += text;
    if (this.#text.length > POST_LENGTH) await this.#split();
    if (Date.now() - this.#lastEdit >= EDIT_MS) await this.show();
  }

  /** Shows what is not shown yet. */
  async show() {
    if (this.#text.trim() === "" || this.#text === this.#shown) return;
    this.#lastEdit = Date.now();
    this.#shown = this.#text;
    if (this.#id === undefined) this.#id = await this.room.post(this.#text);
    else await this.room.edit(this.#id, this.#text);
  }

  /** Finishes this post. What is added later is in the next one. */
  async end() {
    await this.show();
    [this.#id, this.#text, this.#shown, this.#lastEdit] = [undefined, "", "", 0];
  }

  async #split() {
    while (this.#text.length > POST_LENGTH) {
      const head = this.#text.slice(0, POST_LENGTH);
      const end = head.lastIndexOf("\n") > POST_LENGTH / 2 ? head.lastIndexOf("\n") + 1 : POST_LENGTH;
      const rest = this.#text.slice(end);
      this.#text = this.#text.slice(0, end);
      await this.end();
      this.#text = rest;
    }
  }
}

/** What a tool call is about, in one line. @param {string} name @param {Record<string, unknown>} args */
export function title(name, args) {
  const subject = args["command"] ?? args["path"] ?? args["pattern"] ?? "";
  const line = String(subject).split("\n", 1)[0] ?? "";
  return `**${name}** ${line === "" ? "" : `\`${line.slice(0, 80).replaceAll("`", "'")}\``}`.trim();
}

/** The end of an output, as a block that nothing in it can close. @param {string} output */
export function block(output) {
  const lines = output.trimEnd().split("\n").slice(-8).map((line) => line.slice(0, 120).replaceAll("```", "'''"));
  return lines.join("") === "" ? "" : `\n\`\`\`\n${lines.join("\n")}\n\`\`\``;
}

/**
 * Answers a message.
 * @param {Agent} agent
 * @param {Room} room
 * @param {string} message
 */
export async function answer(agent, room, message) {
  const post = new GrowingPost(room);
  /** @type {Map<string, { id: string, head: string }>} */
  const calls = new Map();
  const run = await agent.run(message);
  for await (const event of run) {
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
      await post.add(event.assistantMessageEvent.delta);
    } else if (event.type === "tool_execution_start") {
      await post.end();
      const head = title(event.toolName, event.args);
      calls.set(event.toolCallId, { id: await room.post(`⏳ ${head}`), head });
    } else if (event.type === "tool_execution_end") {
      const call = calls.get(event.toolCallId);
      if (call === undefined) continue;
      const text = event.result.content.map((part) => (part.type === "text" ? part.text : "(image)")).join("");
      const mark = event.isError ? "❌" : "✅";
      await room.edit(call.id, `${mark} ${call.head} (${(event.durationMs / 1000).toFixed(1)} s)${block(text)}`);
    } else if (event.type === "message_end") {
      await post.end();
    }
  }
  const { outcome, error, usage } = await run.result();
  if (outcome === "failed") await room.post(`❌ ${error}`);
  if (outcome === "aborted") await room.post("⏹ stopped");
  if (usage.cost.total > 0) await room.post(`💵 ${usage.cost.total.toFixed(4)}`);
}

/** A room that writes posts to the terminal. @implements {Room} */
class Terminal {
  #count = 0;

  /** @param {string} text */
  async post(text) {
    this.#count += 1;
    await this.edit(`#${this.#count}`, text);
    return `#${this.#count}`;
  }

  /** @param {string} id @param {string} text */
  async edit(id, text) {
    console.log(`${id} ${text}`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [, , message, model] = process.argv;
  if (message === undefined) {
    console.error("usage: node bot.mjs MESSAGE [MODEL]");
    process.exit(2);
  }
  const agent = await Agent.start({ restart: true, ...(model === undefined ? {} : { model }) });
  await answer(agent, new Terminal(), message).finally(() => agent.close());
}
