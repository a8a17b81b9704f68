// Finds what `$ref` means: identifiers, anchors, JSON pointers, definitions around the reference, and types that the caller supplies by name.

import { isObjectLike, isRecordLike } from "./kind.mjs";

const ROOT_BASE = "schema://root/";
/** Keywords whose value is data, not a schema. */
const DATA = new Set(["const", "enum", "default", "examples"]);
/** Keywords whose value is a table of schemas by name. */
const TABLES = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);

function resolveUrl(reference, base) {
  try {
    return new URL(reference, base).href;
  } catch {
    return reference;
  }
}

function splitFragment(url) {
  const hash = url.indexOf("#");
  return hash < 0 ? [url, ""] : [url.slice(0, hash), url.slice(hash + 1)];
}

function decodeFragment(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the value at a JSON pointer, looking at own properties only. */
export function pointerTarget(root, pointer) {
  let current = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObjectLike(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/** The identifiers of one schema and of the types supplied with it. */
export class References {
  #root;
  #supplied;
  #resources = new Map();
  #anchors = new Map();
  // Per schema: its base, and the definitions around it from the innermost to the outermost.
  #places = new Map();

  /** Whether a keyword of the schema needs to know which properties other keywords evaluated. */
  tracksEvaluated = false;

  constructor(root, supplied = {}) {
    this.#root = root;
    this.#supplied = supplied;
    this.#resources.set(ROOT_BASE, root);
    this.#collect(root);
    for (const name of Object.keys(supplied)) this.#collect(supplied[name]);
  }

  // A list instead of recursion: the schemas of others may be nested without bound.
  #collect(start) {
    const waiting = [{ schema: start, base: ROOT_BASE, scope: undefined }];
    while (waiting.length > 0) {
      const { schema, base, scope } = waiting.pop();
      if (!isObjectLike(schema) || this.#places.has(schema)) continue;
      const place = Array.isArray(schema) ? { base, scope } : this.#register(schema, base, scope);
      this.#places.set(schema, place);
      for (const key of Object.keys(schema)) {
        if (DATA.has(key) || !isObjectLike(schema[key])) continue;
        const children = TABLES.has(key) && isRecordLike(schema[key]) ? Object.values(schema[key]) : [schema[key]];
        for (const child of children) waiting.push({ schema: child, ...place });
      }
    }
  }

  #register(schema, outerBase, outerScope) {
    let base = outerBase;
    if (typeof schema.$id === "string") {
      const [url, fragment] = splitFragment(resolveUrl(schema.$id, outerBase));
      if (schema.$id.startsWith("#")) this.#anchors.set(`${outerBase}#${fragment}`, schema);
      else {
        base = url;
        if (!this.#resources.has(url)) this.#resources.set(url, schema);
      }
    }
    for (const anchor of [schema.$anchor, schema.$dynamicAnchor]) {
      if (typeof anchor === "string") this.#anchors.set(`${base}#${anchor}`, schema);
    }
    if ("unevaluatedProperties" in schema || "unevaluatedItems" in schema) this.tracksEvaluated = true;
    const definitions = isRecordLike(schema.$defs) ? schema.$defs : undefined;
    return { base, scope: definitions ? { definitions, outer: outerScope } : outerScope };
  }

  /** Returns the schema that `reference` in `schema` means, or undefined. */
  resolve(schema, reference) {
    if (Object.hasOwn(this.#supplied, reference)) return this.#supplied[reference];
    const place = this.#places.get(schema) ?? { base: ROOT_BASE };
    for (let scope = place.scope; scope; scope = scope.outer) {
      const found = Object.hasOwn(scope.definitions, reference) ? scope.definitions[reference] : undefined;
      if (found !== undefined && (found.$id === undefined || found.$id === reference)) return found;
    }
    const [url, fragment] = splitFragment(resolveUrl(reference, place.base));
    const resource = this.#resources.get(url);
    const name = decodeFragment(fragment);
    if (name === "") return resource;
    if (!name.startsWith("/")) return this.#anchors.get(`${url}#${name}`);
    return resource === undefined ? undefined : pointerTarget(resource, name);
  }

  get root() {
    return this.#root;
  }
}
