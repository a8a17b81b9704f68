// What a model is told about the tools that every session has.

/** Marks a schema as that of a field that may be absent, in the way in which TypeBox does when it composes schemas. */
function optional(schema) {
  return Object.defineProperty(schema, "~optional", { value: true });
}

function typed(kind, schema) {
  return Object.defineProperty(schema, "~kind", { value: kind });
}

const described = (description) => (description ? { description } : {});
const text = (description) => typed("String", { type: "string", ...described(description) });
const number = (description) => typed("Number", { type: "number", ...described(description) });
const boolean = (description) => typed("Boolean", { type: "boolean", ...described(description) });
const list = (items, description) => typed("Array", { type: "array", items, ...described(description) });

function object(properties) {
  const required = Object.keys(properties).filter((name) => !properties[name]["~optional"]);
  return typed("Object", { type: "object", ...(required.length > 0 ? { required } : {}), properties });
}

const PATH = "File, relative or absolute";
const SESSION_VARIABLES = "The model and the session are in environment variables that begin with PI_.";

function shell(name, noun) {
  return {
    name,
    description:
      `Run a ${noun} command in the working directory. Returns stdout and stderr together, the last 2000 lines or 50KB; ` +
      "longer output is kept in a file whose path is given.",
    promptSnippet: `Run ${noun} commands`,
    promptGuidelines: [SESSION_VARIABLES],
    parameters: () =>
      object({ command: text(), timeout: optional(number("Seconds after which the command is killed (default: none)")) }),
  };
}

/** The tools by name. A tool's parameters are made anew for each caller, who may change them. */
export const definitions = {
  read: {
    name: "read",
    description: "Read a text file or an image (png, jpeg, gif, webp). Shows up to 2000 lines or 50KB; use offset to continue.",
    promptSnippet: "Read files",
    promptGuidelines: ["Look at files with read, not with cat or sed."],
    parameters: () =>
      object({ path: text(PATH), offset: optional(number("First line, from 1")), limit: optional(number("Number of lines")) }),
  },
  bash: shell("bash", "shell"),
  powershell: shell("powershell", "PowerShell"),
  edit: {
    name: "edit",
    description:
      "Replace pieces of a text file. Each oldText must be in the file exactly once; all are matched against the file before " +
      "the call and must not overlap. Change several places in one call.",
    promptSnippet: "Replace pieces of files, several in one call",
    promptGuidelines: [
      "Change parts of files with edit; keep each oldText as short as is unique.",
      "Change several places of a file in one call of edit. Merge changes that touch each other.",
    ],
    parameters: () => object({ path: text(PATH), edits: list(object({ oldText: text(), newText: text() })) }),
  },
  write: {
    name: "write",
    description: "Create a file or replace it completely. Missing directories are created. To change part of a file, use edit.",
    promptSnippet: "Create or replace files",
    promptGuidelines: ["Use write for new files and complete rewrites only."],
    parameters: () => object({ path: text(PATH), content: text("The whole new content") }),
  },
  grep: {
    name: "grep",
    description: "Search files for a regular expression. Prints path:line: text. Skips what .gitignore excludes.",
    promptSnippet: "Search files for patterns",
    parameters: () =>
      object({
        pattern: text(),
        path: optional(text("File or directory (default: .)")),
        glob: optional(text("Only files such as *.ts")),
        ignoreCase: optional(boolean()),
        literal: optional(boolean("Treat pattern as plain text")),
        context: optional(number("Lines around each match (default: 0)")),
        limit: optional(number("Most matches (default: 100)")),
      }),
  },
  find: {
    name: "find",
    description: "Find files and directories by glob. Skips what .gitignore excludes.",
    promptSnippet: "Find files by glob",
    parameters: () =>
      object({
        pattern: text("Glob such as *.ts or src/**/*.spec.ts"),
        path: optional(text("Directory (default: .)")),
        limit: optional(number("Most results (default: 1000)")),
      }),
  },
  ls: {
    name: "ls",
    description: "List a directory, hidden files included. Directories end in /.",
    promptSnippet: "List directories",
    parameters: () =>
      object({ path: optional(text("Directory (default: .)")), limit: optional(number("Most entries (default: 500)")) }),
  },
};
