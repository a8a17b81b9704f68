// Reduces unions and intersections to the simplest type, and any type to the properties it has.

import { Intersect, Literal, Never, ObjectType, Optional, Union } from "./basic_types.mjs";
import { extendsType, literalMembers, unionMembers } from "./extends.mjs";
import { isOptional, kindOf, put, without } from "./kind.mjs";

/** Alternatives beyond this number are not multiplied out. */
const MOST_ALTERNATIVES = 512;

const STRUCTURED = new Set(["Object", "Record", "Tuple", "Array", "Ref", "Cyclic"]);

/** Returns the union of `members`: none is Never, one is itself. */
export function unionOf(members) {
  if (members.length === 0) return Never();
  return members.length === 1 ? members[0] : Union(members);
}

/** Returns the union of `types` without members that others contain. Objects are all kept. */
export function evaluateUnion(types) {
  const members = types.flatMap((type) => unionMembers(evaluate(type))).filter((type) => kindOf(type) !== "Never");
  const wide = members.find((type) => kindOf(type) === "Any") ?? members.find((type) => kindOf(type) === "Unknown");
  if (wide) return wide;
  const kept = [];
  for (const type of members) {
    if (STRUCTURED.has(kindOf(type)) || kindOf(type) === undefined) {
      kept.push(type);
    } else if (!kept.some((other) => extendsType(type, other) === true)) {
      const narrower = kept.filter((other) => !STRUCTURED.has(kindOf(other)) && extendsType(other, type) === true);
      for (const other of narrower) kept.splice(kept.indexOf(other), 1);
      kept.push(type);
    }
  }
  return unionOf(kept);
}

function mergeProperties(left, right) {
  const properties = {};
  for (const key of Object.keys(left)) put(properties, key, left[key]);
  for (const key of Object.keys(right)) {
    if (!Object.hasOwn(left, key)) {
      put(properties, key, right[key]);
      continue;
    }
    const merged = evaluateIntersect([left[key], right[key]]);
    const optional = isOptional(left[key]) && isOptional(right[key]);
    put(properties, key, optional ? Optional(merged) : isOptional(merged) ? without(merged, ["~optional"]) : merged);
  }
  return properties;
}

function intersectPair(left, right) {
  const [leftKind, rightKind] = [kindOf(left), kindOf(right)];
  if (leftKind === "Any" || rightKind === "Any") return leftKind === "Any" ? left : right;
  const eitherIsObject = leftKind === "Object" || rightKind === "Object";
  if (eitherIsObject && STRUCTURED.has(leftKind) && STRUCTURED.has(rightKind)) {
    return ObjectType(mergeProperties(propertiesOf(left), propertiesOf(right)));
  }
  if (extendsType(left, right) === true) return left;
  if (extendsType(right, left) === true) return right;
  return Never();
}

/** Returns the one type that fulfils all `types`; unions among them are multiplied out. */
export function evaluateIntersect(types) {
  if (types.length === 0) return Never();
  let alternatives = unionMembers(evaluate(types[0]));
  for (const type of types.slice(1)) {
    const members = unionMembers(evaluate(type));
    if (alternatives.length * members.length > MOST_ALTERNATIVES) return Intersect(types);
    alternatives = alternatives.flatMap((left) => members.map((right) => intersectPair(left, right)));
  }
  return evaluateUnion(alternatives);
}

/** Returns the simplest type that means the same as `type`, on its outermost level. */
export function evaluate(type) {
  switch (kindOf(type)) {
    case "Union":
      return evaluateUnion(type.anyOf);
    case "Intersect":
      return evaluateIntersect(type.allOf);
    case "Enum":
    case "TemplateLiteral":
      return unionOf(literalMembers(type));
    default:
      return type;
  }
}

/** Returns the properties that a value of `type` has for certain: those of an object, those common to a union. */
export function propertiesOf(type) {
  switch (kindOf(type)) {
    case "Object":
      return type.properties;
    case "Intersect": {
      const evaluated = evaluateIntersect(type.allOf);
      return kindOf(evaluated) === "Intersect" ? {} : propertiesOf(evaluated);
    }
    case "Union":
      return commonProperties(type.anyOf.map(propertiesOf));
    case "Tuple":
      return { ...type.items };
    case "Cyclic":
      return Object.hasOwn(type.$defs, type.$ref) ? propertiesOf(type.$defs[type.$ref]) : {};
    default:
      return {};
  }
}

function commonProperties(variants) {
  const properties = {};
  if (variants.length === 0) return properties;
  for (const key of Object.keys(variants[0])) {
    if (variants.every((variant) => Object.hasOwn(variant, key))) {
      put(properties, key, evaluateUnion(variants.map((variant) => variant[key])));
    }
  }
  return properties;
}

/** Returns the property names that an indexer stands for: a list of names, or a type of literals. */
export function keysOfIndexer(indexer) {
  if (Array.isArray(indexer)) return indexer.map(String);
  return unionMembers(indexer)
    .filter((type) => kindOf(type) === "Literal")
    .map((type) => String(type.const));
}

/** Returns the literal type of a property name; the name of an index is a number. */
export function keyLiteral(key) {
  return Literal(/^(0|-?[1-9][0-9]*)$/.test(key) ? Number(key) : key);
}

const ARRAY_INDEX = /^(0|[1-9][0-9]*)$/;

/** Returns the type of the properties of `type` that `indexer` names. */
export function indexType(type, indexer) {
  const anyNumber = !Array.isArray(indexer) && ["Number", "Integer"].includes(kindOf(indexer));
  const kind = kindOf(type);
  if (kind === "Array") return anyNumber || keysOfIndexer(indexer).some((key) => ARRAY_INDEX.test(key)) ? type.items : Never();
  if (kind === "Tuple" && anyNumber) return evaluateUnion(type.items);
  const properties = propertiesOf(type);
  const types = keysOfIndexer(indexer).filter((key) => Object.hasOwn(properties, key)).map((key) => properties[key]);
  return types.length === 1 ? types[0] : evaluateUnion(types);
}

