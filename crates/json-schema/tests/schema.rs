//! What satisfies a schema, what does not and why, and which schemas are refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::needless_pass_by_value, reason = "callers pass `json!` values")]

use std::time::{Duration, Instant};

use bowline_json_schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Checks that the good values satisfy a schema, and that each of the others does not, for its reason.
#[track_caller]
fn check(schema: Value, good: &[Value], bad: &[(Value, &str)]) {
    let schema = Schema::compile(&schema).unwrap();
    for value in good {
        assert_eq!(schema.check(value), Ok(()), "{value}");
    }
    for (value, reason) in bad {
        let problems: Vec<String> =
            schema.check(value).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(problems.iter().any(|problem| problem == reason), "{value}: {problems:?}");
    }
}

#[test]
fn types_and_values() {
    check(
        json!({"type": "integer"}),
        &[json!(1), json!(1.0), json!(-3)],
        &[(json!(1.5), "the output must be a whole number, but is 1.5")],
    );
    check(
        json!({"type": ["string", "null"]}),
        &[json!("x"), Value::Null],
        &[(json!(1), "the output must be a string or null, but is 1")],
    );
    check(
        json!({"enum": [1, "a"]}),
        &[json!(1.0), json!("a")],
        &[(json!("b"), "the output must be one of 1, \"a\", but is \"b\"")],
    );
    check(
        json!({"const": {"a": 1, "b": 2}}),
        &[json!({"b": 2, "a": 1})],
        &[(json!({"a": 1}), "the output must be {\"a\":1,\"b\":2}, but is {\"a\":1}")],
    );
    check(json!(true), &[json!(1)], &[]);
    check(json!(false), &[], &[(json!(1), "the output is not allowed")]);
}

#[test]
fn numbers() {
    check(
        json!({"minimum": 1, "exclusiveMaximum": 10, "multipleOf": 0.5}),
        &[json!(1), json!(9.5), json!("no number")],
        &[
            (json!(0.5), "the output must be at least 1, but is 0.5"),
            (json!(10), "the output must be less than 10, but is 10"),
            (json!(1.25), "the output must be a multiple of 0.5, but is 1.25"),
        ],
    );
    check(
        json!({"multipleOf": 0.1}),
        &[json!(0.3), json!(1000.7)],
        &[(json!(0.35), "the output must be a multiple of 0.1, but is 0.35")],
    );
    check(
        json!({"multipleOf": 3}),
        &[json!(9_000_000_000_000_000_000_u64)],
        &[(json!(10), "the output must be a multiple of 3, but is 10")],
    );
}

#[test]
fn numbers_are_exact() {
    check(
        json!({"maximum": 9_007_199_254_740_992_u64}),
        &[json!(9_007_199_254_740_992_u64), json!(-1e300)],
        &[(
            json!(9_007_199_254_740_993_u64),
            "the output must be at most 9007199254740992, but is 9007199254740993",
        )],
    );
    check(
        json!({"multipleOf": 0.01}),
        &[json!(12_345_678.9), json!(1e300)],
        &[(json!(12_345_678.905), "the output must be a multiple of 0.01, but is 12345678.905")],
    );
    check(
        json!({"enum": [1e19]}),
        &[json!(10_000_000_000_000_000_000_u64)],
        &[(json!(10_000_000_000_000_000_001_u64), "the output must be 1e+19, but is 10000000000000000001")],
    );
}

#[test]
fn texts() {
    check(
        json!({"minLength": 2, "maxLength": 3, "pattern": "^\\d+$"}),
        &[json!("12"), json!("123")],
        &[
            (json!("1"), "the output must have at least 2 characters, but has 1"),
            (json!("äöüß"), "the output must have at most 3 characters, but has 4"),
            (json!("1x"), "the output must match the pattern ^\\d+$, but is \"1x\""),
        ],
    );
    check(
        json!({"format": "date"}),
        &[json!("2024-02-29"), json!(1)],
        &[(json!("soon"), "the output must have the format date, but is \"soon\"")],
    );
}

#[test]
fn objects() {
    check(
        json!({
            "type": "object", "required": ["a/b"], "properties": {"a/b": {"type": "string"}, "n": true},
            "patternProperties": {"^x": {"type": "number"}}, "additionalProperties": false,
            "minProperties": 1, "maxProperties": 3, "dependentRequired": {"n": ["x1"]},
        }),
        &[json!({"a/b": "c", "x1": 1, "n": null})],
        &[
            (json!({}), "/a~1b is missing"),
            (json!({"a/b": 1}), "/a~1b must be a string, but is 1"),
            (json!({"a/b": "", "c": 1}), "/c is not allowed: the schema knows no such property"),
            (json!({"a/b": "", "xx": "1"}), "/xx must be a number, but is \"1\""),
            (json!({"a/b": "", "n": 1}), "/x1 is missing: it must be there if \"n\" is"),
            (
                json!({"a/b": "", "x1": 1, "x2": 2, "x3": 3}),
                "the output must have at most 3 properties, but has 4",
            ),
        ],
    );
    check(
        json!({"propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "integer"}}),
        &[json!({"ab": 1})],
        &[
            (
                json!({"abc": 1}),
                "/abc has a name that is not allowed: it must have at most 2 characters, but has 3",
            ),
            (json!({"a": "1"}), "/a must be a whole number, but is \"1\""),
        ],
    );
}

#[test]
fn lists() {
    check(
        json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
        &[json!(["a"]), json!(["a", 1, 2])],
        &[
            (json!([]), "the output must have at least 1 items, but has 0"),
            (json!(["a", 1, 2, 3]), "the output must have at most 3 items, but has 4"),
            (json!(["a", "b"]), "/1 must be a whole number, but is \"b\""),
            (json!(["a", 1, 1.0]), "the output must not contain an item twice, but item 2 is there before"),
        ],
    );
    check(
        json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}),
        &[json!([1, 2, 1])],
        &[
            (
                json!([1]),
                "the output must contain at least 2 items of the kind that the schema names, but contains 1",
            ),
            (
                json!([1, 1, 1, 1]),
                "the output must contain at most 3 items of the kind that the schema names, but contains 4",
            ),
        ],
    );
}

#[test]
fn combinations() {
    let shapes = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"const": "text"}}, "required": ["kind"]},
        {"type": "null"},
    ]});
    check(
        shapes,
        &[json!({"kind": "text"}), Value::Null],
        &[
            (
                json!({"kind": "circle", "r": "1"}),
                "the output fits none of 3 alternatives; for the closest one:",
            ),
            (json!({"kind": "circle", "r": "1"}), "/r must be a number, but is \"1\""),
        ],
    );
    check(
        json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
        &[json!(0), json!(6)],
        &[(json!(3), "the output must fit exactly one of 2 alternatives, but fits 2")],
    );
    check(
        json!({"allOf": [{"minimum": 1}, {"maximum": 5}]}),
        &[json!(3)],
        &[(json!(6), "the output must be at most 5, but is 6")],
    );
    check(
        json!({"not": {"type": "null"}}),
        &[json!(3)],
        &[(Value::Null, "the output is what the schema excludes: null")],
    );
    check(
        json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}),
        &[json!({"a": 1, "b": 1}), json!({"c": 1})],
        &[(json!({"a": 1}), "/b is missing"), (json!({}), "/c is missing")],
    );
}

#[test]
fn references_may_be_circular_as_long_as_they_lead_into_the_value() {
    let tree = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.org/tree", "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}, "required": ["next"]}},
    });
    check(tree, &[json!({"next": {"next": null}})], &[(json!({"next": {}}), "/next/next is missing")]);
    let escaped = json!({"$ref": "#/$defs/a%20b~1c%25", "$defs": {"a b/c%": {"type": "null"}}});
    check(escaped, &[Value::Null], &[(json!(1), "the output must be null, but is 1")]);
}

/// A value that refers to itself is looked at once for each of its levels, not twice.
#[test]
fn alternatives_may_be_nested_deeply() {
    for keyword in ["anyOf", "oneOf"] {
        let object = json!({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}});
        let list = json!({ keyword: [{"type": "null"}, object] });
        let mut value = Value::Null;
        for _ in 0..60 {
            value = json!({ "next": value });
        }
        check(
            list,
            &[value],
            &[(json!({"next": 1}), "/next fits none of 2 alternatives; for the closest one:")],
        );
    }
}

#[track_caller]
fn refuse(schema: Value, expected: &str) {
    let error = Schema::compile(&schema).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_cannot_be_checked_is_refused_with_its_place() {
    refuse(
        json!({"properties": {"a": {"minLenght": 1}}}),
        "at /properties/a: the keyword \"minLenght\" is not supported",
    );
    refuse(json!({"unevaluatedProperties": false}), "use \"additionalProperties\"");
    refuse(json!({"nullable": true}), "add \"null\" to \"type\"");
    refuse(json!({"items": [{}]}), "use \"prefixItems\"");
    refuse(json!({"type": "text"}), "there is no type \"text\"");
    refuse(json!({"format": "hostname"}), "the format \"hostname\" cannot be checked");
    refuse(json!({"$ref": "https://example.org"}), "is not within the schema");
    refuse(json!({"$ref": "#/$defs/x"}), "there is nothing at \"#/$defs/x\"");
    refuse(json!({"$ref": "#"}), "refers to itself without an end");
    refuse(
        json!({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}),
        "without an end",
    );
    refuse(json!({"pattern": "(?=x)"}), "look-around");
    refuse(json!({"pattern": "x".repeat(3000)}), "longer than 2048 bytes");
    refuse(json!({"pattern": "(\\w{100}){1000}"}), "exceeded limit");
    refuse(json!({"$ref": "#/%zz"}), "there is nothing at");
    refuse(json!({"exclusiveMinimum": true}), "it must be a number");
    refuse(json!({"enum": []}), "a list of values that is not empty");
    refuse(json!({"required": "a"}), "a list of strings");
    refuse(json!({"minItems": -1}), "a whole number of at least 0");
    refuse(json!({"$schema": "http://json-schema.org/draft-04/schema#"}), "draft 2020-12");
    refuse(json!({"properties": {"a": 1}}), "a schema must be an object or a boolean, but this is 1");
    refuse(json!([]), "a schema must be an object");
}

#[test]
fn schemas_are_bounded() {
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"not": deep});
    }
    refuse(deep, "nested more than 64 levels");
    refuse(json!({"description": "x".repeat(300_000)}), "larger than 262144 bytes");
    let many: serde_json::Map<_, _> = (0..6000).map(|number| (format!("p{number}"), json!({}))).collect();
    refuse(json!({"properties": many}), "more than 5000 schemas");
    let chain: serde_json::Map<_, _> = (0..100)
        .map(|number| (format!("d{number}"), json!({"$ref": format!("#/$defs/d{}", number + 1)})))
        .chain([("d100".to_owned(), json!({}))])
        .collect();
    refuse(json!({"$ref": "#/$defs/d0", "$defs": chain}), "follow one another");
}

#[test]
fn work_of_a_check_is_bounded() {
    // Every level doubles the work.
    let mut schemas = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        schemas.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
    }
    schemas.insert("d30".to_owned(), json!(false));
    let branching = Schema::compile(&json!({"$ref": "#/$defs/d0", "$defs": schemas})).unwrap();
    let started = Instant::now();
    let problem = branching.check(&json!(1)).unwrap_err().remove(0);
    assert!(problem.reason.contains("too large or too deep"), "{problem}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[track_caller]
fn check_too_large(schema: Value, value: &Value) {
    let started = Instant::now();
    let problems = Schema::compile(&schema).unwrap().check(value).unwrap_err();
    assert!(problems[0].reason.contains("too large or too deep"), "{problems:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// What costs more than a step counts as more.
#[test]
fn large_values_cost_more_than_small_ones() {
    let text = "x".repeat(1_040_000);
    let many = |keyword: Value| json!({ "allOf": vec![keyword; 2450] });
    check_too_large(many(json!({"minLength": 1})), &json!(text));
    check_too_large(many(json!({"format": "email"})), &json!(format!("a@{text}")));
    check_too_large(many(json!({"uniqueItems": true})), &json!(vec![text; 1]));
    // It needs more states than are kept, so each byte is looked at with all of them.
    let bit = |n: u64| (n.wrapping_mul(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) & 1 == 0;
    let mixed: String = (0..900_000).map(|n| if bit(n) { 'a' } else { 'b' }).collect();
    check_too_large(json!({"pattern": "[ab]*a[ab]{900}c"}), &json!(mixed));
}

#[test]
fn usual_schemas_check_the_largest_answers() {
    let codes: Vec<_> = (0..250).map(|number| format!("c{number}")).collect();
    let rows = vec!["c249"; 100_000];
    check(json!({"items": {"enum": codes}}), &[json!(rows)], &[]);
    let uuid = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
    let rows = vec!["123e4567-e89b-12d3-a456-426614174000"; 25_000];
    check(json!({"items": {"pattern": uuid}}), &[json!(rows)], &[]);
    check(json!({"pattern": "^(\\w+ ?)*$", "maxLength": 1_048_576}), &[json!("x y ".repeat(250_000))], &[]);
    for pattern in ["^.{1,1000}$", "^[^\\s]{0,256}$", "^(?:[a-z0-9-]{1,63}\\.)+[a-z]{2,63}$"] {
        assert_eq!(Schema::compile(&json!({ "pattern": pattern })).map(drop), Ok(()), "{pattern}");
    }
}

#[test]
fn reports_are_short_whatever_the_value() {
    let schema = Schema::compile(&json!({"items": {"type": "integer"}})).unwrap();
    let problems = schema.check(&Value::from(vec!["x".repeat(10_000); 1000])).unwrap_err();
    assert!(problems.len() <= 20 && problems.iter().all(|problem| problem.to_string().len() < 300));
    let schema = Schema::compile(&json!({"additionalProperties": false})).unwrap();
    let problems = schema.check(&json!({"n".repeat(10_000): 1})).unwrap_err();
    assert!(problems[0].path.len() < 200, "{}", problems[0].path);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z$#/]{0,6}".prop_map(Value::from),
    ];
    let names = prop_oneof![
        Just("type"),
        Just("properties"),
        Just("items"),
        Just("anyOf"),
        Just("$ref"),
        Just("required"),
        Just("pattern"),
        Just("enum"),
        Just("not"),
        Just("if"),
        Just("then"),
        Just("minLength"),
        Just("$defs"),
        Just("a"),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..4).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn schemas_are_used_or_refused(schema in any_json(), value in any_json()) {
        if let Ok(schema) = Schema::compile(&schema)
            && let Err(problems) = schema.check(&value)
        {
            prop_assert!(!problems.is_empty());
        }
    }
}
