// Makes a value fit a type, keeping as much of it as possible: `Repair` of 1.x and `Cast` of 0.34.

import { instantiate } from "./actions.mjs";
import { enter, isReference, target } from "./context.mjs";
import { convert, patternType } from "./convert.mjs";
import { createValue } from "./defaults.mjs";
import { canonical, deepClone } from "./equality.mjs";
import { evaluate, unionMembers } from "./evaluate.mjs";
import { has, isRecordLike, kindOf, put } from "./kind.mjs";
import { validatorOf } from "./validator.mjs";

export class RepairError extends Error {
  constructor(context, type, value, message) {
    super(message);
    Object.assign(this, { context, type, value });
  }
}

/** Returns the member of a union that a value resembles most: equal literals count most, then properties that fit, then those that exist. */
function closestMember(context, types, value) {
  let [best, most] = [types[0], 0];
  for (const type of types) {
    const meant = isReference(type) ? (target(context, type) ?? type) : type;
    if (kindOf(meant) !== "Object" || !isRecordLike(value)) continue;
    let score = 0;
    for (const key of Object.keys(meant.properties)) {
      const property = meant.properties[key];
      if (!has(value, key)) continue;
      if (kindOf(property) === "Literal" && property.const === value[key]) score += 100;
      score += validatorOf(property, context).check(value[key]) ? 11 : 1;
    }
    if (score > most) [best, most] = [meant, score];
  }
  return best;
}

function repairArray(context, type, value, converting) {
  let elements = Array.isArray(value) ? [...value] : createValue(context, type);
  while (elements.length < (type.minItems ?? 0)) elements.push(createValue(context, type.items));
  elements = elements.slice(0, type.maxItems ?? Infinity).map((element) => repair(context, type.items, element, converting));
  if (type.uniqueItems !== true) return elements;
  const unique = [...new Map(elements.map((element) => [canonical(element), element])).values()];
  if (validatorOf(type, context).check(unique)) return unique;
  throw new RepairError(context, type, value, "Failed to repair Array due to uniqueItems constraint");
}

function repairObject(context, type, value, converting) {
  if (!isRecordLike(value)) return createValue(context, type);
  const required = new Set(type.required ?? []);
  const result = {};
  for (const key of Object.keys(type.properties)) {
    const current = has(value, key) ? value[key] : undefined;
    if (current === undefined && !required.has(key)) continue;
    put(result, key, repair(context, type.properties[key], current, converting));
  }
  if (isRecordLike(type.additionalProperties)) {
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(type.properties, key)) put(result, key, repair(context, type.additionalProperties, value[key], converting));
    }
  }
  return result;
}

function repairRecord(context, type, value, converting) {
  if (!isRecordLike(value)) return createValue(context, type);
  const result = {};
  for (const key of Object.keys(value)) {
    const member = patternType(type, key);
    if (isRecordLike(member)) put(result, key, repair(context, member, value[key], converting));
  }
  return result;
}

/** Returns a value of `type` made of `value`. With `converting`, primitives are converted before they are replaced. */
export function repair(outer, type, value, converting) {
  const kind = kindOf(type);
  if (kind === "Never") throw new RepairError(outer, type, value, "Type is not repairable");
  const context = enter(outer, type);
  if (isReference(type)) {
    const meant = target(context, type);
    if (meant === undefined) throw new RepairError(outer, type, value, "Unable to deref Ref");
    return repair(context, meant, value, converting);
  }
  if (validatorOf(type, context).check(value)) return deepClone(value);
  if (value === undefined && kind !== "Undefined") return createValue(context, type);
  switch (kind) {
    case "Array":
      return repairArray(context, type, value, converting);
    case "Object":
      return repairObject(context, type, value, converting);
    case "Record":
      return repairRecord(context, type, value, converting);
    case "Tuple":
      if (!Array.isArray(value)) return createValue(context, type);
      return type.items.map((item, index) => repair(context, item, value[index], converting));
    case "Union":
      if ("default" in type) return createValue(context, type);
      return repair(context, closestMember(context, unionMembers(type), value), value, converting);
    case "Intersect": {
      const evaluated = evaluate(instantiate(context, type));
      return kindOf(evaluated) === "Intersect" ? createValue(context, type) : repair(context, evaluated, value, converting);
    }
    default: {
      const converted = converting ? convert(context, type, value) : value;
      return validatorOf(type, context).check(converted) ? converted : createValue(context, type);
    }
  }
}
