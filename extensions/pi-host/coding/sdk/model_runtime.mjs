// The models of bowline under the names that programs which embed pi use.

import { bridge } from "../../bridge.mjs";
import { createModelRegistry } from "../../model/registry.mjs";

export class ModelRuntime {
  #registry = createModelRegistry();

  static async create() {
    return new ModelRuntime();
  }

  #usable(provider) {
    return this.#registry.getAvailable().filter((model) => provider === undefined || model.provider === provider);
  }

  getProviders() {
    return [...new Set(this.#registry.getAll().map(({ provider }) => provider))].map((name) => this.#registry.getProvider(name));
  }
  getProvider(name) {
    return this.#registry.getProvider(name);
  }
  getModels(provider) {
    return this.#registry.getAll().filter((model) => provider === undefined || model.provider === provider);
  }
  getModel(provider, id) {
    return this.#registry.find(provider, id);
  }
  async getAvailable(provider) {
    return this.#usable(provider);
  }
  getAvailableSnapshot() {
    return this.#usable();
  }
  getError() {
    return this.#registry.getError();
  }
  hasConfiguredAuth(provider) {
    return this.#usable(provider).length > 0;
  }
  isUsingOAuth(provider) {
    return this.#usable(provider).some((model) => this.#registry.isUsingOAuth(model));
  }
  getAuth(providerOrModel) {
    return this.#registry.getProviderAuth(providerOrModel?.provider ?? providerOrModel);
  }
  getProviderAuthStatus(provider) {
    return this.#registry.getProviderAuthStatus(provider);
  }
  refresh(options) {
    return this.#registry.refresh(options);
  }
  stream(model, context, options) {
    return this.#registry.stream(model, context, options);
  }
  streamSimple(model, context, options) {
    return this.#registry.streamSimple(model, context, options);
  }
  complete(model, context, options) {
    return this.#registry.complete(model, context, options);
  }
  completeSimple(model, context, options) {
    return this.#registry.completeSimple(model, context, options);
  }
  registerProvider(name, config) {
    this.#registry.registerProvider(name, config);
  }
  registerNativeProvider(provider) {
    this.#registry.registerProvider(provider);
  }
  unregisterProvider(name) {
    this.#registry.unregisterProvider(name);
  }
  getRegisteredProviderIds() {
    return this.#registry.getRegisteredProviderIds();
  }
  getRegisteredProviderConfig(name) {
    return this.#registry.getRegisteredProviderConfig(name);
  }
  getRegisteredNativeProvider(name) {
    return this.#registry.getRegisteredNativeProvider(name);
  }
  setRuntimeApiKey() {
    return bridge.notServed("ModelRuntime.setRuntimeApiKey()");
  }
  login() {
    return bridge.notServed("ModelRuntime.login()");
  }
}
