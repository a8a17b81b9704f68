//! What the values of settings can be, and what is wrong with one.

use serde_json::Value;

use super::file::SettingsFile;

/// What a setting's value is, and what it sets.
pub(crate) enum Kind {
    Switch(fn(&mut SettingsFile, bool)),
    Text(fn(&mut SettingsFile, String)),
    Texts(fn(&mut SettingsFile, Vec<String>)),
    /// A list of objects, which whoever uses them checks.
    Objects(fn(&mut SettingsFile, Vec<Value>)),
    /// A list of texts and objects, which whoever uses them checks.
    TextsAndObjects(fn(&mut SettingsFile, Vec<Value>)),
    /// A whole number up to a limit.
    Number(u64, fn(&mut SettingsFile, u64)),
    /// A number with or without a fraction up to a limit.
    Amount(u64, fn(&mut SettingsFile, f64)),
    /// One of several words.
    Choice(&'static [&'static str], fn(&mut SettingsFile, &str)),
    /// An object whose keys are names that the user chooses; the function is called for each of them.
    Named(fn(&mut SettingsFile, &str, &Value) -> Result<(), Wrong>),
}

/// What is wrong with a value.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// Where the value is, if it is within the one that was looked at.
    pub within: String,
    /// What it must be, after "must be".
    pub expected: String,
    /// What it is.
    pub found: String,
}

use Kind::{Amount, Choice, Named, Number, Objects, Switch, Text, Texts, TextsAndObjects};

impl Kind {
    /// Checks a value and applies it.
    pub fn apply(&self, file: &mut SettingsFile, value: &Value) -> Result<(), Wrong> {
        let wrong = || Err(Wrong::new(&self.expected(), value));
        match (self, value) {
            (Switch(set), Value::Bool(value)) => set(file, *value),
            (Text(set), Value::String(value)) => set(file, value.clone()),
            (Texts(set), Value::Array(values)) => {
                let texts: Option<Vec<_>> =
                    values.iter().map(|value| value.as_str().map(ToOwned::to_owned)).collect();
                let Some(texts) = texts else { return wrong() };
                set(file, texts);
            }
            (Objects(set), Value::Array(values)) if values.iter().all(Value::is_object) => {
                set(file, values.clone());
            }
            (TextsAndObjects(set), Value::Array(values))
                if values.iter().all(|value| value.is_object() || value.is_string()) =>
            {
                set(file, values.clone());
            }
            (Number(most, set), value) => set(file, whole_number(value, *most)?),
            (Amount(most, set), value) => set(file, amount(value, *most)?),
            (Choice(words, set), Value::String(value)) if words.contains(&value.as_str()) => set(file, value),
            (Named(set), Value::Object(members)) => {
                for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    set(file, name, value).map_err(|wrong| wrong.in_member(name))?;
                }
            }
            _ => return wrong(),
        }
        Ok(())
    }

    /// Tells whether a value is a text, so that it can be given without quotes.
    pub fn is_text(&self) -> bool {
        matches!(self, Text(_) | Choice(..))
    }

    /// Tells whether a value is an object whose keys the user chooses.
    pub fn is_named(&self) -> bool {
        matches!(self, Named(_))
    }

    /// Returns what a value must be, after "must be".
    pub fn expected(&self) -> String {
        match self {
            Switch(_) => "true or false".to_owned(),
            Text(_) => "a text".to_owned(),
            Texts(_) => "a list of texts".to_owned(),
            Objects(_) => "a list of objects".to_owned(),
            TextsAndObjects(_) => "a list of texts and objects".to_owned(),
            Number(most, _) => expected_number(*most),
            Amount(most, _) => expected_amount(*most),
            Choice(words, _) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match quoted.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => quoted.concat(),
                }
            }
            Named(_) => "an object".to_owned(),
        }
    }
}

impl Wrong {
    pub fn new(expected: &str, found: &Value) -> Self {
        Self { within: String::new(), expected: expected.to_owned(), found: described(found) }
    }

    /// The same, seen from the object that the value is in.
    pub fn in_member(self, name: &str) -> Self {
        Self { within: format!(".{name}{}", self.within), ..self }
    }
}

/// Returns a value that must be a whole number up to a limit.
pub(crate) fn whole_number(value: &Value, most: u64) -> Result<u64, Wrong> {
    let number = value.as_u64().filter(|number| *number <= most);
    number.ok_or_else(|| Wrong::new(&expected_number(most), value))
}

/// Returns a value that must be a number up to a limit.
fn amount(value: &Value, most: u64) -> Result<f64, Wrong> {
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
    let number = value.as_f64().filter(|number| (0.0..=most as f64).contains(number));
    number.ok_or_else(|| Wrong::new(&expected_amount(most), value))
}

fn expected_amount(most: u64) -> String {
    format!("a number from 0 to {most}")
}

fn expected_number(most: u64) -> String {
    format!("a whole number from 0 to {most}")
}

/// Returns a value for an error. Texts are cut: a long one is no help.
fn described(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        // A key in the wrong place is still a key.
        Value::String(text) if bowline_tools::looks_secret(text) => "a text".to_owned(),
        Value::String(text) if text.chars().count() > LONGEST => {
            let beginning: String = text.chars().take(LONGEST).collect();
            format!("{}…", Value::String(beginning))
        }
        other => other.to_string(),
    }
}
