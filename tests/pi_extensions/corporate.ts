// An extension of pi for tests: two providers with a login of the server in corporate.py, and commands that tell of keys.
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const url = process.env.CORPORATE_URL;

async function tokens(fields: Record<string, string>) {
  const answer = await fetch(`${url}/token`, { method: "POST", body: JSON.stringify(fields) });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

const oauth = {
  name: "Corporate AI",
  async login(callbacks) {
    callbacks.onAuth({ url: `${url}/login`, instructions: "Sign in here:" });
    const account = await callbacks.onSelect({
      message: "Account",
      options: [{ id: "work", label: "Work" }, { id: "browser", label: "In the browser" }],
    });
    callbacks.onProgress?.(`Logging in with ${account}`);
    // A login that waits for the browser asks nothing.
    if (account === "browser") await new Promise((_, reject) => callbacks.signal.addEventListener("abort", () => reject(new Error("stopped"))));
    const code = await callbacks.onPrompt({ message: "Code", placeholder: "1234" });
    return tokens({ code, account });
  },
  refreshToken: ({ refresh }) => tokens({ refresh }),
  getApiKey: ({ access }) => `key-${access}`,
  modifyModels: (models, { account }) => models.map((model) => ({ ...model, name: `${model.name} of ${account}` })),
};

const model = (id: string) => ({
  ...{ id, name: id.toUpperCase(), reasoning: false, input: ["text"] as const, contextWindow: 10_000, maxTokens: 1000 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
});

/** Answers with whether the key is the one that the login stands for, which only the server knows. */
function answer(model, _context, options) {
  const stream = createAssistantMessageEventStream();
  const message = (text) => ({
    ...{ role: "assistant", api: model.api, provider: model.provider, model: model.id, stopReason: "stop", timestamp: Date.now() },
    ...{ content: [{ type: "text", text }], usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } } },
  });
  void fetch(`${url}/check`, { headers: { authorization: `Bearer ${options.apiKey}` } }).then(({ ok }) => {
    stream.push({ type: "done", reason: "stop", message: message(ok ? "the key is right" : "the key is wrong") });
  });
  return stream;
}

export default function (pi: ExtensionAPI) {
  pi.registerProvider("corp", {
    ...{ baseUrl: `${url}/v1`, api: "openai-completions", headers: { "x-team": "tests" }, models: [model("m1")] },
    oauth,
  });
  pi.registerProvider("corp-own", { baseUrl: url, api: "corp-api", streamSimple: answer, models: [model("m2")], oauth: { ...oauth, modifyModels: undefined } });

  pi.registerCommand("keys", {
    description: "Tells what the registry knows of the key of a provider",
    async handler(args, ctx) {
      const registry = ctx.modelRegistry;
      const [provider, id] = args.split("/");
      const known = registry.find(provider, id);
      const access = await registry.getApiKeyAndHeaders(known);
      const told = {
        ...{ oauth: registry.isUsingOAuth(known), configured: registry.hasConfiguredAuth(known), status: registry.getProviderAuthStatus(provider) },
        ...{ ok: access.ok, headers: access.headers, error: access.error },
        same: (await registry.getApiKeyForProvider(provider)) === access.apiKey,
        right: (await fetch(`${url}/check`, { headers: { authorization: `Bearer ${access.apiKey}` } })).ok,
        scoped: ctx.scopedModels.map((scoped) => [scoped.model.id, scoped.thinkingLevel ?? null]),
      };
      ctx.ui.notify(JSON.stringify(told));
    },
  });

  pi.registerCommand("store", {
    description: "Stores a key, or removes it",
    handler: async (args, ctx) => {
      const [provider, key] = args.split(" ");
      const { authStorage } = ctx.modelRegistry as any;
      if (key) authStorage.set(provider, { type: "api_key", key });
      else authStorage.remove(provider);
      ctx.ui.notify(JSON.stringify(ctx.modelRegistry.getProviderAuthStatus(provider)));
    },
  });
}
