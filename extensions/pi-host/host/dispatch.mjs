// Calls the handlers of an event one after the other, each with what those before it have made of it, and returns what
// they have changed as the result of the hook.

import { customMessage } from "../api/command_context.mjs";
import { projectTrustContext } from "../api/context.mjs";
import { getSystemMessageText } from "../model/transcript.mjs";
import { completeMessage } from "../session/messages.mjs";
import { runAs } from "./current.mjs";
import { decorate } from "./event_fields.mjs";
import { messageChanges, sameJson } from "./message_changes.mjs";
import { promptEvent } from "./prompt_event.mjs";
import { runShell } from "./user_shell.mjs";

/** The calls of an extension's handlers for one event. */
class Dispatch {
  constructor(host, extension, event, call) {
    this.host = host;
    this.extension = extension;
    this.runtime = extension.runtime;
    this.event = event;
    this.call = call;
    this.ctx = host.createContext(this.runtime, call);
    this.handlers = this.runtime.handlersOf(event.type);
  }

  /** Calls a handler. */
  invoke(handler, event = this.event, ctx = this.ctx) {
    return runAs(this.runtime, this.call, () => handler(event, ctx));
  }

  /** Calls all handlers; `take` gets each result and returns true to stop. An error is reported and the next one is called. */
  async each(take = () => false, eventFor = () => this.event) {
    for (const handler of this.handlers) {
      try {
        if (take(await this.invoke(handler, eventFor())) === true) return;
      } catch (error) {
        this.report(error);
      }
    }
  }

  report(error) {
    this.extension.report(this.event.type, error);
  }
}

/** Calls the handlers of an event. Returns the result of the hook; `null` if nothing is changed. */
export async function dispatch(host, extension, event, call) {
  const calls = new Dispatch(host, extension, decorate(host, event, call), call);
  if (calls.handlers.length === 0) return null;
  const combine = COMBINERS[event.type];
  if (combine) return (await combine(calls)) ?? null;
  await calls.each();
  return null;
}

const COMBINERS = {
  async project_trust(calls) {
    let answer;
    calls.ctx = projectTrustContext(calls.host, calls.event.cwd);
    await calls.each((result) => {
      if (result?.trusted !== "yes" && result?.trusted !== "no") return false;
      answer = { trusted: result.trusted, remember: result.remember === true };
      return true;
    });
    return answer;
  },

  async resources_discover(calls) {
    const found = { skillPaths: [], promptPaths: [] };
    await calls.each((result) => {
      for (const kind of Object.keys(found)) {
        if (Array.isArray(result?.[kind])) found[kind].push(...result[kind].map(String));
      }
    });
    return found.skillPaths.length + found.promptPaths.length > 0 ? found : null;
  },

  session_before_switch: lastOrCancelled,
  session_before_fork: lastOrCancelled,
  session_before_compact: lastOrCancelled,
  session_before_tree: lastOrCancelled,

  async input(calls) {
    let { text, images } = calls.event;
    let handled = false;
    await calls.each(
      (result) => {
        if (result?.action === "handled") handled = true;
        else if (result?.action === "transform") {
          text = typeof result.text === "string" ? result.text : text;
          images = result.images ?? images;
        }
        return handled;
      },
      () => ({ ...calls.event, text, images }),
    );
    if (handled) return { action: "handled" };
    if (text === calls.event.text && images === calls.event.images) return null;
    return { action: "transform", text, images: images === calls.event.images ? undefined : images };
  },

  async before_agent_start(calls) {
    const { services } = calls.host;
    const ext = calls.extension.id;
    const { event, prompt, force, outcome } = promptEvent(calls.event, {
      ask: () => services.systemPromptParts(ext),
      render: (changes) => services.systemPrompt(ext, changes),
    });
    const messages = [];
    calls.ctx = calls.host.createContext(calls.runtime, calls.call, { getSystemPrompt: prompt });
    await calls.each(
      (result) => {
        if (result?.message) messages.push(customMessage(result.message).message);
        if (result?.systemPrompt !== undefined) force(String(result.systemPrompt));
      },
      () => event,
    );
    const [message] = messages;
    const { systemPrompt, systemPromptOptions } = outcome();
    if (!message && systemPrompt === undefined && !systemPromptOptions) return null;
    return { message, messages: messages.length > 1 ? messages : undefined, systemPrompt, systemPromptOptions };
  },

  turn_end: atBoundary,
  agent_before_settle: atBoundary,

  async message_end(calls) {
    const before = JSON.stringify(calls.event.message);
    let { message } = calls.event;
    await calls.each(
      (result) => {
        if (!result?.message) return;
        if (result.message.role !== message.role) {
          throw new Error("message_end handlers must return a message with the same role");
        }
        message = result.message;
      },
      () => ({ ...calls.event, message }),
    );
    return sameJson(before, message) ? null : { message: completeMessage(message) };
  },

  async context(calls) {
    return contextResult(calls, calls.event.messages, (messages) => messages);
  },

  async context_with_system(calls) {
    const { systemPrompt = "" } = calls.event;
    const system = { role: "system", content: systemPrompt, timestamp: Date.now() };
    let prompt = systemPrompt;
    const result = await contextResult(calls, [system, ...calls.event.messages], (messages) => {
      const isSystem = (message) => message?.role === "system";
      prompt = messages.filter(isSystem).map(getSystemMessageText).join("\n\n");
      return messages.filter((message) => !isSystem(message));
    });
    return prompt === systemPrompt ? result : { ...result, systemPrompt: prompt };
  },

  async before_provider_headers(calls) {
    const { headers } = calls.event;
    const before = { ...headers };
    await calls.each();
    const names = new Set([...Object.keys(before), ...Object.keys(headers)]);
    const changed = [...names].filter((name) => headers[name] !== before[name]);
    if (changed.length === 0) return null;
    const textOf = (value) => (value === undefined || value === null ? null : String(value));
    return { headers: Object.fromEntries(changed.map((name) => [name, textOf(headers[name])])) };
  },

  async before_provider_request(calls) {
    const before = JSON.stringify(calls.event.payload);
    let { payload } = calls.event;
    await calls.each(
      (result) => {
        if (result !== undefined) payload = result;
      },
      () => ({ ...calls.event, payload }),
    );
    return sameJson(before, payload) ? null : payload;
  },

  // What is thrown blocks the tool, so it is the result.
  async tool_call(calls) {
    const before = JSON.stringify(calls.event.input);
    let blocked;
    for (const handler of calls.handlers) {
      const result = await calls.invoke(handler);
      if (result?.block) {
        blocked = result;
        break;
      }
    }
    if (blocked) {
      const { reason, terminate } = blocked;
      return { block: true, reason: reason === undefined ? undefined : String(reason), terminate: terminate === true };
    }
    return sameJson(before, calls.event.input) ? null : { input: calls.event.input };
  },

  async tool_result(calls) {
    const fields = ["content", "details", "structuredContent", "isError", "usage"];
    const event = { ...calls.event };
    const before = Object.fromEntries(fields.map((field) => [field, JSON.stringify(event[field])]));
    await calls.each(
      (result) => {
        // What is not replaced along with the content may no longer match it.
        if (result?.content !== undefined) delete event.structuredContent;
        for (const field of fields) if (result?.[field] !== undefined) event[field] = result[field];
        if (typeof event.content === "string") event.content = [{ type: "text", text: event.content }];
      },
      () => event,
    );
    const changed = fields.filter((field) => !sameJson(before[field], event[field]));
    // The engine, too, takes the one away with the other.
    if (changed.includes("structuredContent") && event.structuredContent === undefined) changed.push("content");
    else if (changed.includes("content") && event.structuredContent !== undefined) changed.push("structuredContent");
    return changed.length === 0 ? null : Object.fromEntries(changed.map((field) => [field, event[field]]));
  },

  // A failure is that of the command, so it is the result.
  async user_bash(calls) {
    for (const handler of calls.handlers) {
      const result = await calls.invoke(handler);
      if (result === undefined) continue;
      const { operations, result: finished } = result ?? {};
      if (typeof finished === "object" && finished !== null && operations === undefined) return { result: finished };
      if (typeof operations?.exec === "function" && finished === undefined) {
        const { command, cwd } = calls.event;
        const run = () => runShell(operations, command, cwd, calls.call?.signal);
        return { result: await runAs(calls.runtime, calls.call, run) };
      }
      throw new Error("A user_bash handler returns undefined, or an object with either operations or a result");
    }
    return null;
  },
};

/** The last handler that returns something decides, and one that cancels ends the chain. */
async function lastOrCancelled(calls) {
  let last = null;
  await calls.each((result) => {
    if (!result) return false;
    last = result;
    return Boolean(result.cancel);
  });
  return last;
}

/** Each handler sees the drafts of those before it. Only those that were added are returned. */
async function atBoundary(calls) {
  const before = calls.event.entries ?? [];
  const isContinuing = calls.event.continue ?? false;
  let entries = before;
  let continues = isContinuing;
  await calls.each(
    (result) => {
      if (Array.isArray(result?.entries)) entries = result.entries;
      if (result?.continue !== undefined) continues = Boolean(result.continue);
    },
    () => decorate(calls.host, { ...calls.event, entries, continue: continues }, calls.call),
  );
  const known = before.map((draft) => JSON.stringify(draft));
  const added = entries.filter((draft) => {
    const place = known.indexOf(JSON.stringify(draft));
    if (place >= 0) known.splice(place, 1);
    return place < 0;
  });
  if (added.length === 0 && continues === isContinuing) return null;
  return { entries: added.length > 0 ? added : undefined, continue: continues === isContinuing ? undefined : continues };
}

/** Handlers return other messages, or change those of the event in place. */
async function contextResult(calls, messages, outgoing) {
  const before = outgoing(messages).map((message) => JSON.stringify(message));
  let current = messages;
  await calls.each(
    (result) => {
      if (Array.isArray(result?.messages)) current = result.messages;
    },
    () => ({ ...calls.event, messages: current }),
  );
  return messageChanges(before, outgoing(current));
}
