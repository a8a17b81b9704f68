// The answer of an extension's provider as bowline takes it: one block after the other, each with all of its text.
// Extensions write several blocks at once, leave out events, or have only the finished message.

import { randomUUID } from "node:crypto";

const KINDS = { text: "text", thinking: "thinking", toolCall: "toolcall" };

/** A block of the answer that waits for its turn or is being sent. */
class Block {
  chunks = [];
  /** The text that was taken so far. */
  text = "";
  isOpen = false;
  isOver = false;

  constructor(kind) {
    this.kind = kind;
  }

  /** Begins the block, unless a tool call is not named yet. */
  open(content) {
    if (this.isOpen || (this.kind === "toolcall" && !(content?.id && content?.name) && !this.isOver)) return;
    this.isOpen = true;
    const call = this.kind === "toolcall" ? { id: content?.id ?? randomUUID(), toolName: content?.name ?? "" } : {};
    this.chunks.unshift({ type: `${this.kind}_start`, ...call });
  }

  add(delta) {
    if (!delta || this.isOver) return;
    this.text += delta;
    this.chunks.push({ type: `${this.kind}_delta`, delta });
  }

  /** Ends the block with the content that it has in the message. */
  close(content) {
    if (this.isOver) return;
    const whole = wholeText(this.kind, content);
    if (this.kind !== "toolcall" && whole?.startsWith(this.text)) this.add(whole.slice(this.text.length));
    if (this.kind === "toolcall" && !this.text) this.add(whole);
    this.isOver = true;
    this.open(content);
    const signature = content?.textSignature ?? content?.thinkingSignature ?? content?.thoughtSignature;
    this.chunks.push({ type: `${this.kind}_end`, ...(signature ? { signature } : {}) });
  }
}

function wholeText(kind, content) {
  if (!content) return undefined;
  return kind === "toolcall" ? JSON.stringify(content.arguments ?? {}) : content[kind];
}

/** Turns pi's events into chunks. */
export class AnswerChunks {
  #emit;
  #blocks = [];
  #current = 0;
  #isStarted = false;

  constructor(emit) {
    this.#emit = emit;
  }

  /** Tells whether anything of an answer has arrived. */
  get isEmpty() {
    return this.#blocks.length === 0;
  }

  take(event) {
    const content = event.partial?.content?.[event.contentIndex];
    this.#start(event.partial);
    const [kind, part] = String(event.type).split("_");
    if (!["text", "thinking", "toolcall"].includes(kind) || !Number.isInteger(event.contentIndex)) return;
    const block = (this.#blocks[event.contentIndex] ??= new Block(kind));
    block.open(content);
    if (part === "delta") block.add(event.delta);
    if (part === "end") block.close(this.#contentOf(event, content));
    this.#flush();
  }

  #contentOf(event, content) {
    if (event.toolCall) return event.toolCall;
    if (typeof event.content !== "string") return content;
    return { ...content, [event.type.split("_")[0]]: event.content };
  }

  /** Sends what of the finished message was not sent yet. */
  finish(message) {
    this.#start(message);
    for (const [index, content] of (message.content ?? []).entries()) {
      const kind = KINDS[content.type];
      if (kind) (this.#blocks[index] ??= new Block(kind)).close(content);
    }
    for (const block of this.#blocks) block?.close();
    // Blocks without content leave holes, which would keep the rest from being sent.
    const rest = this.#blocks.slice(this.#current).filter(Boolean);
    this.#blocks = [...this.#blocks.slice(0, this.#current), ...rest];
    this.#flush();
    if (message.usage) this.#emit({ type: "usage", usage: countsOf(message.usage) });
  }

  #start(message) {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#emit({ type: "start", ...(message?.responseId ? { responseId: message.responseId } : {}) });
  }

  #flush() {
    for (;;) {
      const block = this.#blocks[this.#current];
      if (!block?.isOpen) return;
      for (const { type, ...fields } of block.chunks.splice(0)) {
        this.#emit({ type, contentIndex: this.#current, ...fields });
      }
      if (!block.isOver) return;
      this.#current += 1;
    }
  }
}

const count = (value) => (Number.isFinite(value) && value > 0 ? Math.round(value) : 0);

function countsOf(usage) {
  const [input, output] = [count(usage.input), count(usage.output)];
  const [cacheRead, cacheWrite] = [count(usage.cacheRead), count(usage.cacheWrite)];
  const price = (name) => (Number.isFinite(usage.cost?.[name]) ? usage.cost[name] : 0);
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output + cacheRead + cacheWrite,
    ...(usage.reasoning === undefined ? {} : { reasoning: count(usage.reasoning) }),
    cost: Object.fromEntries(["input", "output", "cacheRead", "cacheWrite", "total"].map((name) => [name, price(name)])),
  };
}
