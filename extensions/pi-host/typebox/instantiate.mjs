// Puts types in the place of references: modules, generic types and deferred actions.

import { Cyclic, ObjectType, Optional, Readonly } from "./basic_types.mjs";
import { copy, create, isObjectLike, isOptional, isReadonly, kindOf, put, update } from "./kind.mjs";
import { run } from "./actions.mjs";

/** Keywords that hold one type, a list of types, and a table of types. */
const SINGLE = ["items", "not", "item", "returnType", "instanceType", "additionalProperties", "unevaluatedProperties", "if", "then", "else"];
const LISTS = ["items", "anyOf", "allOf", "parameters"];
const TABLES = ["properties", "patternProperties"];

function instantiateTable(context, table, active) {
  const result = {};
  for (const key of Object.keys(table)) put(result, key, instantiate(context, table[key], active));
  return result;
}

function instantiateParameter(context, parameter, active) {
  if (Array.isArray(parameter)) return parameter.map((type) => instantiate(context, type, active));
  if (!isObjectLike(parameter)) return parameter;
  if (kindOf(parameter) === undefined) return instantiateTable(context, parameter, active);
  return instantiate(context, parameter, active);
}

function keepModifiers(original, type) {
  let result = type;
  if (isOptional(original) && !isOptional(result)) result = Optional(result);
  if (isReadonly(original) && !isReadonly(result)) result = Readonly(result);
  return result;
}

function resolve(context, type, active) {
  const name = type.$ref;
  if (!Object.hasOwn(context, name) || active.includes(name)) return type;
  return keepModifiers(type, instantiate(context, context[name], [...active, name]));
}

/** Returns `type` with its references replaced by the types of `context`; a reference to itself stays one. */
export function instantiate(context, type, active = []) {
  switch (kindOf(type)) {
    case undefined:
    case "Cyclic":
      return type;
    case "Ref":
      return resolve(context, type, active);
    case "Deferred": {
      const parameters = type.parameters.map((parameter) => instantiateParameter(context, parameter, active));
      return keepModifiers(type, run(type.action, parameters, type.options));
    }
    case "Object": {
      const properties = instantiateTable(context, type.properties, active);
      const { required } = ObjectType(properties);
      const result = update(type, {}, required ? { required, properties } : { properties });
      if (!required && !Object.isFrozen(result)) delete result.required;
      return result;
    }
    default:
      return instantiateKeywords(context, type, active);
  }
}

function instantiateKeywords(context, type, active) {
  const changes = {};
  for (const key of SINGLE) {
    if (isObjectLike(type[key]) && !Array.isArray(type[key])) changes[key] = instantiate(context, type[key], active);
  }
  for (const key of LISTS) {
    if (Array.isArray(type[key])) changes[key] = type[key].map((member) => instantiate(context, member, active));
  }
  for (const key of TABLES) {
    if (isObjectLike(type[key])) changes[key] = instantiateTable(context, type[key], active);
  }
  return Object.keys(changes).length > 0 ? update(type, {}, changes) : type;
}

/** Returns the names of `context` that `type` refers to, directly or through others. */
function dependencies(context, type, found = new Set(), seen = new Set()) {
  if (!isObjectLike(type) || seen.has(type)) return found;
  seen.add(type);
  if (kindOf(type) === "Ref" && Object.hasOwn(context, type.$ref) && !found.has(type.$ref)) {
    found.add(type.$ref);
    dependencies(context, context[type.$ref], found, seen);
  }
  for (const key of Object.keys(type)) dependencies(context, type[key], found, seen);
  return found;
}

function pickKeys(table, keys) {
  const result = {};
  for (const key of Object.keys(table)) if (keys.has(key)) put(result, key, table[key]);
  return result;
}

function isCyclic(context, name) {
  return dependencies(context, context[name]).has(name);
}

function moduleMember(context, name) {
  const type = context[name];
  const names = dependencies(context, type);
  const cyclic = [...names, name].some((other) => isCyclic(context, other));
  if (!cyclic || kindOf(type) === "Deferred") return instantiate(context, type, [name]);
  names.add(name);
  return Cyclic(pickKeys(context, names), name);
}

/** Returns the types of `context` with their references resolved; `Import` serves 0.34. */
export function Module(context) {
  const result = {};
  for (const name of Object.keys(context)) put(result, name, moduleMember(context, name));
  if (!Object.hasOwn(result, "Import")) {
    const value = (name, options) => {
      const { $defs, $ref } = Cyclic(context, name);
      return create("Import", { $defs, $ref }, options);
    };
    Object.defineProperty(result, "Import", { value, enumerable: false });
  }
  return result;
}

/** Returns what a generic type makes of `types`. */
export function Call(generic, types) {
  if (kindOf(generic) !== "Generic") return create("Call", { target: generic, arguments: types });
  const context = {};
  generic.parameters.forEach((parameter, index) => put(context, parameter.name, types[index] ?? parameter.equals));
  return instantiate(context, generic.expression);
}

/** Returns `type` with the references to `context` replaced; in 0.34 the type comes first and a list of types second. */
export function Instantiate(context, type) {
  if (Array.isArray(type)) {
    const parameters = Object.fromEntries(type.map((member, index) => [`#${index}`, member]));
    return instantiateArguments(parameters, context);
  }
  return instantiate(context, type);
}

function instantiateArguments(parameters, type) {
  if (!isObjectLike(type)) return type;
  if (kindOf(type) === "Argument") return parameters[`#${type.index}`] ?? type;
  const result = copy(type);
  for (const key of Object.keys(result)) {
    if (isObjectLike(result[key])) result[key] = instantiateArguments(parameters, result[key]);
  }
  return result;
}
