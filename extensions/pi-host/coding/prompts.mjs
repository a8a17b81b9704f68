// Prompt templates: Markdown files whose text takes the place of `/name arguments`.

import { readFileSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir, resolvePath } from "../paths.mjs";
import { createSyntheticSourceInfo } from "./events.mjs";
import { parseFrontmatter } from "./front_matter.mjs";

const LONGEST_DESCRIPTION = 60;

/** Returns the arguments of a command. Quotes hold an argument together and vanish. */
export function parseCommandArgs(text) {
  const found = text.matchAll(/(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|[^\s"'])+/g);
  const unquoted = (whole) => whole.replace(/"([^"]*)(?:"|$)|'([^']*)(?:'|$)/g, (_quoted, double, single) => double ?? single);
  return [...found].map(([whole]) => unquoted(whole));
}

const PLACEHOLDER = /\$\{(\d+|ARGUMENTS|@):-([^}]*)\}|\$\{@:(\d+)(?::(\d+))?\}|\$(ARGUMENTS|@|\d+)/g;

/** Returns a template with the arguments in the places that are marked for them. */
export function substituteArgs(content, args) {
  const all = args.join(" ");
  const value = (name) => (name === "@" || name === "ARGUMENTS" ? all : (args[Number(name) - 1] ?? ""));
  return content.replace(PLACEHOLDER, (_mark, optional, fallback, start, length, name) => {
    if (optional !== undefined) return value(optional) || fallback;
    if (start === undefined) return value(name);
    const first = Math.max(0, Number(start) - 1);
    return args.slice(first, length === undefined ? undefined : first + Number(length)).join(" ");
  });
}

function templateOf(filePath, sourceInfo) {
  const { frontmatter, body } = parseFrontmatter(readFileSync(filePath, "utf8"));
  const line = body.split("\n").find((text) => text.trim()) ?? "";
  const shortened = line.length > LONGEST_DESCRIPTION ? `${line.slice(0, LONGEST_DESCRIPTION)}...` : line;
  const hint = frontmatter["argument-hint"];
  return {
    name: basename(filePath, ".md"),
    description: (typeof frontmatter.description === "string" && frontmatter.description) || shortened,
    ...(typeof hint === "string" && hint ? { argumentHint: hint } : {}),
    content: body,
    sourceInfo,
    filePath,
  };
}

function filesOf(path) {
  try {
    if (!statSync(path).isDirectory()) return path.endsWith(".md") ? [path] : [];
    return readdirSync(path).filter((name) => name.endsWith(".md")).map((name) => join(path, name));
  } catch {
    return [];
  }
}

/** Returns the templates of all places, with warnings about those that cannot be read. */
export function loadPromptTemplates({ cwd, agentDir = getAgentDir(), promptPaths = [], includeDefaults = true }) {
  const result = { templates: [], diagnostics: [] };
  const defaults = [
    { path: join(resolvePath(agentDir), "prompts"), scope: "user" },
    { path: join(resolvePath(cwd), CONFIG_DIR_NAME, "prompts"), scope: "project" },
  ];
  const given = promptPaths.map((path) => ({ path: resolvePath(path.trim(), cwd) }));
  for (const { path, scope } of [...(includeDefaults ? defaults : []), ...given]) {
    for (const file of filesOf(path)) {
      try {
        const baseDir = file === path ? dirname(file) : path;
        result.templates.push(templateOf(file, createSyntheticSourceInfo(file, { source: "local", scope, baseDir })));
      } catch (error) {
        result.diagnostics.push({ type: "warning", message: error.message, path: file });
      }
    }
  }
  return result;
}

/** Returns the text of the template that a message names, with its arguments, or the message as it is. */
export function expandPromptTemplate(text, templates) {
  const found = /^\/(\S+)(?:\s+([^]*))?$/.exec(text);
  const template = found && templates.find(({ name }) => name === found[1]);
  return template ? substituteArgs(template.content, parseCommandArgs(found[2] ?? "")) : text;
}
