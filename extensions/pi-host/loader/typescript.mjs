// TypeScript as JavaScript, kept in a cache by content.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";

/** Changes when the same source is transformed into something else. */
const FORMAT = "1";

let cacheFolder;

/** Keeps transformed sources in a folder. Without one, none are kept. */
export function useCache(folder) {
  cacheFolder = folder ? join(folder, "sources") : undefined;
}

/** Returns the JavaScript of a module in TypeScript. */
export function transformed(source) {
  if (!cacheFolder) return transform(source);
  const hash = createHash("sha256").update(`${FORMAT}\n${process.version}\n${source}`).digest("hex");
  const folder = join(cacheFolder, hash.slice(0, 2));
  const path = join(folder, `${hash.slice(2)}.js`);
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It was not transformed yet.
  }
  const result = transform(source);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, result, { mode: 0o600 });
    renameSync(draft, path);
  } catch {
    // It is transformed again the next time.
  }
  return result;
}

function transform(source) {
  return withoutUnusedImports(strip(source));
}

/** Types alone are replaced by spaces, which keeps places in errors right. Enums and the like need more. */
function strip(source) {
  try {
    return module.stripTypeScriptTypes(source, { mode: "strip" });
  } catch (error) {
    if (error.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    return module.stripTypeScriptTypes(source, { mode: "transform" });
  }
}

const IMPORT = /^([ \t]*)import\b([ \t]+[\w$]+[ \t]*,?)?(\s*\*\s*as\s+[\w$]+)?(\s*\{[^}]*\})?(\s*from\s*["'][^"'\n]+["'][^;\n]*;?)/gm;
const COMMENT = /^[ \t]*(?:\/\/.*|\/\*[^]*?\*\/)/gm;

/**
 * Removes names from imports that nothing uses any more: they were types, which the imported module may not have as values.
 * An import without names is removed too. A name that occurs anywhere else, even in a text, stays.
 */
export function withoutUnusedImports(source) {
  let counted;
  const isUsed = (name) => {
    counted ??= countWords(source.replace(COMMENT, ""));
    return (counted.get(name) ?? 0) > 1;
  };
  const isClauseUsed = (clause) => clause === undefined || isUsed(/([\w$]+)\s*,?$/.exec(clause)[1]);
  return source.replace(IMPORT, (whole, indent, first, namespace, list, origin) => {
    if (!first && !namespace && !list) return whole;
    const keptFirst = isClauseUsed(first?.trimEnd()) ? first : undefined;
    const keptNamespace = isClauseUsed(namespace) ? namespace : undefined;
    const keptList = list?.replace(/([\w$]+)(?:\s+as\s+([\w$]+))?(\s*,)?/g, (item, name, alias) =>
      isUsed(alias ?? name) ? item : blank(item),
    );
    const hasNames = /[\w$]/.test(keptList ?? "");
    if (!keptFirst && !keptNamespace && !hasNames) return blank(whole);
    const rest = [keptNamespace, hasNames ? keptList : undefined].filter(Boolean).join("");
    const separated = keptFirst && rest && !/,\s*$/.test(keptFirst) ? `${keptFirst},` : keptFirst;
    const before = rest ? separated : keptFirst?.replace(/,\s*$/, "");
    const lines = whole.split("\n").length - (indent + (before ?? "") + rest + origin).split("\n").length;
    return `${indent}import${before ?? ""}${rest}${"\n".repeat(lines)}${origin}`;
  });
}

/** Returns as much white space as a text takes. */
export function blank(text) {
  return text.replace(/[^\n]/g, " ");
}

function countWords(source) {
  const counted = new Map();
  for (const [word] of source.matchAll(/[\w$]+/g)) counted.set(word, (counted.get(word) ?? 0) + 1);
  return counted;
}

const REQUIRE = /\b(?:require|__dirname|__filename)\b/;
const DECLARED = /\b(?:const|let|var|function|class)\s+(require|__dirname|__filename)\b|[{,]\s*(require)\s*[},]|\bas\s+(require)\b/g;

/** Returns a module with `require`, `__dirname` and `__filename` if it uses them without declaring them. Lines stay where they are. */
export function withCommonNames(source) {
  if (!REQUIRE.test(source)) return source;
  const declared = new Set([...source.matchAll(DECLARED)].flatMap((match) => match.slice(1)));
  const parts = [];
  const add = (name, value) => {
    if (!declared.has(name) && new RegExp(`\\b${name}\\b`).test(source)) parts.push(`var ${name} = ${value};`);
  };
  add("require", "$bowlineCreateRequire(import.meta.url)");
  add("__filename", "import.meta.filename");
  add("__dirname", "import.meta.dirname");
  if (parts.length === 0) return source;
  const needsCreator = parts[0].includes("$bowlineCreateRequire");
  const creator = needsCreator ? 'import { createRequire as $bowlineCreateRequire } from "node:module"; ' : "";
  const [shebang] = /^#!.*/.exec(source) ?? [""];
  return `${shebang}${shebang ? "\n" : ""}${creator}${parts.join(" ")} ${source.slice(shebang.length)}`;
}

/** Tells whether a source is a module of the language, rather than of CommonJS. */
export function isModule(source) {
  return /^[ \t]*(?:import\b(?!\s*\()|export\b)/m.test(source) || !/\bmodule\.exports\b|\bexports\.\w/.test(source);
}
