// What an extension offers and wants, as records, and what has changed of it.

import { engineConfig } from "../api/mcp_servers.mjs";
import { strictSampling } from "../model/strict_sampling.mjs";
import { virtualRecord } from "../model/virtual_model.mjs";
import { toJson } from "../records.mjs";

/** Events that nobody waits for, whatever an extension does in them. */
const STREAMED = new Set(["message_update", "tool_execution_update", "ui_prompt_start", "ui_prompt_end"]);

/** Events that the engine has. Subscriptions of others are accepted and never called. */
const KNOWN_EVENTS = new Set([
  ...["project_trust", "resources_discover", "session_start", "session_info_changed", "session_before_switch"],
  ...["session_before_fork", "session_before_compact", "session_compact", "session_compact_failed"],
  ...["session_before_tree", "session_tree", "session_shutdown", "input", "before_agent_start", "agent_start"],
  ...["agent_end", "turn_start", "turn_end", "agent_before_settle", "agent_settled", "message_start"],
  ...["message_update", "message_end", "context", "context_with_system", "before_provider_headers"],
  ...["before_provider_request", "after_provider_response", "tool_execution_start", "tool_execution_update"],
  ...["tool_execution_end", "tool_call", "tool_result", "user_bash", "model_select", "thinking_level_select"],
  ...["ui_prompt_start", "ui_prompt_end", "cache_warming_decision", "provider_stream_event"],
]);

/** Events that the host needs of every extension, because they begin and end its instances. */
const OF_LIFECYCLE = ["session_start", "session_shutdown"];

const KINDS = ["tools", "commands", "flags", "hooks", "providers", "mcpServers", "virtualModels"];

/** What an instance offers that is not known yet. */
export const NOTHING = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));

/** Returns what an instance of an extension offers, by kind and name; its MCP servers if bowline is to connect them. */
export function offered(runtime, { connectsServers = true } = {}) {
  return {
    tools: byName([...runtime.tools.values()].map(toolRecord)),
    commands: byName([...runtime.commands].map(([name, command]) => commandRecord(name, command))),
    flags: byName([...runtime.flags].map(([name, flag]) => flagRecord(name, flag))),
    hooks: new Map(hookRecords(runtime).map((hook) => [hook.event, hook])),
    providers: byName([...runtime.providers.values()]),
    virtualModels: byName([...runtime.virtualModels.values()].map(virtualRecord)),
    mcpServers: byName(connectsServers ? [...runtime.mcpServers].map(serverRecord) : []),
  };
}

/** Returns offers as the fields of a record. */
export function asFields(offers) {
  return Object.fromEntries(KINDS.map((kind) => [kind, [...offers[kind].values()]]));
}

/** Returns what is to be registered and unregistered to get from one offer to another; each `undefined` if nothing is. */
export function difference(before, after) {
  const register = {};
  const unregister = {};
  for (const kind of KINDS) {
    const isNew = ([name, record]) => toJson(before[kind].get(name)) !== toJson(record);
    const added = [...after[kind]].filter(isNew).map(([, record]) => record);
    if (added.length > 0) register[kind] = added;
    const removed = [...before[kind].keys()].filter((name) => !after[kind].has(name));
    if (removed.length > 0 && kind !== "flags") unregister[kind] = removed;
  }
  const orUndefined = (fields) => (Object.keys(fields).length > 0 ? fields : undefined);
  return { register: orUndefined(register), unregister: orUndefined(unregister) };
}

function byName(records) {
  return new Map(records.map((record) => [record.name, record]));
}

/** Ways to reach a tool by which the model is told of it at once. */
const DECLARED = new Set([undefined, "direct", "model-only"]);

/** Tells whether a tool is active as soon as it is registered. */
export function isActiveAtOnce({ defaultActive, exposure }) {
  return defaultActive !== false && DECLARED.has(exposure);
}

function toolRecord(tool) {
  const guidelines = tool.promptGuidelines;
  return {
    name: String(tool.name),
    label: optionalText(tool.label),
    description: String(tool.description ?? ""),
    parameters: plainSchema(tool.parameters),
    promptSnippet: optionalText(tool.promptSnippet),
    promptGuidelines: Array.isArray(guidelines) ? guidelines.map(String) : undefined,
    executionMode: tool.executionMode === "sequential" ? "sequential" : undefined,
    defaultActive: isActiveAtOnce(tool) ? undefined : false,
    prepareArguments: typeof tool.prepareArguments === "function" ? true : undefined,
    constrainedSampling: strictSampling(tool),
  };
}

/** Returns a schema as plain JSON, without what a library notes in it for itself. */
function plainSchema(schema) {
  const plain = JSON.parse(JSON.stringify(schema, (key, value) => (key.startsWith("~") ? undefined : value)));
  return plain.type === undefined && plain.properties !== undefined ? { type: "object", ...plain } : plain;
}

function commandRecord(name, command) {
  return {
    name: String(name),
    description: optionalText(command.description),
    hasCompletion: typeof command.getArgumentCompletions === "function" ? true : undefined,
  };
}

function flagRecord(name, flag) {
  return {
    name: String(name),
    type: flag.type === "string" ? "string" : "boolean",
    description: optionalText(flag.description),
    default: flag.default,
  };
}

function serverRecord([name, config]) {
  return { name, config: engineConfig(config) };
}

function hookRecords(runtime) {
  const events = new Set([...OF_LIFECYCLE, ...[...runtime.handlers.keys()].filter((event) => KNOWN_EVENTS.has(event))]);
  const hooks = [...events].map((event) => ({ event, await: !STREAMED.has(event) }));
  // The whole message of an update is built here, from its beginning.
  if (events.has("message_update") && !events.has("message_start")) hooks.push({ event: "message_start", await: false });
  return hooks;
}

function optionalText(value) {
  return value === undefined || value === null ? undefined : String(value);
}
