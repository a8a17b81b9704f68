// Values and their types: check, convert, default, clean, create, codecs, differences.

import assert from "node:assert/strict";
import test from "node:test";
import { Kind, Type as T, TypeRegistry } from "../../../extensions/pi-host/shims/typebox.mjs";
import { Compile, TypeCompiler } from "../../../extensions/pi-host/shims/typebox-compile.mjs";
import { Settings } from "../../../extensions/pi-host/shims/typebox-system.mjs";
import { AssertError, Value } from "../../../extensions/pi-host/shims/typebox-value.mjs";

const user = T.Object({ name: T.String(), age: T.Optional(T.Integer({ minimum: 0 })) });
const tree = T.Recursive((This) => T.Object({ id: T.Integer(), nodes: T.Array(This) }));
const cyclic = T.Cyclic({ N: T.Object({ n: T.Optional(T.Ref("N")), v: T.Number() }) }, "N");

/** Type, values that it accepts, values that it refuses. */
const CHECKS = [
  [T.String({ maxLength: 1 }), ["", "a", "é", "👩‍👩‍👧"], ["ab", 1, null]],
  [T.Number(), [0, 1.5], ["1", Number.NaN, Infinity]],
  [T.Integer({ multipleOf: 2 }), [0, 4], [1, 1.5]],
  [T.Number({ multipleOf: 0.01 }), [0.07, 1.13], [0.001]],
  [user, [{ name: "a" }, { name: "a", age: 3, other: 1 }, { name: "a", age: undefined }], [{}, { name: "a", age: -1 }, [], null]],
  [T.Tuple([T.String(), T.Null()]), [["a", null]], [["a"], ["a", null, 1]]],
  [T.Record(T.Integer(), T.Null()), [{}, { 1: null }, { a: 1 }], [{ 1: 1 }]],
  [T.Enum(["a", 1]), ["a", 1], ["b", "1"]],
  [T.Union([T.Literal("a"), T.Null()]), ["a", null], ["b"]],
  [T.Intersect([T.Object({ a: T.Null() }), T.Object({ b: T.Null() })], { unevaluatedProperties: false }), [{ a: null, b: null }], [{ a: null }, { a: null, b: null, c: 1 }]],
  [T.Date(), [new Date()], [new Date(Number.NaN), 5]],
  [T.Uint8Array({ maxByteLength: 1 }), [new Uint8Array(1)], [new Uint8Array(2), []]],
  [T.RegExp(/^A$/i), ["a"], ["b", 1]],
  [T.Not(T.String()), [1], ["a"]],
  [T.TemplateLiteral("v${number}"), ["v1.5"], ["v", "va"]],
  [tree, [{ id: 1, nodes: [{ id: 2, nodes: [] }] }], [{ id: 1, nodes: [{ id: "2", nodes: [] }] }]],
  [cyclic, [{ v: 1, n: { v: 2 } }], [{ v: 1, n: {} }]],
  [T.Module({ A: T.Array(T.Ref("B")), B: T.String() }).Import("A"), [["a"]], [[1]]],
  [T.Refine(T.String(), (text) => text === "ok"), ["ok"], ["no", 1]],
  [T.Function([], T.Void()), [() => {}], [{}]],
];

CHECKS.forEach(([type, accepted, refused], index) => {
  test(`check ${index}: ${JSON.stringify(type)}`, () => {
    const compiled = Compile(type);
    for (const value of accepted) {
      assert.ok(Value.Check(type, value));
      assert.ok(compiled.Check(value));
      assert.equal(compiled.Errors(value).length, 0);
    }
    for (const value of refused) {
      assert.ok(!Value.Check(type, value));
      assert.ok(Value.Errors(type, value).length > 0);
    }
  });
});

test("errors have the fields of 1.x when printed, and those of 0.34 when asked", () => {
  const errors = Value.Errors(user, { name: 1, age: -1 });
  assert.deepEqual(JSON.parse(JSON.stringify(errors)), [
    { keyword: "type", schemaPath: "#/properties/name", instancePath: "/name", params: { type: "string" }, message: "must be string" },
    { keyword: "minimum", schemaPath: "#/properties/age", instancePath: "/age", params: { comparison: ">=", limit: 0 }, message: "must be >= 0" },
  ]);
  const first = errors.First();
  assert.deepEqual([first.path, first.value, first.type], ["/name", 1, 54]);
  assert.equal(TypeCompiler.Compile(user).Errors({}).First().message, "must have required properties name");
});

test("references may be supplied by name or, as in 0.34, as a list", () => {
  const target = T.String({ $id: "S" });
  assert.ok(Value.Check({ S: target }, T.Array(T.Ref("S")), ["a"]));
  assert.ok(!Value.Check(T.Array(T.Ref("S")), [target], [1]));
  assert.ok(!TypeCompiler.Compile(T.Ref("S"), [target]).Check(1));
});

const CONVERSIONS = [
  [T.Number(), "1.5", 1.5],
  [T.Number(), "x", "x"],
  [T.Integer(), "3.9", 3],
  [T.Boolean(), "TRUE", true],
  [T.Boolean(), 2, 2],
  [T.String(), 5, "5"],
  [T.Null(), "", null],
  [T.BigInt(), "5", 5n],
  [T.Literal(5), "5", 5],
  [T.Array(T.Number()), "1", [1]],
  [T.Object({ n: T.Optional(T.Number()) }), { n: "1", x: "2" }, { n: 1, x: "2" }],
  [T.Object({}, { additionalProperties: T.Number() }), { n: "1" }, { n: 1 }],
  [T.Record(T.String(), T.Boolean()), { a: "true" }, { a: true }],
  [T.Union([T.Null(), T.Number()]), "7", 7],
  [T.Union([T.String(), T.Number()]), "7", "7"],
  [T.Enum([1, 2]), "2", 2],
  [T.Intersect([T.Object({ a: T.Number() }), T.Object({ b: T.Boolean() })]), { a: "1", b: 1 }, { a: 1, b: true }],
  [cyclic, { v: "1", n: { v: "2" } }, { v: 1, n: { v: 2 } }],
  [tree, { id: "1", nodes: [{ id: "2", nodes: [] }] }, { id: 1, nodes: [{ id: 2, nodes: [] }] }],
];

CONVERSIONS.forEach(([type, value, expected], index) => {
  test(`convert ${index}: ${JSON.stringify(type)}`, () => assert.deepEqual(Value.Convert(type, value), expected));
});

test("defaults fill what is missing, also inside", () => {
  const type = T.Object({ a: T.Number({ default: 1 }), b: T.Object({ c: T.String({ default: "x" }) }, { default: {} }), d: T.Optional(T.String()) });
  assert.deepEqual(Value.Default(type, {}), { a: 1, b: { c: "x" } });
  assert.deepEqual(Value.Default(T.Array(T.Number({ default: 2 })), [undefined, 1]), [2, 1]);
});

test("clean removes what the type does not have", () => {
  assert.deepEqual(Value.Clean(user, { name: "a", x: 1 }), { name: "a" });
  assert.deepEqual(Value.Clean(T.Tuple([T.Number()]), [1, 2]), [1]);
  assert.deepEqual(Value.Clean(T.Object({}, { additionalProperties: T.Number() }), { a: 1, b: "x" }), { a: 1 });
});

test("create makes the smallest value, or refuses", () => {
  assert.deepEqual(Value.Create(user), { name: "" });
  assert.equal(Value.Create(T.Number({ minimum: 3 })), 3);
  assert.equal(Value.Create(T.TemplateLiteral("a${1|2}")), "a1");
  assert.throws(() => Value.Create(T.Never()));
  assert.throws(() => Value.Create(T.Cyclic({ A: T.Object({ a: T.Ref("A") }) }, "A")));
});

test("cast and repair keep what fits", () => {
  assert.deepEqual(Value.Cast(user, { name: 5, age: 3 }), { name: "", age: 3 });
  assert.deepEqual(Value.Repair(user, { name: 5, age: 3 }), { name: "5", age: 3 });
});

test("codecs run in both directions", () => {
  const type = T.Object({ at: T.Transform(T.String()).Decode((text) => new Date(text)).Encode((date) => date.toISOString()) });
  const text = "2020-01-02T03:04:05.000Z";
  const decoded = Value.Decode(type, { at: text });
  assert.ok(decoded.at instanceof Date);
  assert.deepEqual(Value.Encode(type, decoded), { at: text });
  assert.deepEqual(Compile(type).Encode(Compile(type).Decode({ at: text })), { at: text });
  assert.ok(Value.HasCodec(type) && !Value.HasCodec(user));
});

test("parse returns the value or throws with the errors", () => {
  assert.deepEqual(Value.Parse(user, { name: "a" }), { name: "a" });
  assert.throws(() => Value.Parse(user, {}), (error) => error instanceof AssertError && error.cause.errors.length === 1);
  assert.throws(() => Value.Assert(user, {}), AssertError);
  Settings.Set({ correctiveParse: true });
  try {
    assert.deepEqual(Value.Parse(user, { name: 5, x: 1 }), { name: "5" });
  } finally {
    Settings.Reset();
  }
});

test("differences can be applied, and never reach a prototype", () => {
  const [before, after] = [{ a: 1, b: { c: [1, 2, 3] }, "x/y": 1 }, { b: { c: [1, 4] }, d: null, "x/y": 2 }];
  assert.deepEqual(Value.Patch(before, Value.Diff(before, after)), after);
  Value.Mutate(before, after);
  assert.deepEqual(before, after);
  assert.throws(() => Value.Pointer.Set({}, "/__proto__/polluted", 1));
  assert.throws(() => Value.Patch({}, [{ type: "insert", path: "/constructor/prototype/polluted", value: 1 }]));
  assert.equal({}.polluted, undefined);
});

test("clone, convert and clean keep a key named __proto__ a key", () => {
  const value = JSON.parse('{"__proto__":{"polluted":"1"}}');
  const type = T.Record(T.String(), T.Record(T.String(), T.Number()));
  for (const result of [Value.Clone(value), Value.Convert(type, value), Value.Clean(type, value)]) {
    assert.ok(Object.hasOwn(result, "__proto__"));
    assert.equal(result.polluted, undefined);
  }
});

test("equality and hashes survive circles", () => {
  const circle = () => {
    const value = { a: 1 };
    value.self = value;
    return value;
  };
  assert.ok(Value.Equal(circle(), circle()));
  assert.equal(Value.Hash(circle()), Value.Hash(circle()));
  assert.notEqual(Value.Hash({ a: 1 }), Value.Hash({ a: "1" }));
  assert.equal(Value.Clone(circle()).self.self.a, 1);
});

test("kinds that an extension registers are checked by it", () => {
  TypeRegistry.Set("Even", (_, value) => typeof value === "number" && value % 2 === 0);
  const type = T.Object({ n: T.Unsafe({ [Kind]: "Even" }) });
  assert.ok(Value.Check(type, { n: 2 }));
  assert.ok(!Value.Check(type, { n: 3 }));
  TypeRegistry.Clear();
});
