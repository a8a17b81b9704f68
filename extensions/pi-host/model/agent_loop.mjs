// An agent of an extension's own: it calls a model and the tools that the model asks for, until there is nothing more.

import { streamSimple } from "./built_in.mjs";
import { runToolCalls } from "./agent_tool_calls.mjs";
import { EventStream } from "./event_stream.mjs";
import { getCurrentTools, getToolStateChanges, normalizeContext, toToolDeclaration } from "./transcript.mjs";

let defaultStream;

/** Sets what models are called with where nothing else is given. */
export function setDefaultStreamFn(streamFn) {
  defaultStream = streamFn;
}

/** Returns what models are called with where nothing else is given. */
export function defaultStreamFn() {
  return defaultStream ?? streamSimple;
}

/** Returns new messages with one of the system that tells the model how its tools have changed. */
function withToolChanges(context, messages) {
  const index = messages.findLastIndex(({ role }) => role === "system");
  const own = index < 0 ? { role: "system", content: "", timestamp: Date.now() } : messages[index];
  const { toolsAdded: _added, toolsRemoved: _removed, ...rest } = own;
  const without = index < 0 ? messages : messages.with(index, rest);
  const declared = getCurrentTools([...context.messages, ...without]);
  const changes = getToolStateChanges(declared, (context.tools ?? []).map(toToolDeclaration));
  const fields = Object.entries(changes).filter(([, tools]) => tools.length > 0);
  if (fields.length === 0) return own.toolsAdded || own.toolsRemoved ? without : messages;
  const update = { ...rest, ...Object.fromEntries(fields) };
  if (index >= 0) return messages.with(index, update);
  const place = messages.findIndex(({ role }) => role !== "system");
  return messages.toSpliced(place < 0 ? messages.length : place, 0, update);
}

function levelChange({ model, thinkingLevel } = {}) {
  return {
    ...(model ? { model } : {}),
    ...(thinkingLevel === undefined ? {} : { reasoning: thinkingLevel === "off" ? undefined : thinkingLevel }),
  };
}

/** One run: the conversation, what was added to it, and where its events go. */
class Run {
  #context;
  #config;
  #signal;
  #emit;
  #streamFn;
  #added;

  constructor(context, added, config, emit, signal, streamFn) {
    this.#context = context;
    this.#added = added;
    this.#config = config;
    this.#emit = emit;
    this.#signal = signal;
    this.#streamFn = streamFn ?? defaultStreamFn();
  }

  async carryOut() {
    let pending = await this.#queued("getSteeringMessages");
    let turn;
    for (;;) {
      pending = await this.#prepareTurn(turn, pending);
      await this.#add(withToolChanges(this.#context, pending));
      turn = await this.#turn();
      if (turn.isLast) break;
      pending = await this.#queued("getSteeringMessages");
      if (turn.wantsModel || pending.length > 0) continue;
      pending = await this.#queued("getFollowUpMessages");
      if (pending.length === 0 && !turn.wantsMore) break;
    }
    await this.#emit({ type: "agent_end", messages: this.#added });
    return this.#added;
  }

  async #queued(source) {
    return (await this.#config[source]?.()) ?? [];
  }

  /** Lets the extension change what the next turn begins with. Returns the messages to add. */
  async #prepareTurn(turn, pending) {
    if (!turn) return pending;
    const update = await this.#config.prepareNextTurn?.(turn.about);
    if (update) {
      this.#context = update.context ?? this.#context;
      this.#config = { ...this.#config, ...levelChange(update) };
    }
    // What was queued while the turn was prepared is not left for the next one.
    const queued = pending.length > 0 ? pending : await this.#queued("getSteeringMessages");
    await this.#emit({ type: "turn_start" });
    return [...(update?.messages ?? []), ...queued];
  }

  async #add(messages) {
    for (const message of messages) {
      await this.#emit({ type: "message_start", message });
      await this.#emit({ type: "message_end", message });
      this.#context.messages.push(message);
      this.#added.push(message);
    }
  }

  async #turn() {
    const { model, reasoning } = this.#config;
    const asked = { context: this.#context, model, thinkingLevel: reasoning ?? "off" };
    const update = await this.#config.prepareRequest?.(asked, this.#signal);
    if (update) {
      this.#context = update.context ?? this.#context;
      this.#config = { ...this.#config, ...levelChange(update) };
    }
    const message = await this.#answer();
    this.#added.push(message);
    const isFailed = message.stopReason === "error" || message.stopReason === "aborted";
    const hasCalls = !isFailed && message.content.some(({ type }) => type === "toolCall");
    const outcome = hasCalls
      ? await runToolCalls(message, this.#context, this.#config, this.#signal, this.#emit)
      : { messages: [], terminate: true };
    this.#context.messages.push(...outcome.messages);
    this.#added.push(...outcome.messages);
    const toolResults = outcome.messages;
    const about = { message, toolResults, context: this.#context, newMessages: this.#added };
    const decision = await this.#config.finishTurn?.(about, this.#signal);
    await this.#emit({ type: "turn_end", message, toolResults });
    const isLast = isFailed || decision?.action === "end";
    return { about, isLast, wantsModel: !outcome.terminate, wantsMore: decision?.action === "continue" };
  }

  /** Calls the model and returns its answer, which the conversation has already. */
  async #answer() {
    const { messages } = this.#context;
    const config = this.#config;
    const chosen = config.transformContext ? await config.transformContext(messages, this.#signal) : messages;
    const context = normalizeContext({ messages: await config.convertToLlm(chosen) });
    const apiKey = (await config.getApiKey?.(config.model.provider)) || config.apiKey;
    const stream = await this.#streamFn(config.model, context, { ...config, apiKey, signal: this.#signal });
    let place = -1;
    for await (const event of stream) {
      if (event.type === "done" || event.type === "error") break;
      if (event.type === "start") {
        place = messages.push(event.partial) - 1;
        await this.#emit({ type: "message_start", message: { ...event.partial } });
      } else if (place >= 0) {
        messages[place] = event.partial;
        await this.#emit({ type: "message_update", assistantMessageEvent: event, message: { ...event.partial } });
      }
    }
    const message = await stream.result();
    if (place >= 0) {
      messages[place] = message;
    } else {
      messages.push(message);
      await this.#emit({ type: "message_start", message: { ...message } });
    }
    await this.#emit({ type: "message_end", message });
    return message;
  }
}

/** Runs an agent with new messages. Resolves to all messages that the run has added. */
export async function runAgentLoop(prompts, context, config, emit, signal, streamFn) {
  const first = withToolChanges(context, prompts);
  const run = new Run({ ...context, messages: [...context.messages, ...first] }, [...first], config, emit, signal, streamFn);
  await emit({ type: "agent_start" });
  await emit({ type: "turn_start" });
  for (const message of first) {
    await emit({ type: "message_start", message });
    await emit({ type: "message_end", message });
  }
  return run.carryOut();
}

function assertContinuable({ messages }) {
  if (messages.length === 0) throw new Error("Cannot continue: no messages in context");
  if (messages.at(-1).role === "assistant") throw new Error("Cannot continue from message role: assistant");
}

/** Runs an agent with the conversation as it is. */
export async function runAgentLoopContinue(context, config, emit, signal, streamFn) {
  assertContinuable(context);
  const run = new Run({ ...context }, [], config, emit, signal, streamFn);
  await emit({ type: "agent_start" });
  await emit({ type: "turn_start" });
  return run.carryOut();
}

function asStream(run) {
  const stream = new EventStream(({ type }) => type === "agent_end", ({ messages }) => messages);
  run((event) => stream.push(event)).then(
    (messages) => stream.end(messages),
    () => stream.end([]),
  );
  return stream;
}

/** The same as a stream of events. */
export function agentLoop(prompts, context, config, signal, streamFn) {
  return asStream((emit) => runAgentLoop(prompts, context, config, emit, signal, streamFn));
}

/** The same as a stream of events. */
export function agentLoopContinue(context, config, signal, streamFn) {
  assertContinuable(context);
  return asStream((emit) => runAgentLoopContinue(context, config, emit, signal, streamFn));
}
