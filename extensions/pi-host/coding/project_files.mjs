// What a project brings along: instructions for agents, and whatever needs the user's trust.

import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir, homeDir, resolvePath } from "../paths.mjs";
import { changeFile, readText } from "./locked_file.mjs";

const INSTRUCTIONS = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];
const NEEDS_TRUST = ["settings.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md", "mcp.json"];

/** Yields a folder and those above it. */
function* upwards(folder) {
  for (let at = folder; ; at = dirname(at)) {
    yield at;
    if (dirname(at) === at) return;
  }
}

function realPath(path) {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Returns the instructions of a folder: the first of the files that it has. */
function instructionsIn(folder) {
  for (const name of INSTRUCTIONS) {
    const path = join(folder, name);
    try {
      if (statSync(path).isFile()) return { path, content: readFileSync(path, "utf8").replace(/^\ufeff/, "") };
    } catch (error) {
      if (error.code !== "ENOENT" && error.code !== "ENOTDIR") console.error(`${path} could not be read: ${error.message}`);
    }
  }
  return undefined;
}

/** Returns the instructions that a worktree inside its main repository has of its own: those of the repository are the same. */
function hiddenByWorktree(cwd) {
  const root = [...upwards(cwd)].find((folder) => existsSync(join(folder, ".git")));
  try {
    if (!root || !statSync(join(root, ".git")).isFile()) return undefined;
    const link = /^gitdir:\s*(.+)$/m.exec(readFileSync(join(root, ".git"), "utf8"))?.[1].trim();
    const main = link && /^(.*)[/\\]\.git[/\\]worktrees[/\\][^/\\]+$/.exec(resolve(root, link))?.[1];
    const own = main && realPath(root).startsWith(`${realPath(main)}/`) ? instructionsIn(root) : undefined;
    return own && join(realPath(main), basename(own.path));
  } catch {
    return undefined;
  }
}

/** Returns the files with instructions: that of the user, then those of the folders from the root to the project. */
export function loadProjectContextFiles({ cwd, agentDir = getAgentDir() }) {
  const hidden = hiddenByWorktree(resolvePath(cwd));
  const folders = [...upwards(resolvePath(cwd))].reverse();
  const files = [resolvePath(agentDir), ...folders].map(instructionsIn).filter((file) => file !== undefined);
  const paths = new Set();
  return files.filter(({ path }) => {
    const isNew = !paths.has(path) && (hidden === undefined || realPath(path) !== hidden);
    paths.add(path);
    return isNew;
  });
}

/** Tells whether a project has resources that only a trusted one may use. */
export function hasTrustRequiringProjectResources(cwd) {
  const folder = realPath(resolvePath(cwd));
  if (NEEDS_TRUST.some((name) => existsSync(join(folder, CONFIG_DIR_NAME, name)))) return true;
  const ofUser = join(realPath(homeDir()), ".agents", "skills");
  return [...upwards(folder)].map((at) => join(at, ".agents", "skills")).some((path) => path !== ofUser && existsSync(path));
}

/** The projects that the user trusts or does not. The nearest folder with a decision counts. */
export class ProjectTrustStore {
  #path;

  constructor(agentDir = getAgentDir()) {
    this.#path = join(resolvePath(agentDir), "trust.json");
  }

  #decisions() {
    const text = readText(this.#path);
    return text ? JSON.parse(text) : {};
  }

  getEntry(cwd) {
    const decisions = this.#decisions();
    const path = [...upwards(realPath(resolvePath(cwd)))].find((folder) => typeof decisions[folder] === "boolean");
    return path === undefined ? null : { path, decision: decisions[path] };
  }

  get(cwd) {
    return this.getEntry(cwd)?.decision ?? null;
  }

  set(cwd, decision) {
    this.setMany([{ path: cwd, decision }]);
  }

  setMany(decisions) {
    changeFile(this.#path, (current) => {
      const all = current ? JSON.parse(current) : {};
      for (const { path, decision } of decisions) {
        const folder = realPath(resolvePath(path));
        if (decision === null) delete all[folder];
        else all[folder] = decision;
      }
      const sorted = Object.fromEntries(Object.entries(all).sort(([left], [right]) => (left < right ? -1 : 1)));
      return `${JSON.stringify(sorted, null, 2)}\n`;
    });
  }
}
