// Models that make images: only those of APIs that extensions register. bowline has none.

import { bridge } from "../bridge.mjs";

const apis = new Map();

/** Registers the function of an API of images. */
export function registerImagesApiProvider(provider, sourceId) {
  apis.set(provider.api, { ...provider, sourceId });
}

export function getImagesApiProvider(api) {
  return apis.get(api);
}

export const getImageModel = () => undefined;
export const getImageModels = () => [];
export const getImageProviders = () => [];

/** Makes images with what is registered for the API of the model. */
export async function generateImages(model, context, options) {
  const provider = apis.get(model.api);
  if (!provider) bridge.notServed("pi-ai: generateImages()");
  return provider.generateImages(model, context, options);
}
