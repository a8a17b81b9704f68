// The settings of pi: those of the user and of the project, which extensions read, and now and then change.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { bridge } from "../bridge.mjs";
import { CONFIG_DIR_NAME, getAgentDir, normalizePath, resolvePath } from "../paths.mjs";
import { changeFile, readText } from "./locked_file.mjs";
import { SETTINGS } from "./settings_table.mjs";

const isGroup = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Returns the values of `base` with those of `changes` in their place; groups of settings are joined. */
function merge(base, changes) {
  const merged = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    merged[key] = isGroup(value) && isGroup(base[key]) ? merge(base[key], value) : value;
  }
  return merged;
}

const lookUp = (settings, path) => path.reduce((group, key) => group?.[key], settings);

/** Brings the names of old versions to those of today, in place. */
function migrate(settings) {
  if ("queueMode" in settings && !("steeringMode" in settings)) {
    settings.steeringMode = settings.queueMode;
    delete settings.queueMode;
  }
  if (typeof settings.websockets === "boolean" && !("transport" in settings)) {
    settings.transport = settings.websockets ? "websocket" : "sse";
    delete settings.websockets;
  }
  if (isGroup(settings.skills)) {
    const { enableSkillCommands, customDirectories } = settings.skills;
    if (enableSkillCommands !== undefined) settings.enableSkillCommands ??= enableSkillCommands;
    if (Array.isArray(customDirectories) && customDirectories.length > 0) settings.skills = customDirectories;
    else delete settings.skills;
  }
  if (isGroup(settings.retry)) {
    const { maxDelayMs, ...retry } = settings.retry;
    if (typeof maxDelayMs === "number" && (retry.provider?.maxRetryDelayMs ?? undefined) === undefined) {
      retry.provider = { ...retry.provider, maxRetryDelayMs: maxDelayMs };
    }
    settings.retry = retry;
  }
  return settings;
}

/** Settings in files. Who only reads takes no lock: it would make folders that the user does not have. */
class FileStorage {
  constructor(paths) {
    this.paths = paths;
  }

  withLock(scope, change) {
    const path = this.paths[scope];
    const current = readText(path);
    if (change(current) !== undefined) changeFile(path, change);
  }
}

/** Settings that are lost at the end. */
class MemoryStorage {
  #texts = {};

  withLock(scope, change) {
    this.#texts[scope] = change(this.#texts[scope]) ?? this.#texts[scope];
  }
}

const milliseconds = (value, name) => {
  if (value === undefined) return undefined;
  const text = typeof value === "string" ? value.trim() : value;
  if (typeof text === "string" && text.toLowerCase() === "disabled") return 0;
  const number = text === "" ? Number.NaN : Number(text);
  if (!["string", "number"].includes(typeof value) || !Number.isFinite(number) || number < 0) {
    throw new Error(`Invalid ${name} setting: ${String(value)}`);
  }
  return Math.floor(number);
};

export class SettingsManager {
  #storage;
  #paths;
  #isTrusted;
  #scopes = { global: {}, project: {} };
  #settings = {};
  #overrides = [];
  /** The scopes whose files cannot be read. They are not written either: what the user has in them would be lost. */
  #broken = new Set();
  #errors = [];
  #writes = Promise.resolve();

  constructor(storage, options = {}, paths = {}) {
    this.#storage = storage;
    this.#paths = paths;
    this.#isTrusted = options.projectTrusted ?? bridge.state?.trusted ?? true;
    this.#load("global");
    this.#load("project");
    this.#join();
  }

  static create(cwd, agentDir = getAgentDir(), options = {}) {
    const global = join(resolvePath(agentDir), "settings.json");
    const project = join(resolvePath(cwd ?? bridge.state?.cwd ?? process.cwd()), CONFIG_DIR_NAME, "settings.json");
    return new SettingsManager(new FileStorage({ global, project }), options, { global, project });
  }

  static fromStorage(storage, options = {}) {
    return new SettingsManager(storage, options);
  }

  static inMemory(settings = {}, options = {}) {
    const storage = new MemoryStorage();
    storage.withLock("global", () => JSON.stringify(settings));
    return new SettingsManager(storage, options);
  }

  #read(scope) {
    let text;
    this.#storage.withLock(scope, (current) => {
      text = current;
      return undefined;
    });
    const settings = text ? JSON.parse(text) : {};
    if (!isGroup(settings)) throw new Error("The settings are not a JSON object");
    return migrate(settings);
  }

  #load(scope) {
    this.#broken.delete(scope);
    if (scope === "project" && !this.#isTrusted) {
      this.#scopes.project = {};
      return;
    }
    try {
      this.#scopes[scope] = this.#read(scope);
    } catch (error) {
      this.#broken.add(scope);
      this.#fail(scope, error);
    }
  }

  #fail(scope, error) {
    const path = this.#paths[scope];
    this.#errors.push({ scope, ...(path ? { path } : {}), error: error instanceof Error ? error : new Error(String(error)) });
  }

  #join() {
    this.#settings = [this.#scopes.project, ...this.#overrides].reduce(merge, this.#scopes.global);
  }

  /** Changes one setting, at once for this manager and soon in the file. Undefined removes it. */
  #set(scope, path, value) {
    if (scope === "project" && !this.#isTrusted) throw new Error("The project is not trusted: its settings are not written");
    const copy = structuredClone(value);
    assign(this.#scopes[scope], path, copy);
    this.#overrides = [];
    this.#join();
    if (this.#broken.has(scope)) return;
    this.#writes = this.#writes.then(() => {
      try {
        this.#storage.withLock(scope, (current) => {
          const settings = migrate(current ? JSON.parse(current) : {});
          assign(settings, path, copy);
          return JSON.stringify(settings, null, 2);
        });
      } catch (error) {
        this.#fail(scope, error);
      }
    });
  }

  getSettings() {
    return structuredClone(this.#settings);
  }
  getGlobalSettings() {
    return structuredClone(this.#scopes.global);
  }
  getProjectSettings() {
    return structuredClone(this.#scopes.project);
  }
  isProjectTrusted() {
    return this.#isTrusted;
  }
  setProjectTrusted(trusted) {
    if (this.#isTrusted === trusted) return;
    this.#isTrusted = trusted;
    this.#load("project");
    this.#join();
  }
  async reload() {
    await this.#writes;
    this.#overrides = [];
    this.#load("global");
    this.#load("project");
    this.#join();
  }
  applyOverrides(overrides) {
    this.#overrides.push(overrides);
    this.#join();
  }
  async flush() {
    await this.#writes;
  }
  drainErrors() {
    return this.#errors.splice(0);
  }

  /** Returns a setting as its row of the table reads it. */
  _get({ path, read, isGlobal }) {
    return read(lookUp(isGlobal ? this.#scopes.global : this.#settings, path));
  }
  /** Changes a setting as its row of the table writes it. */
  _set({ path, write }, value, scope = "global") {
    this.#set(scope, path, value === undefined ? undefined : write(value));
  }

  setDefaultModelAndProvider(provider, modelId) {
    this.setDefaultProvider(provider);
    this.setDefaultModel(modelId);
  }
  getModelThinkingLevel(provider, modelId) {
    return this.#settings.modelThinkingLevels?.[`${provider}/${modelId}`];
  }
  setModelThinkingLevel(provider, modelId, level) {
    this.#set("global", ["modelThinkingLevels", `${provider}/${modelId}`], level);
  }
  removeModelThinkingLevel(provider, modelId) {
    this.#set("global", ["modelThinkingLevels", `${provider}/${modelId}`], undefined);
  }
  getExtensionChangelogVersion(key) {
    return this.#settings.extensionChangelogVersions?.[key];
  }
  setExtensionChangelogVersion(key, version) {
    this.#set("global", ["extensionChangelogVersions", key], version);
  }
  getSessionDir() {
    const folder = this.#settings.sessionDir;
    return folder ? normalizePath(folder) : folder;
  }
  getShellPath() {
    const path = this.#settings.shellPath;
    return path ? normalizePath(path) : path;
  }
  setShellPath(path) {
    this.#set("global", ["shellPath"], path);
  }
  getExternalEditorCommand() {
    const { externalEditor } = this.#settings;
    if (typeof externalEditor === "string" && externalEditor.trim()) return externalEditor;
    return process.env.VISUAL || process.env.EDITOR || (process.platform === "win32" ? "notepad" : "nano");
  }
  setEnableAnalytics(enabled) {
    this.#set("global", ["enableAnalytics"], enabled);
    if (enabled && !this.#scopes.global.trackingId) this.#set("global", ["trackingId"], randomUUID());
  }

  #tokens(field, model) {
    const { compaction } = this.#settings;
    const name = model && `${model.provider}/${model.id}`;
    const override = name === undefined ? undefined : compaction?.modelOverrides?.[name];
    if (override !== undefined && !isGroup(override)) {
      throw new Error(`Invalid compaction.modelOverrides["${name}"] setting: ${String(override)}. It has to be an object.`);
    }
    for (const value of [compaction?.[field], override?.[field]]) {
      if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0)) {
        throw new Error(`Invalid compaction ${field} setting: ${String(value)}. It has to be an integer of 0 or more.`);
      }
    }
    return override?.[field] ?? compaction?.[field];
  }
  getCompactionReserveTokens(model) {
    return this.#tokens("reserveTokens", model) ?? 16384;
  }
  getCompactionKeepRecentTokens(model) {
    return this.#tokens("keepRecentTokens", model) ?? 20000;
  }
  getCompactionSettings(model) {
    return {
      enabled: this.getCompactionEnabled(),
      reserveTokens: this.getCompactionReserveTokens(model),
      keepRecentTokens: this.getCompactionKeepRecentTokens(model),
    };
  }
  getBranchSummarySettings() {
    return { reserveTokens: this.#settings.branchSummary?.reserveTokens ?? 16384, skipPrompt: this.getBranchSummarySkipPrompt() };
  }
  getRetrySettings() {
    const { maxRetries = 3, baseDelayMs = 2000, maxAgentDelayMs = 60_000 } = this.#settings.retry ?? {};
    return { enabled: this.getRetryEnabled(), maxRetries, baseDelayMs, maxAgentDelayMs };
  }
  getProviderRetrySettings() {
    const { timeoutMs, maxRetries, maxRetryDelayMs = 60_000 } = this.#settings.retry?.provider ?? {};
    return { timeoutMs, maxRetries, maxRetryDelayMs };
  }
  getHttpIdleTimeoutMs() {
    return milliseconds(this.#settings.httpIdleTimeoutMs, "httpIdleTimeoutMs") ?? 300_000;
  }
  setHttpIdleTimeoutMs(timeoutMs) {
    this.#set("global", ["httpIdleTimeoutMs"], milliseconds(timeoutMs, "httpIdleTimeoutMs"));
  }
  getWebSocketConnectTimeoutMs() {
    return milliseconds(this.#settings.websocketConnectTimeoutMs, "websocketConnectTimeoutMs");
  }
  getTerminalCapabilityOverrides() {
    const { images, trueColor, hyperlinks } = this.#settings.terminal ?? {};
    return {
      ...(["kitty", "iterm2"].includes(images) ? { images } : {}),
      ...(images === false ? { images: null } : {}),
      ...(typeof trueColor === "boolean" ? { trueColor } : {}),
      ...(typeof hyperlinks === "boolean" ? { hyperlinks } : {}),
    };
  }
}

/** Sets a value in nested groups, in place; undefined removes it, and the group if it is empty then. */
function assign(settings, [key, ...rest], value) {
  if (rest.length > 0) {
    if (!isGroup(settings[key])) settings[key] = {};
    assign(settings[key], rest, value);
    if (value === undefined && Object.keys(settings[key]).length === 0) delete settings[key];
  } else if (value === undefined) delete settings[key];
  else settings[key] = value;
}

const define = (name, value) =>
  Object.hasOwn(SettingsManager.prototype, name) ||
  Object.defineProperty(SettingsManager.prototype, name, { value, writable: true, configurable: true });

for (const row of SETTINGS) {
  define(`get${row.name}`, function () {
    return this._get(row);
  });
  if (row.isReadOnly) continue;
  define(`set${row.name}`, function (value) {
    this._set(row, value);
  });
  if (!row.hasProjectSetter) continue;
  define(`setProject${row.name}`, function (value) {
    this._set(row, value, "project");
  });
}
