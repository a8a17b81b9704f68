// An agent with a session of its own, as extensions make them for work beside the user's session.

import { bridge } from "../../bridge.mjs";
import { Agent } from "../../model/agent.mjs";
import { createModelRegistry } from "../../model/registry.mjs";
import { contentText, createInitialSystemMessage } from "../../model/transcript.mjs";
import { convertToLlm } from "../../session/messages.mjs";
import { compact, prepareCompaction } from "../compaction.mjs";
import { stripFrontmatter } from "../front_matter.mjs";
import { readText } from "../locked_file.mjs";
import { expandPromptTemplate } from "../prompts.mjs";
import { estimateContextTokens, shouldCompact } from "../tokens.mjs";
import { withContext } from "./agent_tools.mjs";
import { ExtensionRunner, connectHooks } from "./inline_extensions.mjs";
import { systemPrompt } from "./system_prompt.mjs";

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];
const STORED = new Set(["system", "user", "assistant", "toolResult"]);

function userMessage(text, images = []) {
  return { role: "user", content: [{ type: "text", text }, ...images], timestamp: Date.now() };
}

/** Returns a context for tools: that of an agent without a user. */
function toolContext(session, signal) {
  const { sessionManager, cwd } = session;
  const nothing = () => undefined;
  const ui = new Proxy({}, { get: () => async () => undefined });
  return {
    ...{ cwd, signal, sessionManager, ui, hasUI: false, mode: "print", modelRegistry: createModelRegistry() },
    ...{ model: session.model, thinkingLevel: session.thinkingLevel, scopedModels: [], shutdown: nothing },
    isIdle: () => session.isIdle,
    isProjectTrusted: () => session.settingsManager.isProjectTrusted(),
    hasPendingMessages: () => session.pendingMessageCount > 0,
    abort: () => void session.abort(),
    getContextUsage: () => session.getContextUsage(),
    getSystemPrompt: () => session.systemPrompt,
    compact: nothing,
  };
}

export class AgentSession {
  #listeners = new Set();
  #tools;
  #resources;
  #queued = { steering: [], followUp: [] };
  #compaction;
  #isCompacting = false;
  #compactsItself;
  #forNextPrompt = [];
  #prompt;
  #runner;
  #startEvent;

  constructor(config) {
    const { cwd, model, thinkingLevel, tools, sessionManager, settingsManager, resourceLoader, streamFn, sessionStartEvent } = config;
    this.cwd = cwd;
    this.sessionManager = sessionManager;
    this.settingsManager = settingsManager;
    this.#resources = resourceLoader;
    this.#tools = tools.all;
    this.#compactsItself = settingsManager.getCompactionEnabled();
    const enabled = this.#enabled(tools.enabled);
    const messages = sessionManager.buildSessionContext().messages.filter(({ role }) => role !== "system");
    this.#prompt = systemPrompt({ resources: resourceLoader, tools: enabled, cwd });
    this.#startEvent = sessionStartEvent ?? { type: "session_start", reason: "startup" };
    this.agent = new Agent({
      initialState: { systemPrompt: this.#prompt, model, thinkingLevel, tools: enabled, messages },
      convertToLlm,
      streamFn,
      sessionId: sessionManager.getSessionId(),
      steeringMode: settingsManager.getSteeringMode(),
      followUpMode: settingsManager.getFollowUpMode(),
    });
    this.#connect(resourceLoader.getExtensions() ?? {});
    this.agent.subscribe((event) => this.#take(event));
  }

  /** Lets extensions take part, and gives them what they can do. */
  #connect({ extensions = [], runtime }) {
    this.#runner = new ExtensionRunner(extensions, (signal) => toolContext(this, signal));
    connectHooks(this.agent, this.#runner);
    if (!runtime) return;
    Object.assign(runtime, {
      sendMessage: (message, options) => void this.sendCustomMessage(message, options),
      sendUserMessage: (content, options) => void this.sendUserMessage(content, options),
      appendEntry: (customType, data) => this.sessionManager.appendCustomEntry(customType, data),
      setSessionName: (name) => this.setSessionName(name),
      getSessionName: () => this.sessionName,
      setLabel: (entryId, label) => this.sessionManager.appendLabelChange(entryId, label),
      getActiveTools: () => this.getActiveToolNames(),
      setActiveTools: (names) => this.setActiveToolsByName(names),
      getAllTools: () => this.getAllTools(),
      getCommands: () => [],
      setModel: async (model) => {
        await this.setModel(model);
        return true;
      },
      getThinkingLevel: () => this.thinkingLevel,
      setThinkingLevel: (level) => this.setThinkingLevel(level),
      refreshTools: () => this.#addTools(extensions),
    });
  }

  /** Enables the tools that extensions have registered since. */
  #addTools(extensions) {
    const added = extensions.flatMap(({ tools }) => [...tools.values()]).map(({ definition }) => definition);
    const unknown = added.filter(({ name }) => !this.#tools.has(name));
    for (const tool of added) this.#tools.set(tool.name, tool);
    this.setActiveToolsByName([...this.getActiveToolNames(), ...unknown.map(({ name }) => name)]);
  }

  get extensionRunner() {
    return this.#runner;
  }

  #enabled(names) {
    const known = names.filter((name) => this.#tools.has(name));
    return known.map((name) => withContext(this.#tools.get(name), (signal) => toolContext(this, signal)));
  }

  #emit(event) {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        bridge.log?.("error", `A listener of an agent failed: ${error?.message ?? error}`);
      }
    }
  }

  #take(event) {
    if (event.type === "message_start" && event.message.role === "user") this.#unqueue(contentText(event.message.content));
    this.#emit(event.type === "agent_end" ? { ...event, willRetry: false } : event);
    if (event.type !== "message_end") return;
    const { message } = event;
    if (STORED.has(message.role)) this.sessionManager.appendMessage(message);
    else if (message.role === "custom") {
      this.sessionManager.appendCustomMessageEntry(message.customType, message.content, message.display, message.details);
    }
  }

  #unqueue(text) {
    for (const texts of Object.values(this.#queued)) {
      const at = texts.indexOf(text);
      if (at < 0) continue;
      texts.splice(at, 1);
      this.#tellQueue();
      return;
    }
  }

  #tellQueue() {
    this.#emit({ type: "queue_update", steering: [...this.#queued.steering], followUp: [...this.#queued.followUp] });
  }

  /** Calls a function at every event. Returns a function that ends this. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose() {
    this.agent.abort();
    this.agent.clearAllQueues();
    this.#compaction?.abort();
    this.#listeners.clear();
  }

  get state() {
    return this.agent.state;
  }
  get messages() {
    return this.agent.state.messages;
  }
  get model() {
    return this.agent.state.model;
  }
  get thinkingLevel() {
    return this.agent.state.thinkingLevel;
  }
  get systemPrompt() {
    return this.agent.state.systemPrompt;
  }
  get isStreaming() {
    return this.agent.state.isStreaming;
  }
  get isIdle() {
    return !this.isStreaming && !this.#isCompacting;
  }
  get isCompacting() {
    return this.#isCompacting;
  }
  get isRetrying() {
    return false;
  }
  get isBashRunning() {
    return false;
  }
  get retryAttempt() {
    return 0;
  }
  get sessionFile() {
    return this.sessionManager.getSessionFile();
  }
  get sessionId() {
    return this.sessionManager.getSessionId();
  }
  get sessionName() {
    return this.sessionManager.getSessionName();
  }
  get resourceLoader() {
    return this.#resources;
  }
  get promptTemplates() {
    return this.#resources.getPrompts().prompts;
  }
  get scopedModels() {
    return [];
  }
  get steeringMode() {
    return this.agent.steeringMode;
  }
  get followUpMode() {
    return this.agent.followUpMode;
  }
  get autoCompactionEnabled() {
    return this.#compactsItself;
  }
  get pendingMessageCount() {
    return this.#queued.steering.length + this.#queued.followUp.length;
  }

  setSteeringMode(mode) {
    this.agent.steeringMode = mode;
  }
  setFollowUpMode(mode) {
    this.agent.followUpMode = mode;
  }
  setAutoCompactionEnabled(enabled) {
    this.#compactsItself = enabled;
  }
  setAutoRetryEnabled() {}
  abortRetry() {}
  /** Starts the extensions. */
  async bindExtensions({ onError } = {}) {
    this.#runner.reportTo(onError);
    await this.#runner.emit(this.#startEvent);
  }
  async reload() {
    await this.#resources.reload();
  }
  hasExtensionHandlers(event) {
    return this.#runner.hasHandlers(event);
  }

  /** Returns a message with the skill or the template that it calls. */
  #expanded(text) {
    const call = /^\/skill:(\S+)(?:\s+([^]*))?$/.exec(text);
    const skill = call && this.#resources.getSkills().skills.find(({ name }) => name === call[1]);
    if (!skill) return expandPromptTemplate(text, this.promptTemplates);
    const body = stripFrontmatter(readText(skill.filePath) ?? "");
    const head = `<skill name="${skill.name}" location="${skill.filePath}">\nReferences are relative to ${skill.baseDir}.`;
    const rest = call[2]?.trim();
    return `${head}\n\n${body}\n</skill>${rest ? `\n\n${rest}` : ""}`;
  }

  /** Sends a message and resolves when the agent is done. */
  async prompt(text, options = {}) {
    const expanded = options.expandPromptTemplates === false ? text : this.#expanded(text);
    if (this.isStreaming) {
      if (options.streamingBehavior === "steer") return this.#queue("steering", expanded, options.images);
      if (options.streamingBehavior === "followUp") return this.#queue("followUp", expanded, options.images);
      throw new Error("Agent is already processing. Give streamingBehavior ('steer' or 'followUp') to queue the message.");
    }
    options.preflightResult?.(true);
    const messages = [userMessage(expanded, options.images), ...this.#forNextPrompt.splice(0)];
    messages.push(...(await this.#beforeStart(expanded, options.images)));
    return this.#run(() => this.agent.prompt(messages));
  }

  /** Asks extensions about a prompt. Returns the messages that they add; the system prompt may be another one for the run. */
  async #beforeStart(prompt, images) {
    const messages = [];
    const event = { type: "before_agent_start", prompt, images, systemPrompt: this.#prompt };
    event.systemPromptOptions = { cwd: this.cwd, selectedTools: this.getActiveToolNames(), sections: {}, promptGuidelines: [] };
    await this.#runner.emit(event, ({ message, systemPrompt: changed }) => {
      if (message) messages.push({ role: "custom", display: true, timestamp: Date.now(), ...message });
      if (changed !== undefined) event.systemPrompt = changed;
      return false;
    });
    this.#usePrompt(event.systemPrompt);
    return messages;
  }

  /** Puts the system prompt at the beginning. Who replaces the messages of an agent leaves it out. */
  #usePrompt(text) {
    const { state } = this.agent;
    const [first] = state.messages;
    if (first?.role !== "system") state.messages = [createInitialSystemMessage(text), ...state.messages];
    else if (contentText(first.content) !== text) state.messages = [{ ...first, content: text }, ...state.messages.slice(1)];
  }

  async #run(start) {
    await start();
    await this.#compactIfNeeded();
    this.#emit({ type: "agent_settled" });
  }

  #queue(queue, text, images) {
    const message = userMessage(text, images);
    this.#queued[queue].push(text);
    if (queue === "steering") this.agent.steer(message);
    else this.agent.followUp(message);
    this.#tellQueue();
  }

  async steer(text, images) {
    this.#queue("steering", this.#expanded(text), images);
  }

  async followUp(text, images) {
    this.#queue("followUp", this.#expanded(text), images);
  }

  async sendUserMessage(content, options = {}) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const images = blocks.filter(({ type }) => type === "image");
    const { deliverAs, expandPromptTemplates = false } = options;
    await this.prompt(contentText(blocks), { images, streamingBehavior: deliverAs, expandPromptTemplates });
  }

  async sendCustomMessage({ customType, content, display = true, details }, { triggerTurn, deliverAs } = {}) {
    const message = { role: "custom", customType, content, display, details, timestamp: Date.now() };
    if (deliverAs === "nextTurn") this.#forNextPrompt.push(message);
    else if (this.isStreaming) {
      if (deliverAs === "followUp") this.agent.followUp(message);
      else this.agent.steer(message);
    } else if (triggerTurn) await this.#run(() => this.agent.prompt(message));
    else {
      this.agent.state.messages.push(message);
      this.#take({ type: "message_start", message });
      this.#take({ type: "message_end", message });
    }
  }

  clearQueue() {
    const { steering, followUp } = this.#queued;
    this.#queued = { steering: [], followUp: [] };
    this.agent.clearAllQueues();
    this.#tellQueue();
    return { steering, followUp };
  }
  getSteeringMessages() {
    return this.#queued.steering;
  }
  getFollowUpMessages() {
    return this.#queued.followUp;
  }

  async abort() {
    this.agent.abort();
    await this.agent.waitForIdle();
  }
  async waitForIdle() {
    await this.agent.waitForIdle();
  }

  async setModel(model) {
    this.agent.state.model = model;
    this.sessionManager.appendModelChange(model.provider, model.id);
    this.setThinkingLevel(this.thinkingLevel);
  }
  setThinkingLevel(wanted) {
    const level = this.supportsThinking() ? wanted : "off";
    if (level === this.thinkingLevel) return;
    this.agent.state.thinkingLevel = level;
    this.sessionManager.appendThinkingLevelChange(level);
    this.#emit({ type: "thinking_level_changed", level });
  }
  getAvailableThinkingLevels() {
    if (!this.supportsThinking()) return ["off"];
    return LEVELS.filter((level) => this.model.thinkingLevelMap?.[level] !== null);
  }
  supportsThinking() {
    return this.model?.reasoning === true;
  }

  getActiveToolNames() {
    return this.agent.state.tools.map(({ name }) => name);
  }
  getAllTools() {
    return [...this.#tools.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
  }
  getToolDefinition(name) {
    return this.#tools.get(name);
  }
  setActiveToolsByName(names) {
    this.agent.state.tools = this.#enabled(names);
  }

  setSessionName(name) {
    this.sessionManager.appendSessionInfo(name);
    this.#emit({ type: "session_info_changed", name: this.sessionName });
  }

  getContextUsage() {
    const contextWindow = this.model?.contextWindow ?? 0;
    if (contextWindow <= 0) return undefined;
    const { tokens } = estimateContextTokens(this.messages);
    return { tokens, contextWindow, percent: (tokens / contextWindow) * 100 };
  }

  async #compactIfNeeded() {
    const usage = this.getContextUsage();
    if (!this.#compactsItself || !usage) return;
    const settings = this.settingsManager.getCompactionSettings(this.model);
    if (!shouldCompact(usage.tokens, usage.contextWindow, { ...settings, enabled: true })) return;
    await this.#compact("threshold").catch(() => undefined);
  }

  /** Summarizes the conversation. */
  async compact(customInstructions) {
    await this.abort();
    return this.#compact("manual", customInstructions);
  }

  async #compact(reason, customInstructions) {
    this.#compaction = new AbortController();
    const { signal } = this.#compaction;
    this.#isCompacting = true;
    this.#emit({ type: "compaction_start", reason });
    try {
      const settings = this.settingsManager.getCompactionSettings(this.model);
      const preparation = prepareCompaction(this.sessionManager.getBranch(), settings);
      if (!preparation) throw new Error("There is nothing to compact");
      const result = await compact(preparation, this.model, undefined, undefined, customInstructions, signal, this.thinkingLevel);
      const { summary, firstKeptEntryId, tokensBefore, details, usage } = result;
      this.sessionManager.appendCompaction(summary, firstKeptEntryId, tokensBefore, details, false, usage);
      this.refreshContext();
      this.#emit({ type: "compaction_end", reason, result, aborted: false, willRetry: false });
      return result;
    } catch (error) {
      const failure = { aborted: signal.aborted, willRetry: false, errorMessage: error.message };
      this.#emit({ type: "compaction_end", reason, result: undefined, ...failure });
      throw error;
    } finally {
      this.#isCompacting = false;
    }
  }

  abortCompaction() {
    this.#compaction?.abort();
  }

  /** Takes the conversation from the session anew. */
  refreshContext() {
    const { state } = this.agent;
    const prompt = state.messages.filter(({ role }) => role === "system").slice(0, 1);
    const messages = this.sessionManager.buildSessionContext().messages.filter(({ role }) => role !== "system");
    state.messages = [...prompt, ...messages];
  }

  getLastAssistantText() {
    const message = this.messages.findLast(({ role, stopReason }) => role === "assistant" && stopReason !== "aborted");
    return (message && contentText(message.content, "").trim()) || undefined;
  }

  getUserMessagesForForking() {
    const entries = this.sessionManager.getEntries().filter(({ type, message }) => type === "message" && message.role === "user");
    return entries.map(({ id, message }) => ({ entryId: id, text: contentText(message.content) }));
  }

  getSessionStats() {
    const messages = this.sessionManager.getEntries().filter(({ type }) => type === "message").map(({ message }) => message);
    const of = (role) => messages.filter((message) => message.role === role);
    const answers = of("assistant");
    const sum = (field) => answers.reduce((total, { usage }) => total + (usage?.[field] ?? 0), 0);
    const counts = { input: sum("input"), output: sum("output"), cacheRead: sum("cacheRead"), cacheWrite: sum("cacheWrite") };
    return {
      sessionFile: this.sessionFile,
      sessionId: this.sessionId,
      userMessages: of("user").length,
      assistantMessages: answers.length,
      toolCalls: answers.flatMap(({ content }) => content).filter(({ type }) => type === "toolCall").length,
      toolResults: of("toolResult").length,
      totalMessages: messages.length,
      tokens: { ...counts, total: Object.values(counts).reduce((left, right) => left + right, 0) },
      cost: answers.reduce((total, { usage }) => total + (usage?.cost?.total ?? 0), 0),
      contextUsage: this.getContextUsage(),
    };
  }

  /** Goes on at another entry; at a message of the user, before it. */
  async navigateTree(targetId, { label } = {}) {
    const entry = this.sessionManager.getEntry(targetId);
    if (!entry) throw new Error(`Entry ${targetId} not found`);
    const isOfUser = entry.type === "message" && entry.message.role === "user";
    const target = isOfUser ? entry.parentId : targetId;
    if (target) this.sessionManager.branch(target);
    else this.sessionManager.resetLeaf();
    if (label) this.sessionManager.appendLabelChange(targetId, label);
    this.refreshContext();
    return { cancelled: false, ...(isOfUser ? { editorText: contentText(entry.message.content) } : {}) };
  }
}

const NOT_SERVED = [
  ...["executeBash", "recordBashResult", "abortBash", "exportToHtml", "exportToJsonl", "cycleModel", "cycleThinkingLevel"],
  ...["setScopedModels", "createReplacedSessionContext", "summarizeForBugReport", "setCacheWarmingMode", "abortBranchSummary"],
];
for (const name of NOT_SERVED) {
  AgentSession.prototype[name] = () => bridge.notServed(`AgentSession.${name}()`);
}
