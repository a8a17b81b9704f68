//! An entry of `packages` in settings.

use serde_json::{Map, Value};

use super::Kind;

/// An entry: a source, and what of the package is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The source as it is written.
    pub source: String,
    /// Only an entry that is an object has one.
    pub filter: Option<Filter>,
}

/// What of a package is wanted, by kind. Without a list everything is, and with an empty list nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    extensions: Option<Vec<String>>,
    skills: Option<Vec<String>>,
    prompts: Option<Vec<String>>,
    /// Whether what the lists do not name is used. If not, the entry of a project changes that of the user.
    pub autoload: bool,
}

impl Entry {
    /// Reads an entry, or says what is wrong with it.
    pub fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(source) => Ok(Self { source: source.clone(), filter: None }),
            Value::Object(members) => {
                let Some(Value::String(source)) = members.get("source") else {
                    return Err("an object in packages needs a \"source\"".to_owned());
                };
                let autoload = match members.get("autoload") {
                    None | Some(Value::Null) => true,
                    Some(Value::Bool(autoload)) => *autoload,
                    Some(_) => return Err(format!("\"autoload\" of {source} must be true or false")),
                };
                let list = |kind: Kind| list(members, kind.folder_name(), source);
                let filter = Filter {
                    extensions: list(Kind::Extension)?,
                    skills: list(Kind::Skill)?,
                    prompts: list(Kind::PromptTemplate)?,
                    autoload,
                };
                Ok(Self { source: source.clone(), filter: Some(filter) })
            }
            _ => Err("packages must be a list of texts and objects".to_owned()),
        }
    }
}

impl Filter {
    /// Returns the patterns for a kind, if there are any.
    pub fn of(&self, kind: Kind) -> Option<&[String]> {
        match kind {
            Kind::Extension => self.extensions.as_deref(),
            Kind::Skill => self.skills.as_deref(),
            Kind::PromptTemplate => self.prompts.as_deref(),
        }
    }
}

fn list(members: &Map<String, Value>, key: &str, source: &str) -> Result<Option<Vec<String>>, String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) if values.iter().all(Value::is_string) => {
            Ok(Some(values.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()))
        }
        Some(_) => Err(format!("\"{key}\" of {source} must be a list of texts")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_texts_or_objects_with_lists() {
        let plain = Entry::read(&json!("npm:x")).unwrap();
        assert_eq!((plain.source.as_str(), plain.filter), ("npm:x", None));
        let entry = json!({ "source": "npm:x", "extensions": [], "skills": ["a"], "themes": 1, "mine": 2 });
        let filter = Entry::read(&entry).unwrap().filter.unwrap();
        assert_eq!(filter.of(Kind::Extension), Some(&[][..]));
        assert_eq!(filter.of(Kind::Skill), Some(&["a".to_owned()][..]));
        assert_eq!((filter.of(Kind::PromptTemplate), filter.autoload), (None, true));
    }

    #[test]
    fn mistakes_name_what_is_wrong() {
        for (entry, problem) in [
            (json!(1), "a list of texts and objects"),
            (json!({}), "needs a \"source\""),
            (json!({ "source": "npm:x", "skills": "a" }), "\"skills\" of npm:x must be a list of texts"),
            (json!({ "source": "npm:x", "autoload": 1 }), "\"autoload\" of npm:x"),
        ] {
            let error = Entry::read(&entry).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
