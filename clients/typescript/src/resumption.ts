/** What a process that is started again needs to go on where the last one ended. */
import { existsSync } from "node:fs";
import type { SessionChoice } from "./options.js";
import type { CommandName, State } from "./protocol.js";

/** Commands whose effect ends with the process, so that they are sent to the next one, too. */
const REMEMBERED: readonly CommandName[] = [
  "set_steering_mode",
  "set_follow_up_mode",
  "set_auto_compaction",
  "set_auto_retry",
  "set_host_tools",
  "set_host_uri_schemes",
  "set_client_capabilities",
  "set_approvals",
  "set_sandbox",
  "set_limits",
  "set_subagent_subscription",
];

/** Commands after which another session may be open. */
const SESSION_CHANGES: readonly CommandName[] = ["new_session", "switch_session", "fork", "clone"];

/** Commands after which another model or thinking level may be in use. */
const CHOICES: readonly CommandName[] = ["set_model", "cycle_model", "set_thinking_level", "cycle_thinking_level"];

export class Resumption {
  readonly #commands = new Map<CommandName, object>();
  #session: { file: string | undefined; id: string } | undefined;
  #choice: Pick<State, "model" | "thinkingLevel"> | undefined;

  /** Takes note of a command that has succeeded. */
  remember(name: CommandName, fields: object): void {
    if (REMEMBERED.includes(name)) this.#commands.set(name, merged(this.#commands.get(name) ?? {}, fields));
  }

  /** Takes note of the session, the model and the thinking level. */
  open(state: State): void {
    this.#session = { file: state.sessionFile, id: state.sessionId };
    this.#choice = state;
  }

  /** Returns the session to open again. */
  session(): SessionChoice | undefined {
    if (this.#session === undefined) return undefined;
    const { file, id } = this.#session;
    // A session without a message has no file.
    return file !== undefined && existsSync(file) ? { path: file } : { id };
  }

  /** Returns the commands to send to a process with this state, the model before its thinking level. */
  commands(state: State): [CommandName, object][] {
    const { model, thinkingLevel } = this.#choice ?? state;
    const commands: [CommandName, object][] = [];
    if (model !== undefined && (model.provider !== state.model?.provider || model.id !== state.model.id)) {
      commands.push(["set_model", { provider: model.provider, modelId: model.id }]);
    }
    if (commands.length > 0 || thinkingLevel !== state.thinkingLevel) {
      commands.push(["set_thinking_level", { level: thinkingLevel }]);
    }
    return [...commands, ...this.#commands];
  }
}

/** What a later command does not mention stays as it was, also within the scopes of limits. */
function merged(earlier: object, later: object): object {
  const result: Record<string, unknown> = { ...earlier };
  for (const [name, value] of Object.entries(later)) {
    const before = result[name];
    if (isPlain(before) && isPlain(value)) result[name] = { ...before, ...value };
    else if (value !== undefined) result[name] = value;
  }
  return result;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether another session may be open after a command. */
export function changesSession(name: CommandName): boolean {
  return SESSION_CHANGES.includes(name);
}

/** Whether another session, model or thinking level may be in use after a command. */
export function changesState(name: CommandName): boolean {
  return changesSession(name) || CHOICES.includes(name);
}
