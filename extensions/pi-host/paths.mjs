// Where pi's files are, and how paths that people write are read.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bridge } from "./bridge.mjs";

/** The folder of a project that holds its settings and resources. */
export const CONFIG_DIR_NAME = ".pi";

/** Returns the user's home directory. */
export function homeDir() {
  return bridge.homeDir ?? homedir();
}

/** Returns the folder of the user's settings, sessions and resources. */
export function getAgentDir() {
  if (bridge.agentDir) return bridge.agentDir;
  const fromEnvironment = process.env.PI_CODING_AGENT_DIR;
  return fromEnvironment ? normalizePath(fromEnvironment) : join(homeDir(), CONFIG_DIR_NAME, "agent");
}

/** Returns the folder of the session, which relative paths start from. */
export function currentCwd() {
  return bridge.state?.cwd ?? process.cwd();
}

/** Reads `~` and `file:` addresses; leaves the rest as it is. */
export function normalizePath(path) {
  const text = String(path ?? "");
  if (text === "~") return homeDir();
  if (text.startsWith("~/") || text.startsWith("~\\")) return join(homeDir(), text.slice(2));
  if (/^file:\/\//i.test(text)) return fileURLToPath(text);
  return text;
}

/** Returns an absolute path. */
export function resolvePath(path, base = currentCwd()) {
  return resolve(normalizePath(base), normalizePath(path));
}

/** Returns the absolute path that a model or a user means: a leading `@` and unusual spaces are theirs, not the file's. */
export function resolveToCwd(path, cwd) {
  const plain = String(path ?? "").replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
  return resolvePath(plain.startsWith("@") ? plain.slice(1) : plain, cwd);
}
