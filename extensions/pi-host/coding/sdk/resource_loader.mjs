// What an agent of an extension starts with: skills, templates, instructions and prompts of the user and the project.

import { join } from "node:path";
import { bridge } from "../../bridge.mjs";
import { CONFIG_DIR_NAME, getAgentDir, resolvePath } from "../../paths.mjs";
import { createEventBus } from "../events.mjs";
import { readText } from "../locked_file.mjs";
import { loadProjectContextFiles } from "../project_files.mjs";
import { loadPromptTemplates } from "../prompts.mjs";
import { SettingsManager } from "../settings.mjs";
import { loadSkills } from "../skills.mjs";
import { createExtensionRuntime, loadInlineExtensions } from "./inline_extensions.mjs";

const same = (value) => value;

/** Returns a text that is given as such or as the path of a file. */
function textOrFile(given) {
  try {
    return readText(resolvePath(given)) ?? given;
  } catch {
    return given;
  }
}

/**
 * Loads the resources of the usual places. Of extensions only those that are given as functions are loaded: those of the
 * session have an agent already.
 */
export class DefaultResourceLoader {
  #options;
  #settings;
  #skills = { skills: [], diagnostics: [] };
  #prompts = { prompts: [], diagnostics: [] };
  #agentsFiles = [];
  #systemPrompt;
  #appended = [];
  #extensions = { extensions: [], errors: [], runtime: createExtensionRuntime() };
  #further = { skillPaths: [], promptPaths: [] };

  constructor(options = {}) {
    const cwd = options.cwd ?? bridge.state?.cwd ?? process.cwd();
    this.#options = { ...options, cwd, agentDir: options.agentDir ?? getAgentDir() };
    this.#settings = options.settingsManager;
  }

  getExtensions() {
    return this.#extensions;
  }
  getSkills() {
    return this.#skills;
  }
  getPrompts() {
    return this.#prompts;
  }
  getThemes() {
    return { themes: [], diagnostics: [] };
  }
  getAgentsFiles() {
    return { agentsFiles: this.#agentsFiles };
  }
  getSystemPrompt() {
    return this.#systemPrompt;
  }
  getSystemPromptSource() {
    return undefined;
  }
  getAppendSystemPrompt() {
    return this.#appended;
  }
  getAppendSystemPromptSources() {
    return [];
  }
  getEventBus() {
    return (this.#options.eventBus ??= createEventBus());
  }

  extendResources({ skillPaths = [], promptPaths = [] }) {
    this.#further.skillPaths.push(...skillPaths.map(({ path }) => path));
    this.#further.promptPaths.push(...promptPaths.map(({ path }) => path));
    this.#load();
  }

  async reload() {
    const { cwd, extensionFactories = [], extensionsOverride = same, additionalExtensionPaths = [] } = this.#options;
    const loaded = await loadInlineExtensions(extensionFactories, cwd, this.getEventBus());
    for (const path of additionalExtensionPaths) {
      loaded.errors.push({ path, error: "bowline does not load files of extensions into the agents of extensions" });
    }
    this.#extensions = extensionsOverride(loaded);
    this.#load();
  }

  #load() {
    const { cwd, agentDir } = this.#options;
    this.#settings ??= SettingsManager.create(cwd, agentDir);
    this.#loadSkills();
    this.#loadPrompts();
    const { noContextFiles, agentsFilesOverride = same, systemPrompt, systemPromptOverride = same } = this.#options;
    const agentsFiles = noContextFiles ? [] : loadProjectContextFiles({ cwd, agentDir });
    this.#agentsFiles = agentsFilesOverride({ agentsFiles }).agentsFiles;
    const given = systemPrompt === undefined ? this.#ownFile("SYSTEM.md") : textOrFile(systemPrompt);
    this.#systemPrompt = systemPromptOverride(given);
    const { appendSystemPrompt, appendSystemPromptOverride = same } = this.#options;
    const fromFile = this.#ownFile("APPEND_SYSTEM.md");
    const appended = appendSystemPrompt ? [appendSystemPrompt].flat().map(textOrFile) : fromFile === undefined ? [] : [fromFile];
    this.#appended = appendSystemPromptOverride(appended);
  }

  /** Returns a file of the project, if it is trusted, or else of the user. */
  #ownFile(name) {
    const { cwd, agentDir } = this.#options;
    const ofProject = this.#settings.isProjectTrusted() ? readText(join(resolvePath(cwd), CONFIG_DIR_NAME, name)) : undefined;
    return ofProject ?? readText(join(resolvePath(agentDir), name));
  }

  #loadSkills() {
    const { cwd, agentDir, noSkills, additionalSkillPaths = [], skillsOverride = same } = this.#options;
    const own = noSkills ? [] : this.#settings.getSkillPaths();
    const skillPaths = [...additionalSkillPaths, ...own, ...this.#further.skillPaths];
    this.#skills = skillsOverride(loadSkills({ cwd, agentDir, skillPaths, includeDefaults: !noSkills }));
  }

  #loadPrompts() {
    const { cwd, agentDir, noPromptTemplates, additionalPromptTemplatePaths = [], promptsOverride = same } = this.#options;
    const own = noPromptTemplates ? [] : this.#settings.getPromptTemplatePaths();
    const promptPaths = [...additionalPromptTemplatePaths, ...own, ...this.#further.promptPaths];
    const { templates, diagnostics } = loadPromptTemplates({ cwd, agentDir, promptPaths, includeDefaults: !noPromptTemplates });
    this.#prompts = promptsOverride({ prompts: templates, diagnostics });
  }
}
