// What types mean: the strings of a template literal, whether one type is assignable to another, and the simplest form of unions and intersections.

import {
  AnyType, BigIntPattern, BigIntType, BooleanType, enumValues, IntegerPattern, IntegerType, Intersect, isPending, Literal, Never, NeverPattern,
  NullType, NumberPattern, NumberType, ObjectType, Optional, Ref, StringPattern, StringType, UndefinedType, Union,
} from "./basic_types.mjs";
import { create, isOptional, kindOf, put, without } from "./kind.mjs";

/** More strings than this count as infinitely many. */
const MOST_STRINGS = 10_000;

// A template is a list of parts: {text}, {pattern} (infinitely many strings) or {choices: list of templates}.
const NAMED_TYPES = {
  string: StringType, number: NumberType, integer: IntegerType, bigint: BigIntType, boolean: BooleanType, any: AnyType, null: NullType, undefined: UndefinedType,
};

function embeddedType(source) {
  const text = source.trim();
  if (Object.hasOwn(NAMED_TYPES, text)) return NAMED_TYPES[text]();
  if (/^-?\d+(\.\d+)?$/.test(text)) return Literal(Number(text));
  if (text === "true" || text === "false") return Literal(text === "true");
  const quoted = /^(["'`])(.*)\1$/s.exec(text);
  return quoted ? Literal(quoted[2]) : Ref(text);
}

/** Returns the types that the text of a template literal consists of. */
export function parseTemplate(source) {
  const types = [];
  let rest = source;
  for (;;) {
    const open = rest.indexOf("${");
    const close = open < 0 ? -1 : rest.indexOf("}", open);
    if (close < 0) break;
    if (open > 0) types.push(Literal(rest.slice(0, open)));
    const members = rest.slice(open + 2, close).split("|").map(embeddedType);
    types.push(members.length === 1 ? members[0] : Union(members));
    rest = rest.slice(close + 1);
  }
  types.push(Literal(rest));
  return types;
}

function partsOf(type) {
  switch (kindOf(type)) {
    case "Literal":
      return [{ text: String(type.const) }];
    case "String":
    case "Any":
    case "Unknown":
      return [{ pattern: StringPattern }];
    case "Number":
      return [{ pattern: NumberPattern }];
    case "Integer":
      return [{ pattern: IntegerPattern }];
    case "BigInt":
      return [{ pattern: BigIntPattern }];
    case "Boolean":
      return [{ choices: [[{ text: "false" }], [{ text: "true" }]] }];
    case "Null":
      return [{ text: "null" }];
    case "Undefined":
      return [{ text: "undefined" }];
    case "Union":
      return [{ choices: type.anyOf.map(partsOf) }];
    case "Enum":
      return [{ choices: enumValues(type.enum).map((value) => [{ text: String(value) }]) }];
    case "TemplateLiteral":
      return type["~template"] ?? [{ pattern: String(type.pattern).replace(/^\^|\$$/g, "") }];
    default:
      return [{ pattern: NeverPattern }];
  }
}

function patternOf(parts) {
  return parts
    .map((part) => {
      if (part.choices) return `(${part.choices.map(patternOf).join("|")})`;
      return part.text ?? part.pattern;
    })
    .join("");
}

/** Returns the template literal type of a list of types. */
export function templateOfTypes(types, options) {
  const parts = types.flatMap(partsOf);
  const schema = create("TemplateLiteral", { type: "string", pattern: `^${patternOf(parts)}$` }, options);
  if (!Object.isFrozen(schema)) Object.defineProperty(schema, "~template", { value: parts, configurable: true });
  return schema;
}

/** Returns whether a template literal waits for a reference. */
export function isPendingTemplate(types) {
  return types.some((type) => isPending(type) || (kindOf(type) === "Union" && type.anyOf.some(isPending)));
}

function expand(parts) {
  let strings = [""];
  for (const part of parts) {
    if (part.pattern !== undefined) return undefined;
    let endings = [part.text];
    if (part.choices) {
      const expanded = part.choices.map(expand);
      if (expanded.includes(undefined)) return undefined;
      endings = expanded.flat();
    }
    if (strings.length * endings.length > MOST_STRINGS) return undefined;
    strings = strings.flatMap((start) => endings.map((ending) => start + ending));
  }
  return strings;
}

/** Returns all strings of a template literal type, or undefined if they are infinitely many. */
export function templateStrings(type) {
  return expand(partsOf(type));
}

/** Returns the members of an enum or of a finite template literal as literals, else the type alone. */
function literalMembers(type) {
  const kind = kindOf(type);
  if (kind === "Enum") return type.enum.map((value) => (value === null ? NullType() : Literal(value)));
  if (kind === "TemplateLiteral") return templateStrings(type)?.map((text) => Literal(text)) ?? [type];
  return [type];
}

/** Returns the members of a union, of nested unions and of enums, else the type alone. */
export function unionMembers(type) {
  if (kindOf(type) === "Union") return type.anyOf.flatMap(unionMembers);
  return literalMembers(type);
}

function both(results) {
  if (results.includes(false)) return false;
  return results.includes("both") ? "both" : true;
}

function either(results) {
  if (results.includes(true)) return true;
  return results.includes("both") ? "both" : false;
}

/**
 * Returns true, false, or "both" where TypeScript takes both branches of a conditional type.
 * `inferred` collects what `Infer` types in `right` match.
 */
export function extendsType(left, right, inferred = {}, depth = 0) {
  if (depth > 100) return false;
  const next = (inner, outer) => extendsType(inner, outer, inferred, depth + 1);
  const [leftKind, rightKind] = [kindOf(left), kindOf(right)];
  if (rightKind === "Infer") {
    const matches = next(left, right.extends);
    if (matches) inferred[right.name] = left;
    return matches;
  }
  if (rightKind === "Any" || rightKind === "Unknown") return true;
  if (leftKind === "Any") return "both";
  if (leftKind === "Never") return true;
  if (rightKind === "Never" || leftKind === "Unknown") return false;
  const leftMembers = unionMembers(left);
  if (leftKind === "Union" || leftMembers[0] !== left) return both(leftMembers.map((member) => next(member, right)));
  const rightMembers = unionMembers(right);
  if (rightKind === "Union" || rightMembers[0] !== right) return either(rightMembers.map((member) => next(left, member)));
  if (rightKind === "Intersect") return both(right.allOf.map((member) => next(left, member)));
  if (leftKind === "Intersect") return either(left.allOf.map((member) => next(member, right)));
  return extendsSingle(left, leftKind, right, rightKind, next);
}

const LITERAL_KINDS = { string: ["String"], number: ["Number", "Integer"], boolean: ["Boolean"], bigint: ["BigInt"] };

function extendsSingle(left, leftKind, right, rightKind, next) {
  switch (leftKind) {
    case "Literal":
      if (rightKind === "Literal") return left.const === right.const;
      if (rightKind === "TemplateLiteral") return new RegExp(right.pattern).test(String(left.const));
      if (rightKind === "Integer") return Number.isInteger(left.const);
      return LITERAL_KINDS[typeof left.const]?.includes(rightKind) ?? false;
    case "TemplateLiteral":
      return rightKind === "String" || (rightKind === "TemplateLiteral" && left.pattern === right.pattern);
    case "Integer":
      return rightKind === "Integer" || rightKind === "Number";
    case "Undefined":
      return rightKind === "Undefined" || rightKind === "Void";
    case "Array":
      return rightKind === "Array" ? next(left.items, right.items) : isEmptyObject(right, rightKind);
    case "Tuple":
      return extendsTuple(left, right, rightKind, next);
    case "Object":
      return extendsObject(left, right, rightKind, next);
    case "Record":
      if (rightKind === "Record") return next(recordValue(left), recordValue(right));
      return rightKind === "Object" && Object.values(right.properties).every(isOptional);
    case "Function":
    case "Constructor":
      return rightKind === leftKind ? extendsCallable(left, right, next) : isEmptyObject(right, rightKind);
    case "Promise":
      return rightKind === "Promise" && next(left.item, right.item);
    case "Ref":
    case "Cyclic":
      return rightKind === leftKind && left.$ref === right.$ref;
    case undefined:
      return left === right;
    default:
      return leftKind === rightKind;
  }
}

function recordValue(type) {
  return Object.values(type.patternProperties)[0];
}

function isEmptyObject(type, kind) {
  return kind === "Object" && Object.keys(type.properties).length === 0;
}

function extendsTuple(left, right, rightKind, next) {
  if (rightKind === "Array") return both(left.items.map((item) => next(item, right.items)));
  if (rightKind !== "Tuple") return isEmptyObject(right, rightKind);
  if (left.items.length !== right.items.length) return false;
  return both(left.items.map((item, index) => next(item, right.items[index])));
}

function extendsObject(left, right, rightKind, next) {
  if (rightKind === "Record") return both(Object.values(left.properties).map((type) => next(type, recordValue(right))));
  if (rightKind !== "Object") return false;
  const results = Object.keys(right.properties).map((key) => {
    const outer = right.properties[key];
    if (!Object.hasOwn(left.properties, key)) return isOptional(outer);
    const inner = left.properties[key];
    if (isOptional(inner) && !isOptional(outer)) return false;
    return next(inner, outer);
  });
  return both(results);
}

function extendsCallable(left, right, next) {
  if (left.parameters.length > right.parameters.length) return false;
  const parameters = left.parameters.map((type, index) => next(right.parameters[index], type));
  const [inner, outer] = [left.returnType ?? left.instanceType, right.returnType ?? right.instanceType];
  return both([...parameters, kindOf(outer) === "Void" ? true : next(inner, outer)]);
}

/** Alternatives beyond this number are not multiplied out. */
const MOST_ALTERNATIVES = 512;

const STRUCTURED = new Set(["Object", "Record", "Tuple", "Array", "Ref", "Cyclic"]);

/** Returns the union of `members`: none is Never, one is itself. */
export function unionOf(members) {
  if (members.length === 0) return Never();
  return members.length === 1 ? members[0] : Union(members);
}

/** Returns the union of `types` without members that others contain. Objects are all kept. */
function evaluateUnion(types) {
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
