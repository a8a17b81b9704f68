// Whether one type is assignable to another, as TypeScript's `extends` decides it.

import { Literal, NullType } from "./basic_types.mjs";
import { isOptional, kindOf } from "./kind.mjs";
import { templateStrings } from "./template_literal.mjs";

/** Returns the members of an enum or of a finite template literal as literals, else the type alone. */
export function literalMembers(type) {
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
