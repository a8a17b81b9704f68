// Model calls that bowline carries out: its chunks become pi's events.

import { bridge } from "../bridge.mjs";
import { modelParams } from "./engine_request.mjs";
import { createAssistantMessageEventStream, emptyAnswer, failStream } from "./event_stream.mjs";
import { parseStreamingJson, parseToolCallArguments } from "./json.mjs";
import { calculateCost } from "./model_facts.mjs";

const ABORTED = "Request was aborted";

/** Up to this length, unfinished arguments of a tool call are read at every piece. */
const OFTEN_READ = 4096;

/** Builds the message of an answer from chunks and pushes an event for each. */
class Answer {
  #model;
  #stream;
  #texts = [];
  #isStarted = false;
  /** How much of the arguments of the current tool call was read. */
  #read = 0;

  constructor(model, stream) {
    this.#model = model;
    this.#stream = stream;
    this.message = emptyAnswer(model, "pending");
  }

  take(chunk) {
    const { type, contentIndex } = chunk;
    if (type === "usage") {
      this.#count(chunk.usage);
      return;
    }
    if (type === "start" && chunk.responseId) this.message.responseId = chunk.responseId;
    this.#start();
    const [kind, part] = type.split("_");
    if (part === "start") this.#begin(kind, chunk);
    else if (part === "delta") this.#continue(kind, contentIndex, chunk.delta);
    else if (part === "end") this.#end(kind, contentIndex, chunk.signature);
  }

  /** Ends the answer with the message that bowline has put together. */
  finish(message) {
    this.#start();
    const final = { ...this.message, ...message };
    if (final.stopReason === "error" || final.stopReason === "aborted") {
      this.#stream.push({ type: "error", reason: final.stopReason, error: final });
    } else {
      if (final.stopReason === "pending") final.stopReason = "stop";
      this.#stream.push({ type: "done", reason: final.stopReason, message: final });
    }
    this.#stream.end(final);
  }

  #start() {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#push("start");
  }

  #push(type, fields = {}) {
    this.#stream.push({ type, ...fields, partial: this.message });
  }

  #count(usage) {
    this.message.usage = { ...this.message.usage, ...usage };
    if (!(usage.cost?.total > 0) && this.#model.cost) {
      this.message.usage.cost = calculateCost(this.#model, { ...this.message.usage, cost: {} });
    }
  }

  #begin(kind, { contentIndex, id, toolName }) {
    const empty = {
      text: { type: "text", text: "" },
      thinking: { type: "thinking", thinking: "" },
      toolcall: { type: "toolCall", id, name: toolName, arguments: {} },
    };
    this.message.content[contentIndex] = empty[kind];
    this.#read = 0;
    this.#texts[contentIndex] = "";
    this.#push(`${kind}_start`, { contentIndex });
  }

  #continue(kind, contentIndex, delta) {
    const block = this.message.content[contentIndex];
    this.#texts[contentIndex] += delta;
    if (kind === "toolcall") this.#readArguments(block, this.#texts[contentIndex]);
    else block[kind] = this.#texts[contentIndex];
    this.#push(`${kind}_delta`, { contentIndex, delta });
  }

  /** Reads unfinished arguments. Long ones are read anew only after they have grown, or the work would grow with its square. */
  #readArguments(block, text) {
    if (text.length > OFTEN_READ && text.length < this.#read * 1.05) return;
    block.arguments = parseStreamingJson(text);
    this.#read = text.length;
  }

  #end(kind, contentIndex, signature) {
    const block = this.message.content[contentIndex];
    if (kind === "toolcall") {
      Object.assign(block, parseToolCallArguments(this.#texts[contentIndex]));
      if (signature) block.thoughtSignature = signature;
      this.#push("toolcall_end", { contentIndex, toolCall: block });
      return;
    }
    if (signature) block[`${kind}Signature`] = signature;
    this.#push(`${kind}_end`, { contentIndex, content: block[kind] });
  }
}

/** Lets bowline call a model, by the API if one is given, and returns the answer as a stream of pi's events. */
export function streamFromEngine(model, context, options, api) {
  const stream = createAssistantMessageEventStream();
  void run(stream, model, context, options ?? {}, api);
  return stream;
}

async function run(stream, model, context, options, api) {
  const { signal } = options;
  const answer = new Answer(model, stream);
  const fail = (error) => {
    if (signal?.aborted) failStream(stream, answer.message, ABORTED, "aborted");
    else failStream(stream, answer.message, error);
  };
  if (signal?.aborted) {
    fail();
    return;
  }
  try {
    const params = modelParams(model, context, options, api);
    const onProgress = (chunk) => answer.take(chunk);
    answer.finish(await bridge.request("model.stream", params, { signal, onProgress }));
  } catch (error) {
    fail(error);
  }
}
