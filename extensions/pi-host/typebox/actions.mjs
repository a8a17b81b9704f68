// The builders that compute a type from other types: Partial, Pick, KeyOf, Exclude, Record, Mapped …, and those that put types in the place of
// references: modules and generic types. What waits for a reference stays a "Deferred" type until a Module or Instantiate supplies it.

import * as basic from "./basic_types.mjs";
import {
  evaluate, evaluateIntersect, extendsType, indexType, isPendingTemplate, keyLiteral, keysOfIndexer, parseTemplate, propertiesOf, templateOfTypes,
  templateStrings, unionMembers, unionOf,
} from "./evaluate.mjs";
import { copy, create, isKind, isObjectLike, isOptional, isReadonly, kindOf, put, update, without } from "./kind.mjs";

const { Cyclic, Intersect, Literal, Never, ObjectType, Optional, Readonly, Tuple, Union } = basic;

function withOptions(type, options) {
  return options && Object.keys(options).length > 0 ? update(type, {}, options) : type;
}

function mapProperties(properties, change) {
  const result = {};
  for (const key of Object.keys(properties)) put(result, key, change(properties[key], key));
  return result;
}

/** Returns the type with `change` applied to every property; members of a union each for themselves. */
function changeProperties(type, change) {
  switch (kindOf(type)) {
    case "Union":
      return Union(type.anyOf.map((member) => changeProperties(member, change)));
    case "Cyclic": {
      const target = type.$defs[type.$ref];
      return Cyclic({ ...type.$defs, [type.$ref]: changeProperties(target, change) }, type.$ref);
    }
    case "Intersect": {
      const evaluated = evaluateIntersect(type.allOf);
      return isKind(evaluated, "Intersect") ? ObjectType({}) : changeProperties(evaluated, change);
    }
    default:
      return ObjectType(mapProperties(propertiesOf(type), change));
  }
}

const partial = (type) => changeProperties(type, (property) => Optional(property));
const required = (type) => changeProperties(type, (property) => Optional(property, false));
const readonlyObject = (type) => changeProperties(type, (property) => Readonly(property));

function select(type, keep) {
  const properties = propertiesOf(type);
  const result = {};
  for (const key of Object.keys(properties).filter(keep)) put(result, key, properties[key]);
  return ObjectType(result);
}

function pick(type, indexer) {
  const keys = new Set(keysOfIndexer(indexer));
  return select(type, (key) => keys.has(key));
}

function omit(type, indexer) {
  const keys = new Set(keysOfIndexer(indexer));
  return select(type, (key) => !keys.has(key));
}

function keyOf(type) {
  switch (kindOf(type)) {
    case "Any":
      return Union([basic.NumberType(), basic.StringType(), basic.SymbolType()]);
    case "Array":
      return basic.NumberType();
    case "Record":
      return recordKey(type);
    default:
      return unionOf(Object.keys(propertiesOf(type)).map(keyLiteral));
  }
}

/** Returns the type of a record's keys. */
export function recordKey(type) {
  const pattern = recordPattern(type);
  if (pattern === `^${basic.StringPattern}$`) return basic.StringType();
  if (pattern === `^${basic.IntegerPattern}$`) return basic.IntegerType();
  if (pattern === `^${basic.NumberPattern}$`) return basic.NumberType();
  return create("TemplateLiteral", { type: "string", pattern });
}

/** Returns the pattern of a record's keys. */
export const recordPattern = (type) => Object.keys(type.patternProperties)[0];

/** Returns the type of a record's values. */
export const recordValue = (type) => Object.values(type.patternProperties)[0];

/** Returns a record whose keys match `pattern`. */
export function recordFromPattern(pattern, value, options) {
  return create("Record", { type: "object", patternProperties: { [pattern]: value } }, options);
}

const KEY_PATTERNS = { String: basic.StringPattern, Any: basic.StringPattern, Number: basic.NumberPattern, Integer: basic.IntegerPattern };

function record(key, value) {
  const members = isKind(key, "Boolean") ? [Literal("true"), Literal("false")] : unionMembers(evaluate(key));
  if (members.length > 0 && members.every((member) => isKind(member, "Literal"))) {
    const properties = {};
    for (const member of members) put(properties, String(member.const), value);
    return ObjectType(properties);
  }
  if (members.length > 1) return recordFromPattern(`^${basic.StringPattern}$`, value);
  const only = members[0] ?? Never();
  if (isKind(only, "TemplateLiteral") || (isKind(only, "String") && typeof only.pattern === "string")) {
    return recordFromPattern(only.pattern, value);
  }
  const pattern = KEY_PATTERNS[kindOf(only)];
  return pattern === undefined ? ObjectType({}) : recordFromPattern(`^${pattern}$`, value);
}

function filterUnion(left, right, wanted) {
  const kept = unionMembers(left).filter((member) => {
    const result = extendsType(member, right);
    return result === "both" || result === wanted;
  });
  return unionOf(kept);
}

function conditional(left, right, whenTrue, whenFalse) {
  const inferred = {};
  const result = extendsType(left, right, inferred);
  const yes = () => instantiate(inferred, whenTrue);
  if (result === "both") return unionOf([yes(), whenFalse]);
  return result ? yes() : whenFalse;
}

/** Returns `ExtendsTrue`, `ExtendsFalse` or `ExtendsUnion`; with four types, the branch that applies (0.34). */
export function Extends(...parameters) {
  if (parameters.length >= 4 && kindOf(parameters[0]) !== undefined) return Conditional(...parameters);
  const [inferred, left, right] = parameters;
  const found = { ...inferred };
  const result = extendsType(left, right, found);
  if (result === false) return create("ExtendsFalse", {});
  return create(result === true ? "ExtendsTrue" : "ExtendsUnion", { inferred: found });
}

function interfaceType(bases, properties) {
  const merged = evaluateIntersect([...bases, ObjectType(properties)]);
  return isKind(merged, "Intersect") ? ObjectType(properties) : merged;
}

const CASES = {
  Uppercase: (text) => text.toUpperCase(),
  Lowercase: (text) => text.toLowerCase(),
  Capitalize: (text) => text.charAt(0).toUpperCase() + text.slice(1),
  Uncapitalize: (text) => text.charAt(0).toLowerCase() + text.slice(1),
};

function changeCase(type, change) {
  if (isKind(type, "Union")) return Union(type.anyOf.map((member) => changeCase(member, change)));
  if (isKind(type, "Literal")) return typeof type.const === "string" ? Literal(change(type.const)) : type;
  const strings = isKind(type, "TemplateLiteral") ? templateStrings(type) : undefined;
  return strings ? unionOf(strings.map((text) => Literal(change(text)))) : type;
}

function mapped(identifier, key, as, property) {
  const properties = {};
  for (const member of unionMembers(key)) {
    if (!isKind(member, "Literal")) continue;
    const context = { [identifier.name]: member };
    for (const name of unionMembers(instantiate(context, as))) {
      if (isKind(name, "Literal")) put(properties, String(name.const), instantiate(context, property));
    }
  }
  return ObjectType(properties);
}

const MOST_NESTED_PROMISES = 100;

function awaited(type, depth = 0) {
  if (isKind(type, "Promise") && depth < MOST_NESTED_PROMISES) return awaited(type.item, depth + 1);
  return isKind(type, "Union") ? Union(type.anyOf.map((member) => awaited(member, depth))) : type;
}

const parametersOf = (kind) => (type) => Tuple(isKind(type, kind) ? type.parameters : []);

/** What each action computes of its parameters, once nothing waits for a reference. */
const ACTIONS = {
  Partial: partial,
  Required: required,
  ReadonlyObject: readonlyObject,
  Pick: pick,
  Omit: omit,
  KeyOf: keyOf,
  Index: indexType,
  Record: record,
  Exclude: (left, right) => filterUnion(left, right, false),
  Extract: (left, right) => filterUnion(left, right, true),
  NonNullable: (type) => filterUnion(type, Union([basic.NullType(), basic.UndefinedType()]), false),
  Conditional: conditional,
  Evaluate: evaluate,
  Interface: interfaceType,
  Mapped: mapped,
  Awaited: (type) => awaited(type),
  Parameters: parametersOf("Function"),
  ConstructorParameters: parametersOf("Constructor"),
  ReturnType: (type) => (isKind(type, "Function") ? type.returnType : Never()),
  InstanceType: (type) => (isKind(type, "Constructor") ? type.instanceType : Never()),
  TemplateLiteral: (types) => templateOfTypes(types),
};
for (const name of Object.keys(CASES)) ACTIONS[name] = (type) => changeCase(type, CASES[name]);

function waits(parameters) {
  return parameters.some((parameter) => (Array.isArray(parameter) ? isPendingTemplate(parameter) : basic.isPending(parameter)));
}

/** Returns the result of an action, or a deferred type while one of the parameters is a reference. */
export function run(action, parameters, options = {}) {
  if (waits(parameters)) return create("Deferred", { type: "deferred", action, parameters, options });
  return withOptions(ACTIONS[action](...parameters), options);
}

const unary = (action) => (type, options) => run(action, [type], options);
const binary = (action) => (left, right, options) => run(action, [left, right], options);
const indexed = (action) => (type, indexer, options) => {
  const keys = Array.isArray(indexer) ? Union(indexer.map((key) => Literal(key))) : indexer;
  return run(action, [type, keys], options);
};

export const Partial = unary("Partial");
export const Required = unary("Required");
export const ReadonlyObject = unary("ReadonlyObject");
export const KeyOf = unary("KeyOf");
export const NonNullable = unary("NonNullable");
export const Evaluate = unary("Evaluate");
export const Awaited = unary("Awaited");
export const Parameters = unary("Parameters");
export const ConstructorParameters = unary("ConstructorParameters");
export const ReturnType = unary("ReturnType");
export const InstanceType = unary("InstanceType");
export const Uppercase = unary("Uppercase");
export const Lowercase = unary("Lowercase");
export const Capitalize = unary("Capitalize");
export const Uncapitalize = unary("Uncapitalize");
export const Exclude = binary("Exclude");
export const Extract = binary("Extract");
export const Record = binary("Record");
export const Interface = binary("Interface");
export const Pick = indexed("Pick");
export const Omit = indexed("Omit");
export const Index = indexed("Index");

/** Returns one of two types; the branches may refer to what `right` infers. */
export function Conditional(left, right, whenTrue, whenFalse, options) {
  if (!waits([left, right])) return withOptions(conditional(left, right, whenTrue, whenFalse), options);
  return run("Conditional", [left, right, whenTrue, whenFalse], options);
}

/** Returns an object type with one property for each key; 0.34 passes a function that gets the key. */
export function Mapped(identifier, key, as, property, options) {
  if (typeof key === "function") {
    const properties = {};
    for (const name of keysOfIndexer(identifier)) put(properties, name, key(Literal(name)));
    return ObjectType(properties, as);
  }
  const parameters = [identifier, key, as, property];
  if (basic.isPending(key)) return create("Deferred", { type: "deferred", action: "Mapped", parameters, options: options ?? {} });
  return withOptions(mapped(identifier, key, as, property), options);
}

export function TemplateLiteral(source, options) {
  const types = typeof source === "string" ? parseTemplate(source) : source;
  if (isPendingTemplate(types)) return run("TemplateLiteral", [types], options);
  return templateOfTypes(types, options);
}

/** Returns one object type with the properties of all (0.34). */
export function Composite(types, options) {
  const found = new Map();
  for (const type of types) {
    const properties = propertiesOf(type);
    for (const key of Object.keys(properties)) found.set(key, [...(found.get(key) ?? []), properties[key]]);
  }
  const result = {};
  for (const [key, members] of found) {
    if (members.length === 1) {
      put(result, key, members[0]);
      continue;
    }
    const merged = Intersect(members.map((member) => (isOptional(member) ? without(member, ["~optional"]) : member)));
    put(result, key, members.every(isOptional) ? Optional(merged) : merged);
  }
  return ObjectType(result, options);
}

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
