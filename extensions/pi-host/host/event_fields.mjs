// What pi's events have beside what the engine sends: made of the session when it is used.

import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

const ADDITIONS = {
  input(host, event) {
    // One-shot runs have no client: pi takes their messages for typed ones.
    if (event.source === "rpc" && host.mode !== "rpc") event.source = "interactive";
  },

  // What the engine says of a message of an extension beside it is for extensions of other kinds.
  before_agent_start(_, event) {
    event.messageType = event.message ? "custom" : "user";
    if (event.message) for (const field of ["prompt", "images"]) delete event[field];
  },

  session_before_compact(host, event, call) {
    lazily(event, "branchEntries", () => host.services.sessionManager().getBranch());
    event.signal = call?.signal;
    const operations = event.preparation?.fileOps;
    for (const list of ["read", "written", "edited"]) if (operations) operations[list] = new Set(operations[list]);
  },

  session_before_tree(host, event, call) {
    event.signal = call?.signal;
    const preparation = event.preparation;
    if (!preparation || "entriesToSummarize" in preparation) return;
    const branch = (id) => (id ? host.services.sessionManager().getBranch(id) : []);
    let parts;
    const split = () => {
      if (parts) return parts;
      const target = new Set(branch(preparation.targetId).map((entry) => entry.id));
      const old = branch(preparation.oldLeafId);
      const common = old.filter((entry) => target.has(entry.id)).at(-1)?.id ?? null;
      parts = { common, left: old.filter((entry) => !target.has(entry.id)) };
      return parts;
    };
    lazily(preparation, "commonAncestorId", () => split().common);
    lazily(preparation, "entriesToSummarize", () => split().left);
  },

  turn_end: boundary,
  agent_before_settle: boundary,
};

function boundary(host, event) {
  const context = (event.context ??= { canContinue: true });
  const manager = () => host.services.sessionManager();
  lazily(context, "contextEntries", () => manager().buildSessionProjection().entries ?? manager().buildContextEntries());
  lazily(context, "contextMessages", () => manager().buildSessionContext().messages);
  lazily(context, "llmMessages", () => load("../session/messages.mjs").convertToLlm(context.contextMessages));
  lazily(context, "pendingMessages", () => []);
}

/** Returns the event with all fields that pi gives it. */
export function decorate(host, event, call) {
  ADDITIONS[event.type]?.(host, event, call);
  return event;
}

/** Defines a field that is computed when it is first used, unless it exists. */
function lazily(object, name, compute) {
  if (name in object) return;
  Object.defineProperty(object, name, {
    configurable: true,
    enumerable: true,
    get() {
      const value = compute();
      Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
      return value;
    },
    set(value) {
      Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
    },
  });
}
