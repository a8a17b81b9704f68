// `ctx` of commands: also starts, opens and changes sessions.

import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runAs } from "../host/current.mjs";
import { normalizedOptions } from "../host/prompt_event.mjs";
import { completeMessage } from "../session/messages.mjs";
import { createContext } from "./context.mjs";

/** How long the next session may take to begin after the engine has answered, in milliseconds. */
const REPLACEMENT_LIMIT_MS = 30_000;

/** Returns the context of a command. */
export function createCommandContext(host, runtime, call) {
  const { extension } = runtime;
  const ask = (method, params) => host.requests.request(extension.id, method, params);

  const replace = async (method, params, withSession) => {
    const answer = await ask(method, params);
    if (answer?.cancelled) return { cancelled: true };
    await extension.replaced(runtime, REPLACEMENT_LIMIT_MS);
    if (typeof withSession === "function") {
      const next = extension.runtime;
      await runAs(next, call, () => withSession(createReplacedContext(host, next, call)));
    }
    return { cancelled: false };
  };

  return createContext(host, runtime, call, {
    getSystemPromptOptions: () => normalizedOptions(host.services.systemPromptParts(extension.id)),
    waitForIdle: async () => void (await ask("session.waitIdle")),
    newSession: async ({ parentSession, setup, withSession } = {}) => {
      const file = typeof setup === "function" ? await prepared(host.state, parentSession, setup) : undefined;
      if (!file) return replace("session.new", { parentSession }, withSession);
      host.preparedSession = file;
      try {
        const answer = await replace("session.switch", { sessionPath: file }, withSession);
        if (answer.cancelled) rmSync(file, { force: true });
        return answer;
      } finally {
        host.preparedSession = undefined;
      }
    },
    fork: (entryId, { position, withSession } = {}) => replace("session.fork", { entryId, position }, withSession),
    switchSession: (sessionPath, { withSession } = {}) => replace("session.switch", { sessionPath: String(sessionPath) }, withSession),
    navigateTree: async (targetId, { summarize, customInstructions, replaceInstructions, label } = {}) => {
      const params = { targetId, summarize, customInstructions, replaceInstructions };
      const cancelled = Boolean((await ask("session.navigate", params))?.cancelled);
      if (label !== undefined && !cancelled) host.requests.notify(extension.id, "session.setLabel", { entryId: targetId, label });
      return { cancelled };
    },
    reload: async () => void (await ask("session.reload")),
  });
}

/** Returns the context of the session that took the place of another. It can also send messages and wait for their effect. */
function createReplacedContext(host, runtime, call) {
  const { id } = runtime.extension;
  const send = async (method, params, waits) => {
    runtime.assertUsable();
    host.requests.notify(id, method, params);
    if (waits) await host.requests.request(id, "session.waitIdle");
  };
  return Object.assign(createCommandContext(host, runtime, call), {
    sendMessage: (message, options) => {
      const params = customMessage(message, options);
      return send("session.sendMessage", params, params.triggerTurn === true);
    },
    sendUserMessage: (content, options) => send("session.sendUserMessage", userMessage(content, options), true),
  });
}

/** Writes the session that `setup` makes. Returns its file; `undefined` if it is empty or sessions have no files. */
async function prepared({ cwd, sessionFile }, parentSession, setup) {
  const { SessionManager } = await import("../session_manager.mjs");
  const manager = SessionManager.inMemory(cwd, { parentSession });
  await setup(manager);
  const entries = manager.getEntries();
  if (entries.length === 0 || !sessionFile) return undefined;
  const header = manager.getHeader();
  for (const entry of entries) if (entry.type === "message") entry.message = completeMessage(entry.message) ?? entry.message;
  const file = join(dirname(sessionFile), `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`);
  writeFileSync(file, [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600 });
  return file;
}

/** Returns the parameters of `session.sendMessage`. */
export function customMessage({ customType, content, display, details }, { triggerTurn, deliverAs } = {}) {
  return {
    message: { customType: String(customType), content: content ?? "", display: display === true, details },
    deliverAs: ["steer", "followUp", "nextTurn"].includes(deliverAs) ? deliverAs : undefined,
    triggerTurn,
  };
}

/** Returns the parameters of `session.sendUserMessage`. */
export function userMessage(content, { deliverAs, expandPromptTemplates } = {}) {
  return {
    content: content ?? "",
    deliverAs: ["steer", "followUp"].includes(deliverAs) ? deliverAs : undefined,
    expandPromptTemplates,
  };
}
