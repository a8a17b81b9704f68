//! Schemas as Markdown: types, and the members of objects as tables.

use std::fmt::Write as _;

use bowline_testkit::Protocol;
use serde_json::Value;

/// Renders the types of a protocol.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'protocol>(pub &'protocol Protocol);

impl<'protocol> Tables<'protocol> {
    /// Returns the member of a union that is wanted.
    pub fn find(&self, union: &str, is_wanted: impl Fn(&Value) -> bool) -> &'protocol Value {
        let members = self.0.definition(union)["oneOf"].as_array().unwrap();
        members
            .iter()
            .map(|member| self.0.resolve(member))
            .find(|member| is_wanted(member))
            .unwrap_or(&Value::Null)
    }

    /// Returns the types that commands and records refer to, in the order of first mention.
    pub fn types(&self, unions: &[&str]) -> Vec<String> {
        let mut types = Vec::new();
        for union in unions {
            for member in self.0.definition(union)["oneOf"].as_array().into_iter().flatten() {
                let member = self.0.resolve(member);
                // The forms of a record are described with it.
                match member["oneOf"].as_array() {
                    Some(forms) => {
                        forms.iter().for_each(|form| self.collect_types(self.0.resolve(form), &mut types));
                    }
                    None => self.collect_types(member, &mut types),
                }
            }
        }
        types
    }

    /// Adds the types that a schema refers to.
    pub fn collect_types(&self, schema: &Value, types: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
                    && !types.iter().any(|known| known == name)
                {
                    types.push(name.to_owned());
                    self.collect_types(self.0.resolve(schema), types);
                }
                members.values().for_each(|member| self.collect_types(member, types));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect_types(item, types)),
            _ => {}
        }
    }

    /// Renders a type.
    pub fn definition(&self, schema: &Value, page: &mut String) {
        let _ = writeln!(page, "{}", about(schema));
        let choices = ["oneOf", "anyOf"].into_iter().find_map(|key| schema[key].as_array());
        match choices {
            Some(choices) => {
                page.push_str("\nOne of:\n");
                self.choices(choices, page);
            }
            None if schema["properties"].is_object() => self.table(schema, &[], page),
            None => {
                let _ = write!(page, "\n{}\n", self.kind(schema));
            }
        }
    }

    /// Renders the members of a union.
    pub fn choices(&self, choices: &[Value], page: &mut String) {
        for choice in choices {
            let resolved = self.0.resolve(choice);
            let sentence = |text: &str| if text.is_empty() { String::new() } else { format!(": {text}") };
            let _ = match (&choice["$ref"], resolved["properties"].as_object()) {
                (Value::String(_), _) | (_, None) => {
                    writeln!(page, "\n- {}{}", self.kind(choice), sentence(about(resolved)))
                }
                (_, Some(_)) => writeln!(page, "\n- {}{}\n", self.tags(resolved), sentence(about(resolved))),
            };
            if choice["$ref"].is_null() && resolved["properties"].is_object() {
                let mut table = String::new();
                let tags: Vec<_> = resolved["properties"].as_object().into_iter().flatten().collect();
                let tags: Vec<_> = tags
                    .iter()
                    .filter(|(name, member)| is_tag(name, member))
                    .map(|(name, _)| name.as_str())
                    .collect();
                self.fields(resolved, &tags, &mut table);
                table.lines().for_each(|line| {
                    let _ = writeln!(page, "  {line}");
                });
            }
        }
    }

    /// Returns the members that identify an object.
    fn tags(&self, schema: &Value) -> String {
        let members = schema["properties"].as_object().into_iter().flatten();
        let tags = members.filter(|(name, member)| is_tag(name, member));
        let tags: Vec<_> = tags.map(|(name, member)| format!("`{name}` {}", self.kind(member))).collect();
        if tags.is_empty() { "an object".to_owned() } else { tags.join(", ") }
    }

    /// Renders the members of an object, if it has any.
    pub fn table(&self, schema: &Value, omitted: &[&str], page: &mut String) {
        let mut table = String::new();
        self.fields(schema, omitted, &mut table);
        if !table.is_empty() {
            let _ = write!(page, "\n{table}");
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(steps) = member["oneOf"].as_array() {
                let _ = write!(page, "\n`{name}` is one of:\n");
                self.choices(steps, page);
            }
        }
    }

    /// Renders the members of an object as a table.
    pub fn fields(&self, schema: &Value, omitted: &[&str], page: &mut String) {
        let mut rows = Vec::new();
        self.rows("", schema, omitted, &mut rows);
        if !rows.is_empty() {
            let _ = write!(page, "| field | type | |\n|---|---|---|\n{}", rows.concat());
        }
    }

    fn rows(&self, path: &str, schema: &Value, omitted: &[&str], rows: &mut Vec<String>) {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if omitted.contains(&name.as_str()) {
                continue;
            }
            let has_alias = schema["anyOf"].to_string().contains(&format!("[\"{name}\"]"));
            let optional = match (required.iter().any(|other| other == name), has_alias) {
                (true, _) => "",
                (false, true) => ", required under either name",
                (false, false) => ", optional",
            };
            // Optional fields of a command may be `null`, which is not worth documenting.
            let kind = self.kind(member);
            let kind = kind.strip_suffix(" or `null`").filter(|_| !optional.is_empty()).unwrap_or(&kind);
            rows.push(format!("| `{path}{name}` | {kind}{optional} | {} |\n", about(member)));
            let (inner, mark) =
                if member["items"].is_object() { (&member["items"], "[]") } else { (member, "") };
            if inner["properties"].is_object() {
                self.rows(&format!("{path}{name}{mark}."), inner, &[], rows);
            }
        }
    }

    /// Returns the type of a value in words.
    pub fn kind(&self, schema: &Value) -> String {
        let quote = |value: &Value| format!("`{value}`");
        if let Some(name) = reference(schema) {
            return link(name);
        }
        if let Some(value) = schema.get("const") {
            return quote(value);
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.iter().map(quote).collect::<Vec<_>>().join(" or ");
        }
        if let Some(choices) = ["anyOf", "oneOf"].into_iter().find_map(|key| schema[key].as_array()) {
            if choices.iter().any(|choice| choice["properties"].is_object()) {
                return "object".to_owned();
            }
            return choices.iter().map(|choice| self.kind(choice)).collect::<Vec<_>>().join(" or ");
        }
        let name = |kind: &Value| match kind.as_str().unwrap_or_default() {
            "array" if schema["items"]["properties"].is_object() => "list of objects".to_owned(),
            "array" => match self.kind(&schema["items"]) {
                kind if matches!(kind.as_str(), "string" | "integer" | "number") => {
                    format!("list of {kind}s")
                }
                kind => format!("list of {kind}"),
            },
            "null" => "`null`".to_owned(),
            name => name.to_owned(),
        };
        match &schema["type"] {
            Value::Null => "anything".to_owned(),
            Value::Array(kinds) => kinds.iter().map(name).collect::<Vec<_>>().join(" or "),
            kind => name(kind),
        }
    }
}

/// Returns whether a member identifies the object.
fn is_tag(name: &str, member: &Value) -> bool {
    member.get("const").is_some() || (name == "type" && member.get("enum").is_some())
}

/// Returns the type that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    let path = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    path.and_then(|path| path.rsplit('/').next())
}

/// Returns what a schema says about itself.
pub(crate) fn about(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Returns a link to a type.
pub(crate) fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}
