// Runs the tools of extensions.

import { createRequire } from "node:module";
import { runAs } from "../host/current.mjs";

const load = createRequire(import.meta.url);

/** Runs a tool and returns the result of the record. */
export async function runTool(host, extension, { id, name, toolCallId, args }, call) {
  const { runtime } = extension;
  const tool = runtime.tools.get(name);
  if (!tool) throw new Error(`The extension has no tool ${name}`);
  call.toolCallId = toolCallId;
  const ctx = host.createContext(runtime, call);
  let isRunning = true;
  const onUpdate = (partial) => {
    if (!isRunning) return;
    const { content, details } = partial ?? {};
    host.send({ type: "update", ext: extension.id, id, partial: { content: blocks(content), details } });
  };
  try {
    return await runAs(runtime, call, async () => {
      const checked = prepared(tool, toolCallId, args);
      return outcome(await tool.execute(toolCallId, checked, call.signal, onUpdate, ctx));
    });
  } finally {
    isRunning = false;
  }
}

/** The engine checks the arguments, unless the tool changes them before that. */
function prepared(tool, id, args) {
  if (typeof tool.prepareArguments !== "function") return args;
  const { validateToolArguments } = load("../model/validation.mjs");
  return validateToolArguments(tool, { type: "toolCall", id, name: tool.name, arguments: tool.prepareArguments(args) });
}

function outcome(result) {
  const { content, details, structuredContent, usage, isError, terminate } = result ?? {};
  const onlyTrue = (value) => (value === true ? true : undefined);
  const flags = { isError: onlyTrue(isError), terminate: onlyTrue(terminate) };
  return { content: blocks(content), details, structuredContent, usage, ...flags };
}

function blocks(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(block) : [];
}

function block(part) {
  if (typeof part === "string") return { type: "text", text: part };
  return part?.type === "text" && typeof part.text !== "string" ? { ...part, text: String(part.text ?? "") } : part;
}
