// Completion of commands, their arguments, and files.

import { readdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import { fuzzyFilter, fuzzyMatch } from "./fuzzy.mjs";

const MOST_FOUND = 20;
// A search gives up here: it runs while the user types.
const MOST_VISITED = 5000;
const SKIPPED = new Set([".git", "node_modules"]);

/** Suggests commands after "/", files after "@" and in paths. */
export class CombinedAutocompleteProvider {
  #commands;
  #basePath;

  constructor(commands = [], basePath = process.cwd()) {
    this.#commands = commands;
    this.#basePath = basePath;
  }

  async getSuggestions(lines, cursorLine, cursorCol, options = {}) {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
    const word = lastWord(before);
    if (word.startsWith("@")) return suggestions(await this.#search(pathIn(word), options.signal), word);
    if (!options.force && before.startsWith("/")) return this.#command(before);
    const path = pathIn(word);
    const looksLikePath = word.startsWith('"') || /\//.test(path) || path.startsWith(".") || (path === "" && before !== "");
    if (!options.force && !looksLikePath) return null;
    return suggestions(this.#listed(word), word);
  }

  async #command(before) {
    const space = before.indexOf(" ");
    if (space < 0) {
      const wanted = before.slice(1);
      // Skills are found by their own name too.
      const searched = (name) => (wanted.startsWith("skill:") ? name : name.replace(/^skill:/, ""));
      const items = this.#commands.map((command) => {
        const name = command.name ?? command.value;
        const description = [command.argumentHint, command.description].filter(Boolean).join(" — ");
        return { value: name, label: name, ...(description ? { description } : {}) };
      });
      return suggestions(fuzzyFilter(items, wanted, (item) => searched(item.value)), before);
    }
    const name = before.slice(1, space);
    const command = this.#commands.find((candidate) => (candidate.name ?? candidate.value) === name);
    const argument = before.slice(space + 1);
    const items = await command?.getArgumentCompletions?.(argument);
    return Array.isArray(items) ? suggestions(items, argument) : null;
  }

  #absolute(path) {
    if (path === "~" || path.startsWith("~/")) return join(homedir(), path.slice(1));
    return path.startsWith("/") ? path : join(this.#basePath, path);
  }

  // The entries of one folder, folders first.
  #listed(word) {
    const path = pathIn(word) === "~" ? "~/" : pathIn(word);
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const wanted = path.slice(folder.length).toLowerCase();
    const directory = this.#absolute(folder || ".");
    let entries;
    try {
      entries = readdirSync(directory, { withFileTypes: true });
    } catch {
      return [];
    }
    return entries
      .filter((entry) => entry.name.toLowerCase().startsWith(wanted))
      .map((entry) => fileItem(folder + entry.name, entry.name, isFolder(entry, directory), word))
      .sort((one, other) => Number(other.label.endsWith("/")) - Number(one.label.endsWith("/")) || one.label.localeCompare(other.label));
  }

  // Files under a folder whose path has the letters of the query.
  async #search(query, signal) {
    const folder = query.slice(0, query.lastIndexOf("/") + 1);
    const wanted = query.slice(folder.length);
    const found = [];
    const waiting = [""];
    let visited = 0;
    while (waiting.length > 0 && visited < MOST_VISITED && !signal?.aborted) {
      const inner = waiting.shift();
      const directory = this.#absolute(folder + inner || ".");
      const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        visited += 1;
        if (SKIPPED.has(entry.name)) continue;
        const path = inner + entry.name;
        if (entry.isDirectory()) waiting.push(`${path}/`);
        const { matches, score } = fuzzyMatch(wanted, path);
        if (matches) found.push({ path, score, name: entry.name, directory: entry.isDirectory() });
      }
    }
    found.sort((one, other) => one.score - other.score || one.path.length - other.path.length);
    return found.slice(0, MOST_FOUND).map(({ path, name, directory }) => ({
      ...fileItem(folder + path, name, directory, "@"),
      description: folder + path,
    }));
  }

  applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
    const line = lines[cursorLine] ?? "";
    const before = line.slice(0, cursorCol - prefix.length);
    let after = line.slice(cursorCol);
    // A quote that was closed already is not closed again.
    if (/^@?"/.test(prefix) && item.value.endsWith('"') && after.startsWith('"')) after = after.slice(1);
    const command = prefix.startsWith("/") && before.trim() === "" && !prefix.slice(1).includes("/");
    const folder = item.label.endsWith("/");
    const inserted = command ? `/${item.value} ` : item.value + (prefix.startsWith("@") && !folder ? " " : "");
    // In a quoted folder the cursor stays inside of the quotes, so that the path can go on.
    const inside = folder && !command && item.value.endsWith('"') ? 1 : 0;
    const changed = [...lines];
    changed[cursorLine] = before + inserted + after;
    return { lines: changed, cursorLine, cursorCol: before.length + inserted.length - inside };
  }

  /** Returns whether a demanded completion is for files: not while the name of a command is typed. */
  shouldTriggerFileCompletion(lines, cursorLine, cursorCol) {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol).trim();
    return !(before.startsWith("/") && !before.includes(" "));
  }
}

function suggestions(items, prefix) {
  return items.length > 0 ? { items, prefix } : null;
}

// What stands directly before the cursor, from an open quote on if there is one.
function lastWord(text) {
  const quotes = [...text.matchAll(/"/g)];
  if (quotes.length % 2 === 1) {
    const start = quotes.at(-1).index;
    return text.slice(text[start - 1] === "@" ? start - 1 : start);
  }
  return /[^\s"'=]*$/.exec(text)[0];
}

function pathIn(word) {
  return word.replace(/^@/, "").replace(/^"/, "");
}

function isFolder(entry, directory) {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  try {
    return statSync(join(directory, entry.name)).isDirectory();
  } catch {
    return false;
  }
}

function fileItem(path, name, folder, word) {
  const full = folder ? `${path}/` : path;
  const quote = /^@?"/.test(word) || full.includes(" ") ? '"' : "";
  return { value: `${word.startsWith("@") ? "@" : ""}${quote}${full}${quote}`, label: folder ? `${name}/` : name };
}
