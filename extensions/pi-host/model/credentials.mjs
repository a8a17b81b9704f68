// The building blocks of a provider's authentication: stores in memory, keys of the environment, late loading.

import { access } from "node:fs/promises";
import { normalizePath } from "../paths.mjs";
import { formatThrownValue } from "./failures.mjs";

/** An error of the collection of models, with a code. */
export class ModelsError extends Error {
  constructor(code, message, options) {
    const detail = options?.cause === undefined || options?.cause === null ? "" : formatThrownValue(options.cause).trim();
    super(detail && !message.includes(detail) ? `${message}: ${detail}` : message, options);
    this.name = "ModelsError";
    this.code = code;
  }
}

/** Credentials by provider. Changes of one provider happen one after the other. */
export class InMemoryCredentialStore {
  #credentials = new Map();
  #last = new Map();

  async read(providerId, options) {
    options?.signal?.throwIfAborted();
    return this.#credentials.get(providerId);
  }

  async list(options) {
    options?.signal?.throwIfAborted();
    return [...this.#credentials].map(([providerId, { type }]) => ({ providerId, type }));
  }

  modify(providerId, change, options) {
    return this.#inTurn(providerId, options, async () => {
      const current = this.#credentials.get(providerId);
      const next = await change(current);
      options?.signal?.throwIfAborted();
      if (next !== undefined) this.#credentials.set(providerId, next);
      return next ?? current;
    });
  }

  delete(providerId, options) {
    return this.#inTurn(providerId, options, async () => void this.#credentials.delete(providerId));
  }

  #inTurn(providerId, options, run) {
    const before = this.#last.get(providerId) ?? Promise.resolve();
    const own = before.then(() => {
      options?.signal?.throwIfAborted();
      return run();
    });
    this.#last.set(providerId, own.catch(() => {}));
    return own;
  }
}

/** Lists of models by provider. */
export class InMemoryModelsStore {
  #entries = new Map();

  async read(providerId, options) {
    options?.signal?.throwIfAborted();
    return structuredClone(this.#entries.get(providerId));
  }

  async write(providerId, entry, options) {
    options?.signal?.throwIfAborted();
    this.#entries.set(providerId, structuredClone(entry));
  }

  async delete(providerId, options) {
    options?.signal?.throwIfAborted();
    this.#entries.delete(providerId);
  }
}

/** Returns what authentication may look at: the environment and whether files exist. */
export function defaultProviderAuthContext() {
  const exists = (path) => access(normalizePath(path)).then(() => true, () => false);
  return {
    env: async (name) => (process.env[name]?.trim() ? process.env[name] : undefined),
    fileExists: exists,
  };
}

/** Returns the authentication by a stored key, else by the first variable that is set. */
export function envApiKeyAuth(name, variables) {
  return {
    name,
    async login({ prompt, signal }) {
      signal?.throwIfAborted();
      const key = await prompt({ type: "secret", message: `Enter ${name}` });
      signal?.throwIfAborted();
      return { type: "api_key", key };
    },
    async resolve({ ctx, credential, signal }) {
      signal?.throwIfAborted();
      if (credential?.key) return { auth: { apiKey: credential.key }, env: credential.env, source: "stored credential" };
      for (const variable of variables) {
        const apiKey = await ctx.env(variable);
        if (apiKey) return { auth: { apiKey }, source: variable };
      }
      return undefined;
    },
  };
}

/** Returns a login whose code is loaded when it is first used. */
export function lazyOAuth({ name, isSubscription, loginLabel, load }) {
  let loading;
  const call = (method) => async (...given) => {
    loading ??= load();
    return (await loading)[method](...given);
  };
  return { name, isSubscription, loginLabel, login: call("login"), refresh: call("refresh"), toAuth: call("toAuth") };
}
