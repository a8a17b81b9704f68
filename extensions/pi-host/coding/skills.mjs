// Skills: where they are, what is wrong with them, and how a prompt lists them.

import { existsSync, readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir, resolvePath } from "../paths.mjs";
import { createSyntheticSourceInfo } from "./events.mjs";
import { parseFrontmatter } from "./front_matter.mjs";
import { IgnoreRules } from "./ignore.mjs";

const SKILL_FILE = "SKILL.md";
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 1024;

function nameProblems(name) {
  return [
    name.length > LONGEST_NAME && `name has ${name.length} characters, more than ${LONGEST_NAME}`,
    !/^[a-z0-9-]+$/.test(name) && "name has characters other than a-z, 0-9 and hyphens",
    /^-|-$/.test(name) && "name begins or ends with a hyphen",
    name.includes("--") && "name has several hyphens in a row",
  ].filter(Boolean);
}

function descriptionProblems(description) {
  if (typeof description !== "string" || !description.trim()) return ["description is missing"];
  const { length } = description;
  return length > LONGEST_DESCRIPTION ? [`description has ${length} characters, more than ${LONGEST_DESCRIPTION}`] : [];
}

function sourceInfo(filePath, baseDir, source) {
  const isScope = source === "user" || source === "project";
  const kind = isScope ? { source: "local", scope: source } : { source: source === "path" ? "local" : source };
  return createSyntheticSourceInfo(filePath, { ...kind, baseDir });
}

/** Reads a skill into the result. A file that does not declare itself a skill by its name needs a description to be one. */
function addSkill(result, filePath, source) {
  const isDeclared = basename(filePath) === SKILL_FILE;
  const warn = (message) => result.diagnostics.push({ type: "warning", message, path: filePath });
  let frontmatter;
  try {
    ({ frontmatter } = parseFrontmatter(readFileSync(filePath, "utf8")));
  } catch (error) {
    if (isDeclared || error.code) warn(error.message);
    return;
  }
  const { name: givenName, description } = frontmatter;
  const problems = descriptionProblems(description);
  const hasDescription = typeof description === "string" && description.trim() !== "";
  if (!isDeclared && !hasDescription) return;
  const baseDir = dirname(filePath);
  const name = (typeof givenName === "string" && givenName) || basename(baseDir);
  for (const problem of [...problems, ...nameProblems(name)]) warn(problem);
  if (!hasDescription) return;
  const disableModelInvocation = frontmatter["disable-model-invocation"] === true;
  const info = sourceInfo(filePath, baseDir, source);
  result.skills.push({ name, description, filePath, baseDir, sourceInfo: info, disableModelInvocation });
}

/** Returns what an entry of a folder is, through links. */
function kindOf(entry, path) {
  if (!entry.isSymbolicLink()) return entry;
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Reads the skills of a folder: the one that it is, or those in it. */
function addFolder(result, folder, relativePath, source, aboveRules) {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return;
  }
  const rules = aboveRules.within(folder, relativePath);
  const inside = (name) => (relativePath ? `${relativePath}/${name}` : name);
  const own = entries.find((entry) => entry.name === SKILL_FILE);
  if (own && kindOf(own, join(folder, SKILL_FILE))?.isFile() && !rules.ignores(inside(SKILL_FILE), false)) {
    addSkill(result, join(folder, SKILL_FILE), source);
    return;
  }
  for (const entry of entries) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const path = join(folder, entry.name);
    const kind = kindOf(entry, path);
    if (!kind || rules.ignores(inside(entry.name), kind.isDirectory())) continue;
    if (kind.isDirectory()) addFolder(result, path, inside(entry.name), source, rules);
    else if (kind.isFile() && relativePath === "" && entry.name.endsWith(".md")) addSkill(result, path, source);
  }
}

/** Returns the skills of a folder, with warnings about them. */
export function loadSkillsFromDir({ dir, source }) {
  const result = { skills: [], diagnostics: [] };
  addFolder(result, dir, "", source, new IgnoreRules());
  return result;
}

/** Returns the skills of a path that a user has given: a folder or a file. */
function loadPath(path, source) {
  const result = { skills: [], diagnostics: [] };
  const warn = (message) => result.diagnostics.push({ type: "warning", message, path });
  if (!existsSync(path)) warn("skill path does not exist");
  else if (statSync(path).isDirectory()) return loadSkillsFromDir({ dir: path, source });
  else if (path.endsWith(".md")) addSkill(result, path, source);
  else warn("skill path is not a markdown file");
  return result;
}

function realPath(path) {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Returns the skills of all places. The first of several with one name wins. */
export function loadSkills({ cwd, agentDir = getAgentDir(), skillPaths = [], includeDefaults = true }) {
  const user = join(resolvePath(agentDir), "skills");
  const project = join(resolvePath(cwd), CONFIG_DIR_NAME, "skills");
  const isWithin = (path, folder) => path === folder || path.startsWith(`${folder}/`);
  const sourceOf = (path) => {
    if (includeDefaults) return "path";
    if (isWithin(path, user)) return "user";
    return isWithin(path, project) ? "project" : "path";
  };
  const results = includeDefaults
    ? [loadSkillsFromDir({ dir: user, source: "user" }), loadSkillsFromDir({ dir: project, source: "project" })]
    : [];
  for (const path of skillPaths.map((given) => resolvePath(given.trim(), cwd))) results.push(loadPath(path, sourceOf(path)));
  const byName = new Map();
  const files = new Set();
  const collisions = [];
  for (const skill of results.flatMap((result) => result.skills)) {
    const file = realPath(skill.filePath);
    if (files.has(file)) continue;
    const { name, filePath: loserPath } = skill;
    const winner = byName.get(name);
    if (winner) {
      const collision = { resourceType: "skill", name, winnerPath: winner.filePath, loserPath };
      collisions.push({ type: "collision", message: `name "${name}" collision`, path: loserPath, collision });
      continue;
    }
    byName.set(name, skill);
    files.add(file);
  }
  return { skills: [...byName.values()], diagnostics: [...results.flatMap((result) => result.diagnostics), ...collisions] };
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
const escaped = (text) => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter]);

/** Returns the part of a system prompt that lists the skills, or nothing if there are none. */
export function formatSkillsForPrompt(skills, fileReadTool = "read") {
  const visible = skills.filter((skill) => !skill.disableModelInvocation);
  if (visible.length === 0) return "";
  const items = visible.flatMap(({ name, description, filePath }) => [
    "  <skill>",
    `    <name>${escaped(name)}</name>`,
    `    <description>${escaped(description)}</description>`,
    `    <location>${escaped(filePath)}</location>`,
    "  </skill>",
  ]);
  const how = fileReadTool === "read" ? "with the read tool" : "with bash";
  const intro =
    `Skills are instructions for certain tasks. When a task fits the description of one, read its file ${how} before you ` +
    "begin. Relative paths in it start at the folder of the file.";
  return `\n\n${intro}\n\n<available_skills>\n${items.join("\n")}\n</available_skills>`;
}
