// The session's own tools for extensions that wrap or replace them. A call goes to bowline, which has its own implementation,
// unless the extension changes what a tool works on: then the host carries it out.

import { resolve } from "node:path";
import { bridge } from "../bridge.mjs";
import { currentCwd } from "../paths.mjs";
import { lazily } from "./lazy.mjs";
import { definitions } from "./tools/definitions.mjs";

const local = {
  read: lazily("./tools/read.mjs", "read"),
  bash: lazily("./tools/bash.mjs", "bash"),
  powershell: lazily("./tools/bash.mjs", "powershell"),
  edit: lazily("./tools/edit.mjs", "edit"),
  write: lazily("./tools/write.mjs", "write"),
  grep: lazily("./tools/grep.mjs", "grep"),
  find: lazily("./tools/find.mjs", "find"),
  ls: lazily("./tools/ls.mjs", "ls"),
};
const prepareEdits = lazily("./tools/edit.mjs", "prepareEdits");
const renderCall = lazily("./tools/rendering.mjs", "renderCall");
const renderResult = lazily("./tools/rendering.mjs", "renderResult");

/** The options that change how a tool works, and so need the implementation in the host. */
const CHANGING = ["operations", "spawnHook", "commandPrefix", "shellPath"];

/** Tells whether bowline can carry out a call. It has no PowerShell, and works in the folder of the session. */
function isEngines(name, cwd, options) {
  if (typeof bridge.request !== "function" || name === "powershell") return false;
  return CHANGING.every((option) => options?.[option] === undefined) && resolve(cwd) === resolve(currentCwd());
}

async function executeInEngine(name, args, signal, onUpdate) {
  if (signal?.aborted) throw new Error("Operation aborted");
  const onProgress = onUpdate && ((partial) => onUpdate({ content: partial.content ?? [], details: partial.details }));
  // The tool may be asked for by the one that replaces it.
  const params = { name, args, builtin: true };
  const { content, details, usage, isError } = await bridge.request("tool.execute", params, { signal, onProgress });
  if (isError) {
    const texts = content.filter((block) => block.type === "text").map((block) => block.text);
    throw new Error(texts.join("\n") || `The tool ${name} failed`);
  }
  return { content, details, ...(usage ? { usage } : {}) };
}

function definition(name, cwd, options) {
  const { description, promptSnippet, promptGuidelines, parameters } = definitions[name];
  const isShell = name === "bash" || name === "powershell";
  const tellsVariables = !isShell || options?.exposeSessionEnvironment !== false;
  return {
    name,
    label: name,
    description,
    promptSnippet,
    ...(promptGuidelines && tellsVariables ? { promptGuidelines: [...promptGuidelines] } : {}),
    parameters: parameters(),
    ...(name === "edit" ? { renderShell: "self", prepareArguments: (args) => prepareEdits(args) } : {}),
    async execute(toolCallId, args, signal, onUpdate, ctx) {
      const folder = ctx?.cwd || cwd || currentCwd();
      if (isEngines(name, folder, options)) return executeInEngine(name, args, signal, onUpdate);
      return local[name](args, { cwd: folder, options: options ?? {}, signal, onUpdate, ctx });
    },
    renderCall: (args, theme, context) => renderCall(name, args, theme, context),
    renderResult: (result, rendering, theme, context) => renderResult(result, rendering, theme, context),
  };
}

/** Returns the part of a definition that an agent without a terminal needs. */
function toolOf({ renderCall: _call, renderResult: _result, renderShell: _shell, ...tool }) {
  return tool;
}

const tool = (name, cwd, options) => toolOf(definition(name, cwd, options));

export const createReadToolDefinition = (cwd, options) => definition("read", cwd, options);
export const createBashToolDefinition = (cwd, options) => definition("bash", cwd, options);
export const createPowerShellToolDefinition = (cwd, options) => definition("powershell", cwd, options);
export const createEditToolDefinition = (cwd, options) => definition("edit", cwd, options);
export const createWriteToolDefinition = (cwd, options) => definition("write", cwd, options);
export const createGrepToolDefinition = (cwd, options) => definition("grep", cwd, options);
export const createFindToolDefinition = (cwd, options) => definition("find", cwd, options);
export const createLsToolDefinition = (cwd, options) => definition("ls", cwd, options);

export const createReadTool = (cwd, options) => tool("read", cwd, options);
export const createBashTool = (cwd, options) => tool("bash", cwd, options);
export const createPowerShellTool = (cwd, options) => tool("powershell", cwd, options);
export const createEditTool = (cwd, options) => tool("edit", cwd, options);
export const createWriteTool = (cwd, options) => tool("write", cwd, options);
export const createGrepTool = (cwd, options) => tool("grep", cwd, options);
export const createFindTool = (cwd, options) => tool("find", cwd, options);
export const createLsTool = (cwd, options) => tool("ls", cwd, options);

const several = (names) => (cwd, options) => names.map((name) => tool(name, cwd, options?.[name]));

/** Returns the tools that a coding agent needs at least. */
export const createCodingTools = several(["read", "bash", "edit", "write"]);
/** Returns the tools that change nothing. */
export const createReadOnlyTools = several(["read", "grep", "find", "ls"]);

// The tools of the session's folder, as old versions of the package had them.
export const readTool = tool("read");
export const bashTool = tool("bash");
export const editTool = tool("edit");
export const writeTool = tool("write");
export const grepTool = tool("grep");
export const findTool = tool("find");
export const lsTool = tool("ls");
export const codingTools = [readTool, bashTool, editTool, writeTool];
export const readOnlyTools = [readTool, grepTool, findTool, lsTool];
export const readToolDefinition = definition("read");
export const bashToolDefinition = definition("bash");
export const editToolDefinition = definition("edit");
export const writeToolDefinition = definition("write");
export const grepToolDefinition = definition("grep");
export const findToolDefinition = definition("find");
export const lsToolDefinition = definition("ls");
