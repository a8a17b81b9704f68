//! When two values are the same for JSON Schema: numbers by their value, objects whatever the order of their members.

use serde_json::Value;

use crate::decimal::Decimal;

/// Returns a text that two values have in common if they are the same, and only then.
pub(crate) fn key(value: &Value) -> String {
    let mut text = String::new();
    write_key(value, &mut text);
    text
}

fn write_key(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&Decimal::of(number).to_string()),
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_key(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort();
            text.push('{');
            for name in names {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_key(&members[name], text);
                text.push(',');
            }
            text.push('}');
        }
        value => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_count_by_value_and_order_of_members_does_not() {
        let same = [
            (json!(1), json!(1.0)),
            (json!({"a": 1, "b": [2.0]}), json!({"b": [2], "a": 1})),
            (json!("x"), json!("x")),
            (json!(-0.0), json!(0)),
            (json!(1e19), json!(10_000_000_000_000_000_000_u64)),
        ];
        for (left, right) in same {
            assert_eq!(key(&left), key(&right));
        }
        let different = [
            (json!(1), json!(true)),
            (json!(0), json!(false)),
            (json!("1"), json!(1)),
            (json!([1, 2]), json!([12])),
            (json!({"a": 1}), json!({"a": 1, "b": null})),
            (json!(["a,b"]), json!(["a", "b"])),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0)),
        ];
        for (left, right) in different {
            assert_ne!(key(&left), key(&right), "{left} {right}");
        }
    }
}
