// The environment variables that hold the keys of providers.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const ANTHROPIC_AUTH_TOKEN_ENV = "ANTHROPIC_AUTH_TOKEN";
export const ANTHROPIC_OAUTH_TOKEN_ENV = "ANTHROPIC_OAUTH_TOKEN";
export const ANTHROPIC_API_KEY_ENV = "ANTHROPIC_API_KEY";
export const ANTHROPIC_FEDERATION_RULE_ID_ENV = "ANTHROPIC_FEDERATION_RULE_ID";
export const ANTHROPIC_IDENTITY_TOKEN_FILE_ENV = "ANTHROPIC_IDENTITY_TOKEN_FILE";
export const ANTHROPIC_ORGANIZATION_ID_ENV = "ANTHROPIC_ORGANIZATION_ID";
export const ANTHROPIC_SERVICE_ACCOUNT_ID_ENV = "ANTHROPIC_SERVICE_ACCOUNT_ID";
export const ANTHROPIC_WORKSPACE_ID_ENV = "ANTHROPIC_WORKSPACE_ID";

/** Stands for credentials that are not a key, such as a profile of the cloud's own tools. */
const AMBIENT = "<authenticated>";

// Others are named after the provider: `groq` has GROQ_API_KEY.
const OTHER_NAMES = {
  "azure-openai-responses": "AZURE_OPENAI_API_KEY",
  "cloudflare-ai-gateway": "CLOUDFLARE_API_KEY",
  "cloudflare-workers-ai": "CLOUDFLARE_API_KEY",
  "github-copilot": "COPILOT_GITHUB_TOKEN",
  google: "GEMINI_API_KEY",
  "google-vertex": "GOOGLE_CLOUD_API_KEY",
  huggingface: "HF_TOKEN",
  "kimi-coding": "KIMI_API_KEY",
  moonshotai: "MOONSHOT_API_KEY",
  "moonshotai-cn": "MOONSHOT_API_KEY",
  "opencode-go": "OPENCODE_API_KEY",
  "qwen-token-plan-individual": "QWEN_TOKEN_PLAN_API_KEY",
  "vercel-ai-gateway": "AI_GATEWAY_API_KEY",
};
const NAMED_AFTER_PROVIDER = new Set([
  ..."ant-ling baseten cerebras deepseek fireworks groq meta minimax minimax-cn mistral nvidia openai opencode".split(" "),
  ..."openrouter qwen-token-plan qwen-token-plan-cn radius together xai xiaomi xiaomi-token-plan-ams".split(" "),
  ..."xiaomi-token-plan-cn xiaomi-token-plan-sgp zai zai-coding-cn".split(" "),
]);

function variablesOf(provider) {
  if (provider === "anthropic") {
    return [ANTHROPIC_AUTH_TOKEN_ENV, ANTHROPIC_OAUTH_TOKEN_ENV, ANTHROPIC_API_KEY_ENV];
  }
  if (Object.hasOwn(OTHER_NAMES, provider)) return [OTHER_NAMES[provider]];
  if (NAMED_AFTER_PROVIDER.has(provider)) return [`${provider.toUpperCase().replaceAll("-", "_")}_API_KEY`];
  return undefined;
}

/** Returns the value of a variable. */
export function getProviderEnvValue(name, environment) {
  return environment?.[name] || process.env[name] || undefined;
}

/** Returns the names of the variables of a provider that are set. */
export function findEnvKeys(provider, environment) {
  const found = variablesOf(provider)?.filter((name) => getProviderEnvValue(name, environment));
  return found?.length > 0 ? found : undefined;
}

function hasGoogleCredentials(value) {
  const file = value("GOOGLE_APPLICATION_CREDENTIALS");
  const path = file ?? join(homedir(), ".config", "gcloud", "application_default_credentials.json");
  const hasProject = value("GOOGLE_CLOUD_PROJECT") || value("GCLOUD_PROJECT");
  return Boolean(hasProject && value("GOOGLE_CLOUD_LOCATION") && existsSync(path));
}

function hasAmazonCredentials(value) {
  const names = [
    "AWS_PROFILE",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
  ];
  return names.some(value) || Boolean(value("AWS_ACCESS_KEY_ID") && value("AWS_SECRET_ACCESS_KEY"));
}

/** Returns the key that the environment has for a provider. */
export function getEnvApiKey(provider, environment) {
  const value = (name) => getProviderEnvValue(name, environment);
  // This token is no key: it is sent in another header.
  const name = findEnvKeys(provider, environment)?.find((found) => found !== ANTHROPIC_AUTH_TOKEN_ENV);
  if (name) return value(name);
  const isAmbient =
    (provider === "google-vertex" && hasGoogleCredentials(value)) ||
    (provider === "amazon-bedrock" && hasAmazonCredentials(value));
  return isAmbient ? AMBIENT : undefined;
}
