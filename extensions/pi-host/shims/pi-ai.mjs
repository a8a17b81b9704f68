// What extensions import from pi-ai and its sub-paths. Models are called by bowline; the rest is computed here.

import { builtInApi, getApiProvider, getApiProviders, resetApiProviders } from "../model/api_registry.mjs";
import { builtinProviders, getModel, getModels, getProviders } from "../model/built_in.mjs";
import { createModels } from "../model/models_collection.mjs";
import { Type } from "./typebox.mjs";

export { Type };
export { uuidv7 } from "../identifiers.mjs";
export * from "../model/built_in_providers.mjs";
export * from "../model/client_identity.mjs";
export * from "../model/credentials.mjs";
export * from "../model/environment_keys.mjs";
export * from "../model/estimate.mjs";
export * from "../model/faux.mjs";
export * from "../model/failures.mjs";
export * from "../model/http_errors.mjs";
export * from "../model/images.mjs";
export * from "../model/json.mjs";
export * from "../model/model_facts.mjs";
export * from "../model/models_collection.mjs";
export * from "../model/old_logins.mjs";
export * from "../model/signals.mjs";
export * from "../model/text.mjs";
export * from "../model/transcript.mjs";
export * from "../model/validation.mjs";
export { registerApiProvider, unregisterApiProviders } from "../model/api_registry.mjs";
export { complete, completeSimple, stream, streamSimple } from "../model/built_in.mjs";
export {
  AssistantMessageEventStream,
  createAssistantMessageEventStream,
  EventStream,
  lazyApi,
  lazyStream,
} from "../model/event_stream.mjs";
export { builtinProviders, getApiProvider, getApiProviders, getModel, getModels, getProviders, resetApiProviders };

/** Returns the schema of one of several texts. */
export function StringEnum(values, options = {}) {
  const { description, default: preset, ...others } = options;
  return Type.Unsafe({
    type: "string",
    enum: values,
    ...others,
    ...(description ? { description } : {}),
    ...(preset ? { default: preset } : {}),
  });
}

// The catalog of bowline takes the place of the one that pi-ai carries.
export const getBuiltinModel = getModel;
export const getBuiltinModels = getModels;
export const getBuiltinProviders = getProviders;
export const getAllBuiltinModels = () => getModels();
export const getBuiltinModelDataGeneratedAt = () => undefined;

/** Returns a collection of all providers. */
export function builtinModels(options) {
  const models = createModels(options);
  for (const provider of builtinProviders()) models.setProvider(provider);
  return models;
}

export const clearApiProviders = resetApiProviders;

// Nothing is to be set up: bowline has its APIs, and extensions cannot exchange them.
export const registerBuiltInApiProviders = () => {};
export const registerBuiltInImagesApiProviders = () => {};
export const registerBunOAuthFlows = () => {};
export const setBedrockProviderModule = () => {};

export const anthropicMessagesApi = () => builtInApi("anthropic-messages");
export const azureOpenAIResponsesApi = () => builtInApi("azure-openai-responses");
export const bedrockConverseStreamApi = () => builtInApi("bedrock-converse-stream");
export const googleGenerativeAIApi = () => builtInApi("google-generative-ai");
export const googleVertexApi = () => builtInApi("google-vertex");
export const mistralConversationsApi = () => builtInApi("mistral-conversations");
export const openAICodexResponsesApi = () => builtInApi("openai-codex-responses");
export const openAICompletionsApi = () => builtInApi("openai-completions");
export const openAIResponsesApi = () => builtInApi("openai-responses");
export const piMessagesApi = () => builtInApi("pi-messages");

export const { stream: streamAnthropic, streamSimple: streamSimpleAnthropic } = builtInApi("anthropic-messages");
export const { stream: streamAzureOpenAIResponses, streamSimple: streamSimpleAzureOpenAIResponses } = builtInApi("azure-openai-responses");
export const { stream: streamGoogle, streamSimple: streamSimpleGoogle } = builtInApi("google-generative-ai");
export const { stream: streamGoogleVertex, streamSimple: streamSimpleGoogleVertex } = builtInApi("google-vertex");
export const { stream: streamMistral, streamSimple: streamSimpleMistral } = builtInApi("mistral-conversations");
export const { stream: streamOpenAICodexResponses, streamSimple: streamSimpleOpenAICodexResponses } = builtInApi("openai-codex-responses");
export const { stream: streamOpenAICompletions, streamSimple: streamSimpleOpenAICompletions } = builtInApi("openai-completions");
export const { stream: streamOpenAIResponses, streamSimple: streamSimpleOpenAIResponses } = builtInApi("openai-responses");
