/**
 * The part of JSON Schema that describes the arguments of most tools: as a type, so that the function of a tool knows what
 * it gets, and as a check, because a model may send anything.
 *
 * What is not known here (`anyOf`, `pattern`, `$ref`, …) is `unknown` as a type and is not checked.
 */

type Kind = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

export interface JsonSchema {
  readonly type?: Kind | readonly Kind[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: JsonSchema;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** The schema of a tool's arguments. */
export interface ObjectSchema extends JsonSchema {
  readonly type: "object";
}

/** The type of the values that a schema describes. */
export type FromSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: readonly (infer One)[] }
      ? OfKind<One, Schema>
      : Schema extends { readonly type: infer One }
        ? OfKind<One, Schema>
        : unknown;

type OfKind<One, Schema> = One extends "string"
  ? string
  : One extends "number" | "integer"
    ? number
    : One extends "boolean"
      ? boolean
      : One extends "null"
        ? null
        : One extends "array"
          ? Schema extends { readonly items: infer Items }
            ? FromSchema<Items>[]
            : unknown[]
          : One extends "object"
            ? OfProperties<Schema>
            : unknown;

type OfProperties<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      { -readonly [Name in keyof Properties as Name extends Needed<Schema> ? Name : never]: FromSchema<Properties[Name]> } & {
        -readonly [Name in keyof Properties as Name extends Needed<Schema> ? never : Name]?: FromSchema<Properties[Name]>;
      }
    >
  : Record<string, unknown>;

type Needed<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never;
type Flat<Fields> = { [Name in keyof Fields]: Fields[Name] };

/** Deeper values are not checked. */
const DEPTH = 32;

/** Returns what is wrong with a value, with the place where it is, or nothing. */
export function mismatch(schema: JsonSchema, value: unknown, place = "arguments", depth = 0): string | undefined {
  if (depth > DEPTH) return undefined;
  const kinds = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  if (kinds.length > 0 && !kinds.some((kind) => isOfKind(kind, value))) {
    return `${place}: ${kinds.join(" or ")} expected, not ${kindOf(value)}`;
  }
  if ("const" in schema && !isEqual(schema.const, value)) return `${place}: only ${JSON.stringify(schema.const)} is possible`;
  if (schema.enum !== undefined && !schema.enum.some((one) => isEqual(one, value))) {
    return `${place}: one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")} expected`;
  }
  if (Array.isArray(value)) return inItems(schema, value, place, depth);
  if (typeof value === "object" && value !== null) return inProperties(schema, value, place, depth);
  return undefined;
}

function inItems(schema: JsonSchema, values: unknown[], place: string, depth: number): string | undefined {
  if (schema.items === undefined) return undefined;
  for (const [index, value] of values.entries()) {
    const problem = mismatch(schema.items, value, `${place}[${index}]`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function inProperties(schema: JsonSchema, value: object, place: string, depth: number): string | undefined {
  const missing = schema.required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${place}: "${missing}" is missing`;
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (!Object.hasOwn(value, name)) continue;
    const problem = mismatch(inner, (value as Record<string, unknown>)[name], `${place}.${name}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isOfKind(kind: Kind, value: unknown): boolean {
  return kind === "integer" ? Number.isInteger(value) : kindOf(value) === kind;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function isEqual(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
