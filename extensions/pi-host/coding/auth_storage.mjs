// Keys of providers: in pi's file, or those that bowline has. Old versions of the package had `AuthStorage`.

import { join } from "node:path";
import { bridge } from "../bridge.mjs";
import { getAgentDir, normalizePath } from "../paths.mjs";
import { changeFile, readText } from "./locked_file.mjs";

/** Only the user may read the file. */
const MODE = 0o600;
const parsed = (text) => (text ? JSON.parse(text) : {});
const defaultPath = () => join(getAgentDir(), "auth.json");

/** Returns the credential of a provider as it is in the file, or undefined. */
export function readStoredCredential(providerId, authPath = defaultPath()) {
  try {
    return parsed(readText(normalizePath(authPath)))[providerId];
  } catch {
    return undefined;
  }
}

/** Credentials in a file. */
export class FileAuthStorageBackend {
  #path;

  constructor(authPath = defaultPath()) {
    this.#path = normalizePath(authPath);
  }

  withLock(change) {
    const { result, next } = change(readText(this.#path));
    if (next === undefined) return result;
    let final;
    changeFile(
      this.#path,
      (current) => {
        final = change(current);
        return final.next;
      },
      MODE,
    );
    return final.result;
  }

  async withLockAsync(change) {
    const { result, next } = await change(readText(this.#path));
    if (next !== undefined) changeFile(this.#path, () => next, MODE);
    return result;
  }
}

/** Credentials that are lost at the end. */
export class InMemoryAuthStorageBackend {
  #text;

  withLock(change) {
    const { result, next } = change(this.#text);
    if (next !== undefined) this.#text = next;
    return result;
  }

  async withLockAsync(change) {
    const { result, next } = await change(this.#text);
    if (next !== undefined) this.#text = next;
    return result;
  }
}

/** The credentials of providers, with the functions of all versions. Keys that are not in the file are asked of bowline. */
export class AuthStorage {
  #backend;
  #runtimeKeys = new Map();
  #fallback;
  #changes = Promise.resolve();

  constructor(backend = new FileAuthStorageBackend()) {
    this.#backend = backend;
  }

  static create(authPath) {
    return new AuthStorage(new FileAuthStorageBackend(authPath));
  }

  static fromStorage(backend) {
    return new AuthStorage(backend);
  }

  static inMemory(data = {}) {
    const backend = new InMemoryAuthStorageBackend();
    backend.withLock(() => ({ next: JSON.stringify(data) }));
    return new AuthStorage(backend);
  }

  #all() {
    try {
      return this.#backend.withLock((current) => ({ result: parsed(current) })) ?? {};
    } catch {
      return {};
    }
  }

  #change(edit) {
    this.#backend.withLock((current) => {
      const all = parsed(current);
      edit(all);
      return { next: JSON.stringify(all, null, 2) };
    });
  }

  reload() {}

  async read(provider) {
    return this.#all()[provider];
  }

  async list() {
    return Object.entries(this.#all()).map(([providerId, { type }]) => ({ providerId, type }));
  }

  /** Changes the credential of a provider; changes happen one after the other. */
  modify(provider, edit) {
    const change = this.#changes.then(async () => {
      const current = this.#all()[provider];
      const next = await edit(current);
      if (next !== undefined) this.set(provider, next);
      return next ?? current;
    });
    this.#changes = change.catch(() => undefined);
    return change;
  }

  async delete(provider) {
    this.remove(provider);
  }

  get(provider) {
    return this.#all()[provider];
  }

  getAll() {
    return this.#all();
  }

  set(provider, credential) {
    this.#change((all) => {
      all[provider] = credential;
    });
  }

  remove(provider) {
    this.#change((all) => {
      delete all[provider];
    });
  }

  has(provider) {
    return provider in this.#all();
  }

  /** Tells whether there is a key: in the file, set here, or known to bowline, which lists the models that have one. */
  hasAuth(provider) {
    if (this.has(provider) || this.#runtimeKeys.has(provider)) return true;
    return (bridge.models?.() ?? []).some((model) => model.provider === provider);
  }

  setRuntimeApiKey(provider, apiKey) {
    this.#runtimeKeys.set(provider, apiKey);
  }

  removeRuntimeApiKey(provider) {
    this.#runtimeKeys.delete(provider);
  }

  setFallbackResolver(resolver) {
    this.#fallback = resolver;
  }

  /** Returns the key of a provider: one that was set here, or what bowline makes of the stored one. */
  async getApiKey(provider) {
    const own = this.#runtimeKeys.get(provider);
    if (own) return own;
    const found = await Promise.resolve(bridge.request?.("model.auth", { provider })).catch(() => undefined);
    if (found?.apiKey) return found.apiKey;
    const stored = this.get(provider);
    return (stored?.type === "api_key" ? stored.key : undefined) ?? this.#fallback?.(provider);
  }

  getOAuthProviders() {
    return [];
  }

  async login() {
    bridge.notServed("AuthStorage.login()");
  }

  logout(provider) {
    this.remove(provider);
  }
}
