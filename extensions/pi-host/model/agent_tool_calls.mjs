// The tool calls of one answer, as an agent loop of an extension carries them out.

import { messageOf } from "../host/errors.mjs";
import { validateToolArguments } from "./validation.mjs";

const failed = (text) => ({ result: { content: [{ type: "text", text }], details: {} }, isError: true });

/** The calls of one answer with what they need to run. */
class Batch {
  constructor(message, context, config, signal, emit) {
    Object.assign(this, { message, context, config, signal, emit });
  }

  toolOf(call) {
    return this.context.tools?.find(({ name }) => name === call.name);
  }

  start(call) {
    return this.emit({ type: "tool_execution_start", ...named(call), args: call.arguments });
  }

  async end(call, { result, isError }) {
    await this.emit({ type: "tool_execution_end", ...named(call), result, isError });
    return { call, result, isError };
  }

  /** Checks a call. Returns its arguments, or how it ends if it does not run. */
  async prepare(call) {
    const tool = this.toolOf(call);
    if (!tool) return { end: failed(`Tool ${call.name} not found`) };
    try {
      const prepared = tool.prepareArguments ? tool.prepareArguments(call.arguments) : call.arguments;
      const args = validateToolArguments(tool, { ...call, arguments: prepared });
      const about = { assistantMessage: this.message, toolCall: call, args, context: this.context };
      const before = await this.config.beforeToolCall?.(about, this.signal);
      if (this.signal?.aborted) return { end: failed("Operation aborted") };
      if (!before?.block) return { tool, args };
      const end = failed(before.reason || "Tool execution was blocked");
      if (before.terminate === true) end.result.terminate = true;
      return { end };
    } catch (error) {
      return { end: failed(messageOf(error)) };
    }
  }

  async execute(call, { tool, args }) {
    if (this.signal?.aborted) return failed("Operation aborted");
    const updates = [];
    let isRunning = true;
    const onUpdate = (partialResult) => {
      if (!isRunning) return;
      const event = { type: "tool_execution_update", ...named(call), args: call.arguments, partialResult };
      updates.push(Promise.resolve(this.emit(event)));
    };
    let outcome;
    try {
      const result = await tool.execute(call.id, args, this.signal, onUpdate);
      outcome = { result, isError: result?.isError === true };
    } catch (error) {
      outcome = failed(messageOf(error));
    }
    isRunning = false;
    await Promise.all(updates);
    return this.#afterwards(call, args, outcome);
  }

  async #afterwards(call, args, { result, isError }) {
    if (!this.config.afterToolCall) return { result, isError };
    try {
      const about = { assistantMessage: this.message, toolCall: call, args, result, isError, context: this.context };
      const { isError: changed, ...others } = (await this.config.afterToolCall(about, this.signal)) ?? {};
      const given = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
      // Structured content that is not replaced along with the content may no longer match it.
      const kept = others.content ? { ...result, structuredContent: undefined } : result;
      return { result: { ...kept, ...Object.fromEntries(given) }, isError: changed ?? isError };
    } catch (error) {
      return failed(messageOf(error));
    }
  }
}

const named = ({ id, name }) => ({ toolCallId: id, toolName: name });

/** Returns a started call as a function that finishes it. */
async function begun(batch, call) {
  await batch.start(call);
  const prepared = await batch.prepare(call);
  if (prepared.end) {
    const over = await batch.end(call, prepared.end);
    return () => over;
  }
  return async () => batch.end(call, await batch.execute(call, prepared));
}

async function report(batch, { call, result, isError }) {
  const message = {
    role: "toolResult",
    ...named(call),
    content: result?.content ?? [],
    details: result?.details,
    usage: result?.usage,
    isError,
    timestamp: Date.now(),
  };
  await batch.emit({ type: "message_start", message });
  await batch.emit({ type: "message_end", message });
  return message;
}

/** Carries out the calls of an answer. Returns their messages and whether all of them want the run to end. */
export async function runToolCalls(message, context, config, signal, emit) {
  const calls = message.content.filter(({ type }) => type === "toolCall");
  const batch = new Batch(message, context, config, signal, emit);
  if (message.stopReason === "length") return refuseAll(batch, calls);
  const isSequential =
    config.toolExecution === "sequential" || calls.some((call) => batch.toolOf(call)?.executionMode === "sequential");
  const messages = [];
  const ends = [];
  const finishes = [];
  for (const call of calls) {
    const finish = await begun(batch, call);
    if (isSequential) {
      ends.push(await finish());
      messages.push(await report(batch, ends.at(-1)));
    } else {
      finishes.push(finish);
    }
    if (signal?.aborted) break;
  }
  for (const end of await Promise.all(finishes.map((finish) => finish()))) {
    ends.push(end);
    messages.push(await report(batch, end));
  }
  return { messages, terminate: ends.length > 0 && ends.every(({ result }) => result?.terminate === true) };
}

/** Ends the calls of an answer that was cut: their arguments may be incomplete. */
async function refuseAll(batch, calls) {
  const messages = [];
  for (const call of calls) {
    await batch.start(call);
    const text =
      `Tool call "${call.name}" was not executed: the answer reached its output limit, so the arguments may be cut. ` +
      "Call the tool again with complete arguments.";
    messages.push(await report(batch, await batch.end(call, failed(text))));
  }
  return { messages, terminate: false };
}
