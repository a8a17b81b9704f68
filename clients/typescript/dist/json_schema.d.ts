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
    readonly properties?: {
        readonly [name: string]: JsonSchema;
    };
    readonly required?: readonly string[];
    readonly [keyword: string]: unknown;
}
/** The schema of a tool's arguments. */
export interface ObjectSchema extends JsonSchema {
    readonly type: "object";
}
/** The type of the values that a schema describes. */
export type FromSchema<Schema> = Schema extends {
    readonly const: infer Value;
} ? Value : Schema extends {
    readonly enum: readonly (infer Value)[];
} ? Value : Schema extends {
    readonly type: readonly (infer One)[];
} ? OfKind<One, Schema> : Schema extends {
    readonly type: infer One;
} ? OfKind<One, Schema> : unknown;
type OfKind<One, Schema> = One extends "string" ? string : One extends "number" | "integer" ? number : One extends "boolean" ? boolean : One extends "null" ? null : One extends "array" ? Schema extends {
    readonly items: infer Items;
} ? FromSchema<Items>[] : unknown[] : One extends "object" ? OfProperties<Schema> : unknown;
type OfProperties<Schema> = Schema extends {
    readonly properties: infer Properties;
} ? Flat<{
    -readonly [Name in keyof Properties as Name extends Needed<Schema> ? Name : never]: FromSchema<Properties[Name]>;
} & {
    -readonly [Name in keyof Properties as Name extends Needed<Schema> ? never : Name]?: FromSchema<Properties[Name]>;
}> : Record<string, unknown>;
type Needed<Schema> = Schema extends {
    readonly required: readonly (infer Name)[];
} ? Name : never;
type Flat<Fields> = {
    [Name in keyof Fields]: Fields[Name];
};
/** Returns what is wrong with a value, with the place where it is, or nothing. */
export declare function mismatch(schema: JsonSchema, value: unknown, place?: string, depth?: number): string | undefined;
export {};
