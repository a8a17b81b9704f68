// Makes an agent with a session of its own.

import { bridge } from "../../bridge.mjs";
import { createModelRegistry } from "../../model/registry.mjs";
import { getAgentDir, resolvePath } from "../../paths.mjs";
import { SessionManager } from "../../session_manager.mjs";
import { SettingsManager } from "../settings.mjs";
import { AgentSession } from "./agent_session.mjs";
import { agentTools } from "./agent_tools.mjs";
import { DefaultResourceLoader } from "./resource_loader.mjs";

/** Returns the model to use: the one that is given, that of an earlier session, the user's, or that of the running session. */
function chooseModel(given, restored, settings) {
  if (given) return { model: given };
  const { find, getAvailable } = createModelRegistry();
  const earlier = restored && find(restored.provider, restored.modelId);
  const usual = find(settings.getDefaultProvider(), settings.getDefaultModel());
  const model = earlier ?? bridge.state?.model ?? usual ?? getAvailable()[0];
  if (!restored || earlier || !model) return { model };
  const name = `${restored.provider}/${restored.modelId}`;
  return { model, modelFallbackMessage: `The model ${name} of the session is not there; ${model.provider}/${model.id} is used` };
}

/** Returns a loader that has loaded. Old callers give prompts, skills and instructions themselves. */
async function loaded({ resourceLoader, systemPrompt, skills, contextFiles, promptTemplates }, cwd, agentDir, settingsManager) {
  if (resourceLoader) return resourceLoader;
  const loader = new DefaultResourceLoader({
    cwd,
    agentDir,
    settingsManager,
    systemPromptOverride: (base) => (typeof systemPrompt === "function" ? systemPrompt(base ?? "") : (systemPrompt ?? base)),
    skillsOverride: (base) => (skills ? { ...base, skills } : base),
    agentsFilesOverride: (base) => (contextFiles ? { agentsFiles: contextFiles } : base),
    promptsOverride: (base) => (promptTemplates ? { ...base, prompts: promptTemplates } : base),
  });
  await loader.reload();
  return loader;
}

/** Makes an agent. It calls bowline's models and tools, and has the extensions of its loader. */
export async function createAgentSession(options = {}) {
  const given = options.cwd ?? options.sessionManager?.getCwd() ?? bridge.state?.cwd ?? process.cwd();
  const cwd = resolvePath(given);
  const agentDir = options.agentDir ?? getAgentDir();
  const settingsManager = options.settingsManager ?? SettingsManager.create(cwd, agentDir);
  const sessionManager = options.sessionManager ?? SessionManager.create(cwd);
  const resourceLoader = await loaded(options, cwd, agentDir, settingsManager);
  const earlier = sessionManager.buildSessionContext();
  const { model, modelFallbackMessage } = chooseModel(options.model, earlier.model, settingsManager);
  if (!model) throw new Error("There is no model to use: none has a key");
  const isRestored = earlier.messages.length > 0;
  const usual = isRestored ? earlier.thinkingLevel : settingsManager.getDefaultThinkingLevel();
  const level = options.thinkingLevel ?? usual ?? "medium";
  const thinkingLevel = model.reasoning ? level : "off";
  const registered = (resourceLoader.getExtensions()?.extensions ?? []).flatMap(({ tools }) => [...tools.values()]);
  const customTools = [...registered.map(({ definition }) => definition), ...(options.customTools ?? [])];
  const tools = agentTools({ ...options, customTools, cwd, defaultTools: settingsManager.getDefaultTools() });
  if (!isRestored) {
    sessionManager.appendModelChange(model.provider, model.id);
    sessionManager.appendThinkingLevelChange(thinkingLevel);
  }
  const { streamSimple } = createModelRegistry();
  const config = { cwd, model, thinkingLevel, tools, sessionManager, settingsManager, resourceLoader, streamFn: streamSimple };
  const session = new AgentSession({ ...config, sessionStartEvent: options.sessionStartEvent });
  return { session, extensionsResult: resourceLoader.getExtensions(), modelFallbackMessage };
}
