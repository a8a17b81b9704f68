//! When two values are the same for JSON Schema: numbers by their value, objects whatever the order of their members.

use serde_json::{Number, Value};

/// Tells whether two values are the same.
pub(crate) fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numbers_are_equal(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let is_in_right = |(name, value): (&String, &Value)| {
                right.get(name).is_some_and(|other| are_equal(value, other))
            };
            left.len() == right.len() && left.iter().all(is_in_right)
        }
        (left, right) => left == right,
    }
}

fn numbers_are_equal(left: &Number, right: &Number) -> bool {
    left == right || (is_float(left) || is_float(right)) && left.as_f64() == right.as_f64()
}

fn is_float(number: &Number) -> bool {
    number.is_f64()
}

/// Returns a text that two values have in common if they are the same, and only then.
pub(crate) fn key(value: &Value) -> String {
    let mut text = String::new();
    write_key(value, &mut text);
    text
}

fn write_key(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&number_key(number)),
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

/// Returns the same text for `1` and `1.0`.
fn number_key(number: &Number) -> String {
    match number.as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            (float as i64).to_string()
        }
        _ => number.to_string(),
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
        ];
        for (left, right) in same {
            assert!(are_equal(&left, &right), "{left} {right}");
            assert_eq!(key(&left), key(&right));
        }
        let different = [
            (json!(1), json!("1")),
            (json!({"a": 1}), json!({"a": 1, "b": 1})),
            (json!([1, 2]), json!([2, 1])),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)),
            (json!(["a,b"]), json!(["a", "b"])),
        ];
        for (left, right) in different {
            assert!(!are_equal(&left, &right), "{left} {right}");
            assert_ne!(key(&left), key(&right));
        }
    }
}
