// The JSON Schema that the builders of typebox produce, as the published packages produce it.

import assert from "node:assert/strict";
import test from "node:test";
import * as typebox from "../../../extensions/pi-host/shims/typebox.mjs";

const { Type: T } = typebox;
const a = () => T.Object({ a: T.String(), b: T.Optional(T.Number()) });
const literal = (value) => ({ type: typeof value, const: value });

/** Expression → JSON Schema. */
const SCHEMAS = [
  [() => T.String(), { type: "string" }],
  [() => T.String({ minLength: 1, format: "email", description: "d" }), { type: "string", minLength: 1, format: "email", description: "d" }],
  [() => T.Number({ minimum: 1 }), { type: "number", minimum: 1 }],
  [() => T.Integer(), { type: "integer" }],
  [() => T.Boolean({ default: true }), { type: "boolean", default: true }],
  [() => T.Null(), { type: "null" }],
  [() => T.Any(), {}],
  [() => T.Unknown({ description: "u" }), { description: "u" }],
  [() => T.Never(), { not: {} }],
  [() => T.Void(), { type: "void" }],
  [() => T.Undefined(), { type: "undefined" }],
  [() => T.BigInt(), { type: "bigint" }],
  [() => T.Symbol(), { type: "symbol" }],
  [() => T.Date(), { type: "Date" }],
  [() => T.Uint8Array({ minByteLength: 3 }), { type: "Uint8Array", minByteLength: 3 }],
  [() => T.RegExp(/^a+$/i), { type: "RegExp", source: "^a+$", flags: "i" }],
  [() => T.Literal("a", { title: "t" }), { type: "string", const: "a", title: "t" }],
  [() => T.Union([T.Literal("a"), T.Literal(2)], { default: "a" }), { anyOf: [literal("a"), literal(2)], default: "a" }],
  [() => T.Union([]), { anyOf: [] }],
  [() => T.Enum({ A: "a", B: "b" }), { enum: ["a", "b"] }],
  [() => T.Enum({ A: 0, B: 1, 0: "A", 1: "B" }), { enum: [0, 1] }],
  [() => T.Enum(["a", 3], { description: "e" }), { enum: ["a", 3], description: "e" }],
  [() => T.Object({}), { type: "object", properties: {} }],
  [
    () => T.Object({ a: T.String(), b: T.Optional(T.Number()) }, { additionalProperties: false }),
    { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { type: "number" } }, additionalProperties: false },
  ],
  [() => T.Array(T.String(), { minItems: 1 }), { type: "array", items: { type: "string" }, minItems: 1 }],
  [() => T.Tuple([T.String()]), { type: "array", additionalItems: false, items: [{ type: "string" }], minItems: 1 }],
  [() => T.Record(T.String(), T.Number()), { type: "object", patternProperties: { "^.*$": { type: "number" } } }],
  [() => T.Record(T.Integer(), T.Null()), { type: "object", patternProperties: { "^-?(?:0|[1-9][0-9]*)$": { type: "null" } } }],
  [() => T.Record(T.Union([T.Literal("x"), T.Literal("y")]), T.Null()), { type: "object", required: ["x", "y"], properties: { x: { type: "null" }, y: { type: "null" } } }],
  [() => T.Unsafe({ type: "string", enum: ["a"] }), { type: "string", enum: ["a"] }],
  [() => T.Intersect([T.String(), T.Number()], { description: "i" }), { allOf: [{ type: "string" }, { type: "number" }], description: "i" }],
  [() => T.Not(T.String()), { not: { type: "string" } }],
  [() => T.Partial(a(), { title: "t" }), { type: "object", properties: { a: { type: "string" }, b: { type: "number" } }, title: "t" }],
  [() => T.Required(a()), { type: "object", required: ["a", "b"], properties: { a: { type: "string" }, b: { type: "number" } } }],
  [() => T.Pick(a(), ["b"]), { type: "object", properties: { b: { type: "number" } } }],
  [() => T.Omit(a(), T.Literal("b")), { type: "object", required: ["a"], properties: { a: { type: "string" } } }],
  [() => T.Composite([a(), T.Object({ c: T.Null() })]), { type: "object", required: ["a", "c"], properties: { a: { type: "string" }, b: { type: "number" }, c: { type: "null" } } }],
  [() => T.KeyOf(a()), { anyOf: [literal("a"), literal("b")] }],
  [() => T.KeyOf(T.Object({})), { not: {} }],
  [() => T.Index(a(), ["a"]), { type: "string" }],
  [() => T.Index(T.Array(T.Null()), T.Number()), { type: "null" }],
  [() => T.Ref("X", { description: "r" }), { $ref: "X", description: "r" }],
  [() => T.Ref(T.String({ $id: "Q" })), { $ref: "Q" }],
  [
    () => T.Recursive((This) => T.Object({ nodes: T.Array(This) }), { $id: "Node" }),
    { type: "object", required: ["nodes"], properties: { nodes: { type: "array", items: { $ref: "Node" } } }, $id: "Node" },
  ],
  [
    () => T.Cyclic({ N: T.Object({ n: T.Optional(T.Ref("N")) }) }, "N"),
    { $defs: { N: { type: "object", properties: { n: { $ref: "N" } }, $id: "N" } }, $ref: "N" },
  ],
  [() => T.Module({ A: T.String(), B: T.Array(T.Ref("A")) }).B, { type: "array", items: { type: "string" } }],
  [() => T.Module({ A: T.String() }).Import("A"), { $defs: { A: { type: "string", $id: "A" } }, $ref: "A" }],
  [() => T.Const({ a: 1 }), { type: "object", required: ["a"], properties: { a: literal(1) } }],
  [() => T.Exclude(T.Union([T.Literal("a"), T.Literal("b")]), T.Literal("a")), literal("b")],
  [() => T.Extract(T.Union([T.String(), T.Number()]), T.String()), { type: "string" }],
  [() => T.Extends(T.Literal("a"), T.String(), T.Literal(1), T.Literal(2)), literal(1)],
  [() => T.Conditional(T.String(), T.Literal("a"), T.Literal(1), T.Literal(2)), literal(2)],
  [() => T.Conditional(T.Array(T.String()), T.Array(T.Infer("K")), T.Ref("K"), T.Never()), { type: "string" }],
  [() => T.TemplateLiteral("a${string}b"), { type: "string", pattern: "^a.*b$" }],
  [() => T.TemplateLiteral([T.Literal("on"), T.Union([T.Literal("A"), T.Literal("B")])]), { type: "string", pattern: "^on(A|B)$" }],
  [() => T.Function([T.String()], T.Number()), { type: "function", parameters: [{ type: "string" }], returnType: { type: "number" } }],
  [() => T.Promise(T.String()), { type: "Promise", item: { type: "string" } }],
  [() => T.Transform(T.String()).Decode(Number).Encode(String), { type: "string" }],
  [() => T.Codec(T.String({ title: "t" })).Decode(Number).Encode(String), { type: "string", title: "t" }],
  [() => T.Interface([T.Object({ a: T.String() })], { b: T.Null() }), { type: "object", required: ["a", "b"], properties: { a: { type: "string" }, b: { type: "null" } } }],
  [() => T.Evaluate(T.Intersect([T.Literal(1), T.Number()])), literal(1)],
  [() => T.Evaluate(T.Intersect([T.String(), T.Number()])), { not: {} }],
  [() => T.Evaluate(T.Union([T.String(), T.Literal("a")])), { type: "string" }],
  [() => T.Uppercase(T.TemplateLiteral("x${1|2}")), { anyOf: [literal("X1"), literal("X2")] }],
  [() => T.Mapped(T.Identifier("K"), T.Union([T.Literal("a"), T.Literal("b")]), T.Ref("K"), T.Null()), { type: "object", required: ["a", "b"], properties: { a: { type: "null" }, b: { type: "null" } } }],
  [() => T.Call(T.Generic([T.Parameter("A")], T.Array(T.Ref("A"))), [T.String()]), { type: "array", items: { type: "string" } }],
  [() => T.Optional(T.Optional(T.String()), false), { type: "string" }],
];

for (const [build, expected] of SCHEMAS) {
  test(`${String(build).slice(6).replace(/\s+/g, " ")} is the JSON Schema of the packages`, () => {
    const text = JSON.stringify(build());
    assert.equal(text, JSON.stringify(expected));
  });
}

test("kinds and modifiers are readable, but are no part of the JSON", () => {
  const type = T.Optional(T.Readonly(T.String()));
  assert.equal(type["~kind"], "String");
  assert.equal(type[typebox.Kind], "String");
  assert.ok(typebox.IsOptional(type) && typebox.IsReadonly(type) && typebox.TypeGuard.IsString(type));
  assert.equal(Object.keys(type).length, 1);
});

test("a builder does not change the type that it is given", () => {
  const text = T.String();
  const properties = { text };
  T.Optional(text);
  T.Object(properties);
  assert.ok(!typebox.IsOptional(text));
  assert.deepEqual(Object.keys(properties), ["text"]);
});

test("each builder is an export of its own", () => {
  assert.equal(typebox.Object, T.Object);
  assert.equal(typebox.default, T);
  assert.equal(typebox.Union, T.Union);
});

test("types of circles end", () => {
  const module = T.Module({ A: T.Object({ b: T.Ref("B") }), B: T.Object({ a: T.Optional(T.Ref("A")) }), C: T.Partial(T.Ref("A")) });
  assert.deepEqual(Object.keys(module), ["A", "B", "C"]);
  assert.deepEqual(JSON.parse(JSON.stringify(module.C)).properties.b.type, "object");
});

test("a property named __proto__ is a property", () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"}}');
  const type = T.Partial(T.Object(properties));
  assert.ok(Object.hasOwn(type.properties, "__proto__"));
  assert.equal({}.type, undefined);
});
