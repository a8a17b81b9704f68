// The class whose instances extensions know as `ctx.modelRegistry`.

import { createModelRegistry } from "../model/registry.mjs";

/** The models of bowline. Every instance shows the same: bowline has the keys and the files. */
export class ModelRegistry {
  constructor() {
    Object.defineProperties(this, Object.getOwnPropertyDescriptors(createModelRegistry()));
  }

  static create() {
    return new ModelRegistry();
  }

  static inMemory() {
    return new ModelRegistry();
  }
}
