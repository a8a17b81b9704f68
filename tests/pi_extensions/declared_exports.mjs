// Reads the export names of a TypeScript declaration file, following re-exports.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const cache = new Map();

/** Returns a map from exported name to "value" or "type". A name that is both, such as a class, is a value. */
export function exportsOf(file) {
  if (cache.has(file)) return cache.get(file);
  const names = new Map();
  // Stored before it is filled, so that modules that re-export each other end.
  cache.set(file, names);
  const { statements, locals, imports } = parse(readFileSync(file, "utf8"));
  const add = (name, kind) => {
    if (kind === "value" || !names.has(name)) names.set(name, kind);
  };

  for (const statement of statements) {
    if (statement.form === "declaration") add(statement.name, statement.kind);
    else if (statement.form === "default") add("default", "value");
    else if (statement.form === "namespace") add(statement.name, statement.typeOnly ? "type" : "value");
    else if (statement.form === "star") {
      const target = moduleFile(file, statement.from);
      if (target === undefined) continue;
      for (const [name, kind] of exportsOf(target)) {
        if (name !== "default") add(name, statement.typeOnly ? "type" : kind);
      }
    } else {
      for (const { source, name, typeOnly } of statement.names) {
        if (statement.typeOnly || typeOnly) add(name, "type");
        else if (statement.from !== undefined) add(name, kindIn(file, statement.from, source));
        else add(name, locals.get(source) ?? kindOfImport(file, imports.get(source)));
      }
    }
  }
  return names;
}

function kindOfImport(file, imported) {
  if (imported === undefined) return "value";
  if (imported.typeOnly) return "type";
  return imported.source === "*" ? "value" : kindIn(file, imported.from, imported.source);
}

/** A module that is not installed counts as exporting a value: a superfluous value does no harm, a missing one does. */
function kindIn(file, specifier, name) {
  const target = moduleFile(file, specifier);
  return (target && exportsOf(target).get(name)) ?? "value";
}

/** Returns the declaration file of `specifier` as imported by `file`, or undefined. */
function moduleFile(file, specifier) {
  if (specifier.startsWith(".")) {
    const path = resolve(dirname(file), specifier);
    const candidates = [
      path.replace(/\.(m?)js$/, ".d.$1ts"),
      path.replace(/(\.d)?\.(m?)ts$/, ".d.$2ts"),
      `${path}.d.ts`,
      `${path}.d.mts`,
      join(path, "index.d.ts"),
    ];
    return candidates.find((candidate) => /\.d\.m?ts$/.test(candidate) && existsSync(candidate));
  }
  const parts = specifier.split("/");
  const name = parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifestPath = join(folder, "node_modules", name, "package.json");
    if (!existsSync(manifestPath)) continue;
    const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
    const entry = manifest.exports?.[`.${specifier.slice(name.length)}`];
    const types = specifier === name ? (manifest.types ?? manifest.typings ?? entry?.types) : entry?.types;
    if (typeof types !== "string") return undefined;
    const path = join(dirname(manifestPath), types);
    return existsSync(path) ? path : undefined;
  }
  return undefined;
}

const DECLARATION =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(const\s+enum|const|let|var|function|class|enum|namespace|interface|type)\s*\*?\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)/u;
const LOCAL = /^(?:declare\s+)?(?:abstract\s+)?(const\s+enum|const|let|var|function|class|enum|namespace|interface|type)\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)/u;
const LIST = /^export\s+(type\s+)?\{([^}]*)\}(?:\s*from\s*["']([^"']+)["'])?/;
const STAR = /^export\s+(type\s+)?\*\s*(?:as\s+([\p{ID_Continue}$]+)\s+)?from\s*["']([^"']+)["']/u;
const IMPORT = /^import\s+(type\s+)?([^"']*?)\s*from\s*["']([^"']+)["']/;

/** Returns the file's export statements, its local declarations and its imports. */
function parse(source) {
  const statements = [];
  const locals = new Map();
  const imports = new Map();
  for (const text of topLevelStatements(source)) {
    let match;
    if ((match = LIST.exec(text))) statements.push({ form: "list", typeOnly: match[1] !== undefined, names: nameList(match[2]), from: match[3] });
    else if ((match = STAR.exec(text)))
      statements.push(
        match[2] === undefined
          ? { form: "star", typeOnly: match[1] !== undefined, from: match[3] }
          : { form: "namespace", typeOnly: match[1] !== undefined, name: match[2] },
      );
    else if (/^export\s+default\b|^export\s*=/.test(text)) statements.push({ form: "default" });
    else if ((match = DECLARATION.exec(text))) {
      const kind = kindOfKeyword(match[1]);
      statements.push({ form: "declaration", name: match[2], kind });
      if (kind === "value" || !locals.has(match[2])) locals.set(match[2], kind);
    } else if ((match = LOCAL.exec(text))) {
      const kind = kindOfKeyword(match[1]);
      if (kind === "value" || !locals.has(match[2])) locals.set(match[2], kind);
    } else if ((match = IMPORT.exec(text))) readImport(imports, match[2], match[3], match[1] !== undefined);
  }
  return { statements, locals, imports };
}

function kindOfKeyword(keyword) {
  return keyword === "interface" || keyword === "type" ? "type" : "value";
}

function readImport(imports, clause, from, typeOnly) {
  const list = /\{([^}]*)\}/.exec(clause);
  for (const item of list ? nameList(list[1]) : []) imports.set(item.name, { from, source: item.source, typeOnly: typeOnly || item.typeOnly });
  const star = /\*\s*as\s+([\p{ID_Continue}$]+)/u.exec(clause);
  if (star) imports.set(star[1], { from, source: "*", typeOnly });
  const first = /^([\p{ID_Start}$_][\p{ID_Continue}$]*)/u.exec(clause);
  if (first) imports.set(first[1], { from, source: "default", typeOnly });
}

/** Reads `A, type B, C as D`. */
function nameList(text) {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map((item) => {
      const typeOnly = /^type\s+(?!as\b)/.test(item);
      const [source, name = source] = item.replace(/^type\s+(?!as\b)/, "").split(/\s+as\s+/);
      return { source, name, typeOnly };
    });
}

/**
 * Returns the text of each top-level statement that starts with a word of interest, without comments.
 * A statement starts where the nesting is zero and a line begins with that word.
 */
function topLevelStatements(source) {
  const text = withoutComments(source);
  const starts = [];
  let depth = 0;
  let lineStart = true;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '"' || character === "'" || character === "`") {
      index = endOfString(text, index);
      lineStart = false;
      continue;
    }
    if (lineStart && depth === 0 && /[a-z]/.test(character)) {
      if (/^(export|import|declare|interface|type|class|abstract|const|let|var|function|enum|namespace)\b/.test(text.slice(index, index + 12))) starts.push(index);
      lineStart = false;
    }
    if ("{([".includes(character)) depth++;
    else if ("})]".includes(character)) depth--;
    if (character === "\n" || (character === ";" && depth === 0)) lineStart = true;
    else if (!/\s/.test(character)) lineStart = false;
  }
  return starts.map((start, position) => text.slice(start, starts[position + 1] ?? text.length));
}

function withoutComments(source) {
  let result = "";
  for (let index = 0; index < source.length; index++) {
    const character = source[index];
    if (character === '"' || character === "'" || character === "`") {
      const end = endOfString(source, index);
      result += source.slice(index, end + 1);
      index = end;
    } else if (source.startsWith("//", index)) {
      const end = source.indexOf("\n", index);
      if (end < 0) break;
      result += "\n";
      index = end;
    } else if (source.startsWith("/*", index)) {
      const end = source.indexOf("*/", index + 2);
      if (end < 0) break;
      index = end + 1;
    } else result += character;
  }
  return result;
}

/** Returns the index of the quote that closes the string which opens at `start`. */
function endOfString(text, start) {
  const quote = text[start];
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === quote) return index;
  }
  return text.length - 1;
}
