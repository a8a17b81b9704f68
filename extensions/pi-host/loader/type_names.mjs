// Names that modules in TypeScript import or pass on although they are types in another one, which has nothing of that name
// once it is JavaScript. Where it is certain that a name is such a type, it is taken out, so that the module can be linked.

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { TYPESCRIPT, fileFor } from "./files.mjs";
import { blank, transformed } from "./typescript.mjs";

const COMMENT = /^[ \t]*(?:\/\/.*|\/\*[^]*?\*\/)/gm;
const LIST = /^([ \t]*(?:import\b(?:[ \t]+[\w$]+[ \t]*,)?|export)\s*)\{([^}]*)\}(\s*from\s*["'](\.[^"'\n]*)["'])/gm;
const ITEM = /([\w$]+)(?:\s+as\s+([\w$]+))?\s*,?/g;

const DECLARATION = /^[ \t]*export\s+(?:async\s+)?(?:function\s*\*?|class)\s*([\w$]+)/gm;
const NAMES = /^[ \t]*export\s*\{([^}]*)\}/gm;
const NAMESPACE = /^[ \t]*export\s*\*\s*as\s+([\w$]+)/gm;
// What is declared is not told from what it is made of: it may declare several names, and a name too many does no harm.
const VARIABLES = /^[ \t]*export\s+(?:const|let|var)\b([^]*?);[ \t]*$/gm;
const ALL_OF = /^[ \t]*export\s*\*\s*from\s*["']([^"'\n]+)["']/gm;
const ELSEWHERE = /\S[ \t]*\bexport\s*(?:\b(?:const|let|var|function|class|async|default)\b|[{*])/;
const REMARK = /\/\*[^]*?\*\/|\/\/.*/g;

/** What modules export, by file: `undefined` if that is not certain. */
const known = new Map();

/** Returns the names that a file in TypeScript exports, and maybe more; `undefined` if there may be others. */
function exportsOf(file, above = new Set()) {
  if (above.has(file)) return new Set();
  if (known.has(file)) return known.get(file);
  const names = read(file, new Set([...above, file]));
  // Of a circle, not all is known within it.
  if (above.size === 0) known.set(file, names);
  return names;
}

function read(file, above) {
  let source;
  try {
    source = transformed(readFileSync(file, "utf8")).replace(COMMENT, "");
  } catch {
    return undefined;
  }
  if (ELSEWHERE.test(source)) return undefined;
  const names = new Set(["default"]);
  for (const pattern of [DECLARATION, NAMESPACE]) for (const [, name] of source.matchAll(pattern)) names.add(name);
  for (const [, list] of source.matchAll(NAMES)) for (const [, name, alias] of list.matchAll(ITEM)) names.add(alias ?? name);
  for (const [, text] of source.matchAll(VARIABLES)) for (const [word] of text.matchAll(/[\w$]+/g)) names.add(word);
  if (/^[ \t]*export\s+(?:const|let|var)\b/m.test(source.replace(VARIABLES, ""))) return undefined;
  for (const [, specifier] of source.matchAll(ALL_OF)) {
    const further = targetOf(specifier, file);
    const others = further && exportsOf(further, above);
    if (!others) return undefined;
    for (const name of others) names.add(name);
  }
  return names;
}

/** Returns the file in TypeScript that an import means, if it is one. */
function targetOf(specifier, file) {
  if (!specifier.startsWith(".")) return undefined;
  const target = fileFor(resolve(dirname(file), specifier));
  return target && TYPESCRIPT.test(target) ? target : undefined;
}

/** Returns the JavaScript of a file in TypeScript without names that are types elsewhere. Lines stay where they are. */
export function withoutTypes(source, file) {
  const added = [];
  const result = source.replace(LIST, (whole, before, list, after, specifier) => {
    const target = targetOf(specifier, file);
    const names = target && exportsOf(target);
    if (!names) return whole;
    const isExport = before.trimStart().startsWith("export");
    const kept = list.replace(REMARK, blank).replace(ITEM, (item, name, alias = name) => {
      if (names.has(name)) return item;
      added.push(isExport ? `var $type${added.length}; export { $type${added.length} as ${alias} };` : `var ${alias};`);
      return blank(item);
    });
    return `${before}{${kept}}${after}`;
  });
  return added.length > 0 ? `${result}\n${added.join(" ")}` : source;
}
