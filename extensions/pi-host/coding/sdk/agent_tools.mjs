// The tools of an agent of an extension: the session's, and the extension's own.

import { definitions } from "../tools/definitions.mjs";
import * as factories from "../tools.mjs";

const DEFAULT_TOOLS = ["read", "bash", "edit", "write"];

function builtIn(name, cwd) {
  const factory = `create${name[0].toUpperCase()}${name.slice(1)}ToolDefinition`;
  return factories[factory === "createPowershellToolDefinition" ? "createPowerShellToolDefinition" : factory](cwd);
}

/** Returns the tools by name, and the names of those that are enabled. Old callers give tools in place of names. */
export function agentTools({ cwd, tools, customTools = [], noTools, excludeTools = [], defaultTools = DEFAULT_TOOLS }) {
  const given = (tools ?? []).filter((tool) => typeof tool === "object");
  const names = tools?.map((tool) => (typeof tool === "object" ? tool.name : tool));
  const all = new Map(Object.keys(definitions).map((name) => [name, builtIn(name, cwd)]));
  for (const tool of [...given, ...customTools]) all.set(tool.name, tool);
  const own = customTools.map(({ name }) => name);
  const usual = noTools === "all" ? [] : noTools === "builtin" ? own : [...defaultTools, ...own];
  // Old callers name the built-in tools only, and mean their own ones too.
  const wanted = names ? [...names, ...(given.length > 0 ? own : [])] : usual;
  return { all, enabled: [...new Set(wanted)].filter((name) => all.has(name) && !excludeTools.includes(name)) };
}

/** Returns a tool as the agent calls it: with the context that `context` returns. */
export function withContext(tool, context) {
  return {
    ...tool,
    label: tool.label ?? tool.name,
    execute: (toolCallId, args, signal, onUpdate) => tool.execute(toolCallId, args, signal, onUpdate, context(signal)),
  };
}
