// The validator for JSON Schema in general, and the coercion of tool arguments.

import assert from "node:assert/strict";
import test from "node:test";
import Format from "../../../extensions/pi-host/shims/typebox-format.mjs";
import { Type as T } from "../../../extensions/pi-host/shims/typebox.mjs";
import { coerce, compileSchema } from "../../../extensions/pi-host/typebox/validator.mjs";

/** Schema, values that it accepts, values that it refuses. */
const SCHEMAS = [
  [true, [1, null], []],
  [false, [], [1, null]],
  [{ type: ["string", "null"] }, ["a", null], [1]],
  [{ required: ["toString"] }, [{ toString: 1 }, 5], [{}]],
  [{ properties: { constructor: { type: "number" } } }, [{}, { constructor: 1 }], [{ constructor: "x" }]],
  [{ enum: [{ a: 1 }, null] }, [{ a: 1 }, null], [{}, 0]],
  [{ const: [1] }, [[1]], [[2], 1]],
  [{ oneOf: [{ type: "integer" }, { minimum: 2 }] }, [1, 2.5], [3, 1.5]],
  [{ not: { type: "string" } }, [1], ["a"]],
  [{ if: { type: "string" }, then: { minLength: 2 }, else: { type: "number" } }, ["ab", 1], ["a", null]],
  [{ patternProperties: { "^a": { type: "string" } }, additionalProperties: { type: "number" } }, [{ ab: "x", b: 1 }], [{ ab: 1 }, { b: "x" }]],
  [{ propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ ab: 1 }]],
  [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 2 }]],
  [{ dependentRequired: { a: ["b"] } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
  [{ dependencies: { a: ["b"], c: { required: ["d"] } } }, [{ a: 1, b: 1 }], [{ a: 1 }, { c: 1 }]],
  [{ prefixItems: [{ type: "string" }], items: { type: "number" } }, [["a", 1]], [[1], ["a", "b"]]],
  [{ items: [{ type: "string" }], additionalItems: false }, [["a"]], [["a", 1]]],
  [{ contains: { type: "number" }, minContains: 2, maxContains: 2 }, [[1, "a", 2]], [[1], [1, 2, 3]]],
  [{ uniqueItems: true }, [[1, "1", { a: 1 }]], [[{ a: 1, b: 2 }, { b: 2, a: 1 }]]],
  [{ allOf: [{ properties: { a: {} } }], anyOf: [{ properties: { b: {} }, required: ["b"] }, {}], unevaluatedProperties: false }, [{ a: 1, b: 1 }], [{ c: 1 }]],
  [{ allOf: [{ prefixItems: [{}] }], unevaluatedItems: false }, [[1]], [[1, 2]]],
  [{ $ref: "#/definitions/a~1b", definitions: { "a/b": { type: "string" } } }, ["a"], [1]],
  [{ properties: { x: { $ref: "#it" } }, $defs: { y: { $anchor: "it", type: "string" } } }, [{ x: "a" }], [{ x: 1 }]],
  [{ $id: "https://a.test/root", properties: { x: { $ref: "other" } }, $defs: { y: { $id: "other", type: "string" } } }, [{ x: "a" }], [{ x: 1 }]],
  [{ $ref: "#/no/such" }, [], [1]],
  [{ type: "strange", required: true, enum: "x", minimum: "1", items: 5, properties: null }, [1, "a", {}], []],
];

SCHEMAS.forEach(([schema, accepted, refused]) => {
  test(`${JSON.stringify(schema)} accepts and refuses`, () => {
    const validator = compileSchema(schema);
    for (const value of accepted) {
      assert.ok(validator.check(value), JSON.stringify(value));
      assert.deepEqual([...validator.errors(value)], []);
    }
    for (const value of refused) {
      assert.ok(!validator.check(value), JSON.stringify(value));
      assert.ok(validator.errors(value).length > 0);
    }
  });
});

const FORMATS = {
  "date-time": [["2020-02-29T23:59:60Z", "2020-01-01t00:00:00+01:30"], ["2021-02-29T00:00:00Z", "2020-01-01 00:00:00Z", "2020-01-01T00:00:00"]],
  date: [["2020-02-29"], ["2020-13-01", "1900-02-29"]],
  time: [["12:00:00Z"], ["12:00:00", "24:00:00Z"]],
  duration: [["P1Y2M3DT4H5M6S", "P4W"], ["P", "P1D1Y", "P1"]],
  email: [["a.b@c.org", "\"a b\"@c.org", "a@[127.0.0.1]"], ["a", "a@", ".a@b.c", "a b@c.org"]],
  hostname: [["a.b-c.org"], ["-a.org", "a_b", ""]],
  ipv4: [["127.0.0.1"], ["256.0.0.1", "01.2.3.4"]],
  ipv6: [["::1", "1::2:3.4.5.6"], ["1::2::3", ":1", "12345::"]],
  uri: [["https://a.b/c?d#e", "urn:x:y"], ["//a", "a b:c", "http://[::1"]],
  "uri-reference": [["/a?b", "#c"], ["\\a", "a#b#c"]],
  "uri-template": [["/a/{b}{?c*}"], ["/{a", "{"]],
  url: [["https://a.b"], ["a.b"]],
  uuid: [["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380"]],
  "json-pointer": [["", "/a~1b"], ["a", "/~2"]],
  "relative-json-pointer": [["0#", "1/a"], ["-1", "01"]],
  regex: [["^a$"], ["("]],
  unknown: [["anything"], []],
};

for (const [format, [accepted, refused]] of Object.entries(FORMATS)) {
  test(`format ${format}`, () => {
    const { check } = compileSchema({ format });
    for (const text of accepted) assert.ok(check(text), text);
    for (const text of refused) assert.ok(!check(text), text);
  });
}

test("an extension can register a format after it compiled a schema", () => {
  const { check } = compileSchema({ format: "shout" });
  Format.Set("shout", (text) => text === text.toUpperCase());
  assert.ok(check("A") && !check("a"));
  Format.Reset();
});

test("errors stop at the limit of the settings", () => {
  const { errors } = compileSchema({ items: { type: "string" } });
  assert.equal(errors(Array(50).fill(1)).length, 8);
});

test("a broken pattern is an error of the schema, not a crash", () => {
  assert.throws(() => compileSchema({ pattern: "(" }), SyntaxError);
});

test("references in a circle end", () => {
  const loop = compileSchema({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } });
  assert.ok(loop.check(1));
  const itself = { type: "object", properties: {} };
  itself.properties.self = itself;
  itself.allOf = [itself];
  assert.ok(compileSchema(itself).check({ self: { self: {} } }));
  assert.ok(!compileSchema(itself).check({ self: { self: 1 } }));
});

test("a value that contains itself is checked once", () => {
  const value = {};
  value.a = value;
  assert.ok(compileSchema({ $ref: "#/$defs/n", $defs: { n: { type: "object", properties: { a: { $ref: "#/$defs/n" } } } } }).check(value));
});

test("values and schemas without bounds in depth do not crash", () => {
  let value = [];
  for (let depth = 0; depth < 200_000; depth += 1) value = [value];
  const validator = compileSchema({ $id: "deep", type: "array", items: { $ref: "deep" } });
  assert.ok(!validator.check(value));
  assert.ok(validator.errors(value).length > 0);
  assert.equal(coerce({ type: "array", items: { $ref: "#" } }, value), value);
  let schema = {};
  for (let depth = 0; depth < 200_000; depth += 1) schema = { items: schema };
  assert.throws(() => compileSchema(schema));
});

test("arguments of a tool call are coerced as pi coerces them", () => {
  const schema = {
    type: "object",
    properties: {
      count: { type: "integer" },
      text: { type: "string" },
      flag: { type: "boolean" },
      list: { type: "array", items: { type: "number" } },
      either: { anyOf: [{ type: "number" }, { type: "boolean" }] },
      nullable: { type: ["string", "null"] },
      left: { type: "string" },
    },
    required: ["count"],
  };
  const value = { count: "5", text: 7, flag: "true", list: ["1", "x"], either: "true", nullable: null, left: null };
  const before = structuredClone(value);
  const expected = { count: 5, text: "7", flag: true, list: [1, "x"], either: true, nullable: null };
  assert.deepEqual(coerce(schema, value), expected);
  assert.deepEqual(value, before);
  const old = { type: "object", properties: { n: { type: "number" } }, [Symbol.for("TypeBox.Kind")]: "Object" };
  assert.deepEqual(coerce(old, { n: "1" }), { n: "1" });
  assert.deepEqual(coerce(T.Object({ n: T.Number(), o: T.Optional(T.String()) }), { n: "1", o: null }), { n: 1 });
});
