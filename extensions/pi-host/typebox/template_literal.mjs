// Template literal types: a pattern in JSON Schema, and the list of strings when there are finitely many.

import {
  BigIntPattern, enumValues, IntegerPattern, isPending, Literal, NeverPattern, NumberPattern, Ref, StringPattern, StringType, Union,
  AnyType, BigIntType, BooleanType, IntegerType, NumberType, NullType, UndefinedType,
} from "./basic_types.mjs";
import { create, kindOf } from "./kind.mjs";

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
