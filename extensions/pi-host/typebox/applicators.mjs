// The keywords of JSON Schema that apply schemas to a value or to its parts. `compile` turns a schema into a check of the same form.
// `evaluated` collects the properties and elements that were looked at; null while no schema asks for it.

import { patternExpression } from "./keywords.mjs";
import { has, isObjectLike, isRecordLike } from "./kind.mjs";
import { createSink, fail } from "./messages.mjs";

const isSchema = (value) => typeof value === "boolean" || isRecordLike(value);

/** Returns a place for what a schema evaluates of a value. */
export const createEvaluated = () => ({ keys: new Set(), indices: new Set() });

/** Returns a place for a part or for another schema, if anybody wants to know. */
export const inner = (evaluated) => (evaluated === null ? null : createEvaluated());

/** Adds what another schema evaluated. */
export function merge(evaluated, other) {
  if (evaluated === null) return;
  for (const key of other.keys) evaluated.keys.add(key);
  for (const index of other.indices) evaluated.indices.add(index);
}

// Runs the check of one part of a value; the paths are only built when errors are wanted.
function applyPart(check, part, sink, evaluated, schemaPath, schemaKey, path, key) {
  if (sink === null) return check(part, null, inner(evaluated), "", "");
  return check(part, sink, inner(evaluated), schemaPath + schemaKey, `${path}/${key}`);
}

function compileTable(table, compile) {
  if (!isRecordLike(table)) return undefined;
  return Object.keys(table).filter((key) => isSchema(table[key])).map((key) => [key, compile(table[key])]);
}

export function properties(schema, compile, settings) {
  const entries = compileTable(schema.properties, compile);
  if (entries === undefined) return undefined;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return (value, sink, evaluated, schemaPath, path) => {
    let valid = true;
    for (const [key, check] of entries) {
      if (!has(value, key)) continue;
      const missing = value[key] === undefined && !required.has(key) && !settings.exactOptionalPropertyTypes;
      if (missing) {
        evaluated?.keys.add(key);
        continue;
      }
      if (applyPart(check, value[key], sink, evaluated, schemaPath, `/properties/${key}`, path, key)) evaluated?.keys.add(key);
      else if (sink === null) return false;
      else valid = false;
    }
    return valid;
  };
}

export function patternProperties(schema, compile) {
  const entries = compileTable(schema.patternProperties, compile)?.map(([pattern, check]) => [pattern, patternExpression(pattern), check]);
  if (entries === undefined) return undefined;
  return (value, sink, evaluated, schemaPath, path) => {
    let valid = true;
    for (const [pattern, expression, check] of entries) {
      for (const key of Object.getOwnPropertyNames(value)) {
        if (!expression.test(key)) continue;
        if (applyPart(check, value[key], sink, evaluated, schemaPath, `/patternProperties/${pattern}`, path, key)) evaluated?.keys.add(key);
        else if (sink === null) return false;
        else valid = false;
      }
    }
    return valid;
  };
}

export function additionalProperties(schema, compile) {
  if (!isSchema(schema.additionalProperties)) return undefined;
  const check = compile(schema.additionalProperties);
  const known = new Set(isRecordLike(schema.properties) ? Object.keys(schema.properties) : []);
  const expressions = (isRecordLike(schema.patternProperties) ? Object.keys(schema.patternProperties) : []).map(patternExpression);
  return (value, sink, evaluated, schemaPath, path) => {
    const refused = [];
    for (const key of Object.getOwnPropertyNames(value)) {
      if (known.has(key) || expressions.some((expression) => expression.test(key))) continue;
      if (applyPart(check, value[key], sink, evaluated, schemaPath, "/additionalProperties", path, key)) evaluated?.keys.add(key);
      else if (sink === null) return false;
      else refused.push(key);
    }
    return refused.length === 0 || fail(sink, "additionalProperties", schemaPath, path, { additionalProperties: refused }, schema, value);
  };
}

export function propertyNames(schema, compile) {
  if (!isSchema(schema.propertyNames)) return undefined;
  const check = compile(schema.propertyNames);
  return (value, sink, evaluated, schemaPath, path) => {
    const refused = Object.getOwnPropertyNames(value).filter((key) => {
      return !applyPart(check, key, sink, evaluated, schemaPath, "/propertyNames", path, key);
    });
    return refused.length === 0 || fail(sink, "propertyNames", schemaPath, path, { propertyNames: refused }, schema, value);
  };
}

export function dependentSchemas(schema, compile) {
  const entries = compileTable(schema.dependentSchemas, compile);
  if (entries === undefined) return undefined;
  return (value, sink, evaluated, schemaPath, path) => {
    let valid = true;
    for (const [key, check] of entries) {
      if (has(value, key) && !check(value, sink, evaluated, `${schemaPath}/dependentSchemas/${key}`, path)) valid = false;
    }
    return valid;
  };
}

export function dependencies(schema, compile) {
  if (!isRecordLike(schema.dependencies)) return undefined;
  const schemas = compileTable(schema.dependencies, compile);
  const lists = Object.entries(schema.dependencies).filter(([, names]) => Array.isArray(names));
  return (value, sink, evaluated, schemaPath, path) => {
    let valid = true;
    for (const [property, names] of lists) {
      if (!has(value, property) || names.every((name) => has(value, name))) continue;
      valid = fail(sink, "dependencies", schemaPath, path, { property, dependencies: names }, schema, value);
    }
    for (const [key, check] of schemas) {
      if (has(value, key) && !check(value, sink, evaluated, `${schemaPath}/dependencies/${key}`, path)) valid = false;
    }
    return valid;
  };
}

function itemList(schemas, keyword, compile) {
  const checks = schemas.map(compile);
  return (value, sink, evaluated, schemaPath, path) => {
    let valid = true;
    for (let index = 0; index < Math.min(checks.length, value.length); index += 1) {
      if (applyPart(checks[index], value[index], sink, evaluated, schemaPath, `/${keyword}/${index}`, path, index)) evaluated?.indices.add(index);
      else if (sink === null) return false;
      else valid = false;
    }
    return valid;
  };
}

function itemsFrom(start, itemSchema, keyword, compile, firstErrorOnly = false) {
  const check = compile(itemSchema);
  return (value, sink, evaluated, schemaPath, path) => {
    let valid = true;
    for (let index = start; index < value.length; index += 1) {
      if (applyPart(check, value[index], sink, evaluated, schemaPath, `/${keyword}`, path, index)) evaluated?.indices.add(index);
      else if (sink === null || firstErrorOnly) return false;
      else valid = false;
    }
    return valid;
  };
}

const isSchemaList = (value) => Array.isArray(value) && value.every(isSchema);

export function prefixItems(schema, compile) {
  return isSchemaList(schema.prefixItems) ? itemList(schema.prefixItems, "prefixItems", compile) : undefined;
}

export function items(schema, compile) {
  if (isSchemaList(schema.items)) return itemList(schema.items, "items", compile);
  if (!isSchema(schema.items)) return undefined;
  return itemsFrom(isSchemaList(schema.prefixItems) ? schema.prefixItems.length : 0, schema.items, "items", compile);
}

export function additionalItems(schema, compile) {
  if (!isSchemaList(schema.items) || !isSchema(schema.additionalItems)) return undefined;
  return itemsFrom(schema.items.length, schema.additionalItems, "additionalItems", compile, true);
}

export function contains(schema, compile) {
  if (!isSchema(schema.contains)) return undefined;
  const check = compile(schema.contains);
  const least = Number.isInteger(schema.minContains) ? schema.minContains : 1;
  const most = Number.isInteger(schema.maxContains) ? schema.maxContains : Infinity;
  return (value, sink, evaluated, schemaPath, path) => {
    let count = 0;
    value.forEach((element, index) => {
      if (!check(element, null, inner(evaluated), "", "")) return;
      evaluated?.indices.add(index);
      count += 1;
    });
    if (count < least) return fail(sink, "contains", schemaPath, path, { minContains: least }, schema, value);
    return count <= most || fail(sink, "contains", schemaPath, path, { minContains: least, maxContains: most }, schema, value);
  };
}

// Runs all alternatives. Returns which pass, what those evaluated, and the errors of the others.
function alternatives(checks, value, sink, evaluated, schemaPath, path) {
  const passing = [];
  const failed = [];
  const found = inner(evaluated);
  checks.forEach((check, index) => {
    const own = inner(evaluated);
    const branch = sink === null ? null : createSink();
    if (check(value, branch, own, `${schemaPath}/${index}`, path)) {
      passing.push(index);
      merge(found, own);
    } else if (branch !== null) failed.push(...branch.errors);
  });
  return { passing, failed, found };
}

function counted(evaluated, found) {
  merge(evaluated, found);
  return true;
}

function forward(sink, errors) {
  for (const error of errors) if (sink.errors.length < sink.limit) sink.errors.push(error);
}

export function anyOf(schema, compile) {
  if (!isSchemaList(schema.anyOf)) return undefined;
  const checks = schema.anyOf.map(compile);
  return (value, sink, evaluated, schemaPath, path) => {
    if (sink === null && evaluated === null) return checks.some((check) => check(value, null, null, "", ""));
    const { passing, failed, found } = alternatives(checks, value, sink, evaluated, `${schemaPath}/anyOf`, path);
    if (passing.length > 0) return counted(evaluated, found);
    if (sink !== null) forward(sink, failed);
    return fail(sink, "anyOf", schemaPath, path, {}, schema, value);
  };
}

export function oneOf(schema, compile) {
  if (!isSchemaList(schema.oneOf)) return undefined;
  const checks = schema.oneOf.map(compile);
  return (value, sink, evaluated, schemaPath, path) => {
    const { passing, failed, found } = alternatives(checks, value, sink, evaluated, `${schemaPath}/oneOf`, path);
    if (passing.length === 1) return counted(evaluated, found);
    if (sink !== null && passing.length === 0) forward(sink, failed);
    return fail(sink, "oneOf", schemaPath, path, { passingSchemas: passing }, schema, value);
  };
}

export function allOf(schema, compile) {
  if (!isSchemaList(schema.allOf)) return undefined;
  const checks = schema.allOf.map(compile);
  return (value, sink, evaluated, schemaPath, path) => {
    if (sink === null && evaluated === null) return checks.every((check) => check(value, null, null, "", ""));
    const { passing, failed, found } = alternatives(checks, value, sink, evaluated, `${schemaPath}/allOf`, path);
    if (passing.length === checks.length) return counted(evaluated, found);
    if (sink !== null) forward(sink, failed);
    return false;
  };
}

export function not(schema, compile) {
  if (!isSchema(schema.not)) return undefined;
  const check = compile(schema.not);
  return (value, sink, evaluated, schemaPath, path) => {
    return !check(value, null, inner(evaluated), "", "") || fail(sink, "not", schemaPath, path, {}, schema, value);
  };
}

export function condition(schema, compile) {
  if (!isSchema(schema.if)) return undefined;
  const [test, whenTrue, whenFalse] = [schema.if, schema.then ?? true, schema.else ?? true].map((part) => compile(isSchema(part) ? part : true));
  return (value, sink, evaluated, schemaPath, path) => {
    const own = inner(evaluated);
    const holds = test(value, null, own, "", "");
    if (holds) merge(evaluated, own);
    const branch = holds ? "then" : "else";
    const check = holds ? whenTrue : whenFalse;
    // TypeBox reports the errors inside of `else`, but not those inside of `then`.
    const inside = holds && sink !== null ? createSink() : sink;
    if (check(value, inside, evaluated, `${schemaPath}/${branch}`, path)) return true;
    return fail(sink, "if", schemaPath, path, { failingKeyword: branch }, schema, value);
  };
}

export function unevaluatedProperties(schema, compile) {
  if (!isSchema(schema.unevaluatedProperties)) return undefined;
  const check = compile(schema.unevaluatedProperties);
  return (value, sink, evaluated, schemaPath, path) => {
    if (!isObjectLike(value) || Array.isArray(value)) return true;
    const refused = Object.getOwnPropertyNames(value).filter((key) => {
      if (evaluated.keys.has(key)) return false;
      const accepted = check(value[key], null, createEvaluated(), "", "");
      if (accepted) evaluated.keys.add(key);
      return !accepted;
    });
    return refused.length === 0 || fail(sink, "unevaluatedProperties", schemaPath, path, { unevaluatedProperties: refused }, schema, value);
  };
}

export function unevaluatedItems(schema, compile) {
  if (!isSchema(schema.unevaluatedItems)) return undefined;
  const check = compile(schema.unevaluatedItems);
  return (value, sink, evaluated, schemaPath, path) => {
    if (!Array.isArray(value)) return true;
    const refused = [];
    value.forEach((element, index) => {
      if (evaluated.indices.has(index)) return;
      if (check(element, null, createEvaluated(), "", "")) evaluated.indices.add(index);
      else refused.push(index);
    });
    return refused.length === 0 || fail(sink, "unevaluatedItems", schemaPath, path, { unevaluatedItems: refused }, schema, value);
  };
}
