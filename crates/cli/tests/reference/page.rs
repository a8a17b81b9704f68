//! A page of the reference: made of what the schema says and what was said in a play.

use std::fmt::Write as _;

use bowline_testkit::Protocol;
use serde_json::Value;

use crate::play::Play;

/// A dialect's page.
pub(crate) struct Page<'play> {
    pub dialect: &'static str,
    /// The page that tells how the commands and records play together.
    pub guide: &'static str,
    pub play: &'play Play,
}

impl Page<'_> {
    /// Writes the page down.
    pub fn render(&self) -> String {
        let dialect = self.dialect;
        let mut page = format!(
            "# Reference: the dialect `{dialect}`\n\n\
             <!-- Written by `./test update` from the tables and types of the dialect and a run of the program. -->\n\n\
             Every command, every record and every type. How they play together is in \
             [{guide}](../{guide}); the same for programs, as JSON Schema, is in \
             [schema/{dialect}.json](../../schema/{dialect}.json), which `bowline schema --dialect {dialect}` prints. The \
             examples are what the program said; long texts and lists are cut short in them.\n\n\
             Fields that a command does not know are ignored, and records may get more of them: ignore what you do not \
             know.\n",
            guide = self.guide,
        );
        let (commands, events) = (self.protocol().commands(), self.protocol().events());
        let list = |names: &[String]| {
            let links = names.iter().map(|name| format!("[`{name}`](#{})", name.to_lowercase()));
            links.collect::<Vec<_>>().join(", ")
        };
        let _ = write!(page, "\n- [Commands](#commands): {}\n", list(&commands));
        let _ = writeln!(page, "- [Records](#records): {}", list(&events));
        let types = self.types();
        let links: Vec<_> = types.iter().map(|name| link(name)).collect();
        let _ = writeln!(page, "- [Types](#types): {}", links.join(", "));

        page.push_str("\n## Commands\n\nEvery command may have an `id`, which comes back in its answer.\n");
        for name in &commands {
            self.command(name, &mut page);
        }
        if let Some(refusal) = self.play.refusal() {
            page.push_str("\n### Refusals\n\n");
            self.fields(self.protocol().definition("FailureResponse"), &[], &mut page);
            let _ = write!(page, "\n```json\n{refusal}\n```\n");
        }
        page.push_str("\n## Records\n");
        if self.is_wrapped() {
            page.push_str("\nEach stands in the `event` of a record of the type `event`; the fields are those of what is in it.\n");
        }
        for name in &events {
            self.record(name, &mut page);
        }
        page.push_str("\n## Types\n");
        for name in &types {
            let _ = write!(page, "\n### {name}\n\n");
            self.definition(self.protocol().definition(name), &mut page);
        }
        page
    }

    fn protocol(&self) -> &Protocol {
        &self.play.protocol
    }

    fn command(&self, name: &str, page: &mut String) {
        let definition = self.find("Command", |definition| definition["properties"]["type"]["const"] == name);
        let _ = write!(page, "\n### `{name}`\n\n{}\n", about(definition));
        self.table(definition, &["id", "type"], page);
        let answer = self.find("Response", |definition| definition["properties"]["command"]["const"] == name);
        if answer.is_object() {
            match &answer["properties"]["data"] {
                Value::Null => page.push_str("\nThe answer has no `data`.\n"),
                data => {
                    let _ = write!(page, "\n`data` of the answer: {}.\n", self.kind(data));
                }
            }
        }
        let lines =
            self.play.exchange(name).unwrap_or_else(|| panic!("{}: no example of {name}", self.dialect));
        let _ = write!(page, "\n```json\n{}\n```\n", lines.join("\n"));
    }

    fn record(&self, name: &str, page: &mut String) {
        let tag = |definition: &Value| definition["properties"]["type"]["const"] == name;
        let definition =
            self.find("Event", |definition| tag(definition) || tag(&definition["properties"]["event"]));
        let inner = if tag(definition) { definition } else { &definition["properties"]["event"] };
        let _ = write!(page, "\n### `{name}`\n\n{}\n", about(inner));
        self.table(inner, &["type"], page);
        let line = self.play.record(name).unwrap_or_else(|| panic!("{}: no example of {name}", self.dialect));
        let _ = write!(page, "\n```json\n{line}\n```\n");
    }

    fn is_wrapped(&self) -> bool {
        let events = &self.protocol().definition("Event")["oneOf"];
        self.protocol().resolve(&events[0])["properties"]["event"].is_object()
    }

    fn find(&self, union: &str, is_it: impl Fn(&Value) -> bool) -> &Value {
        let members = self.protocol().definition(union)["oneOf"].as_array().unwrap();
        members
            .iter()
            .map(|member| self.protocol().resolve(member))
            .find(|member| is_it(member))
            .unwrap_or(&Value::Null)
    }

    /// Returns what commands and records refer to, in the order of first mention.
    fn types(&self) -> Vec<String> {
        let mut types = Vec::new();
        for union in ["Command", "Response", "Event"] {
            for member in self.protocol().definition(union)["oneOf"].as_array().unwrap() {
                self.collect_types(self.protocol().resolve(member), &mut types);
            }
        }
        types
    }

    fn collect_types(&self, schema: &Value, types: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
                    && !types.iter().any(|known| known == name)
                {
                    types.push(name.to_owned());
                    self.collect_types(self.protocol().resolve(schema), types);
                }
                members.values().for_each(|member| self.collect_types(member, types));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect_types(item, types)),
            _ => {}
        }
    }

    /// Writes a type down.
    fn definition(&self, schema: &Value, page: &mut String) {
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

    fn choices(&self, choices: &[Value], page: &mut String) {
        for choice in choices {
            let resolved = self.protocol().resolve(choice);
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

    /// Returns what a thing is told by.
    fn tags(&self, schema: &Value) -> String {
        let members = schema["properties"].as_object().into_iter().flatten();
        let tags = members.filter(|(name, member)| is_tag(name, member));
        let tags: Vec<_> = tags.map(|(name, member)| format!("`{name}` {}", self.kind(member))).collect();
        if tags.is_empty() { "an object".to_owned() } else { tags.join(", ") }
    }

    fn table(&self, schema: &Value, left_out: &[&str], page: &mut String) {
        let mut table = String::new();
        self.fields(schema, left_out, &mut table);
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

    fn fields(&self, schema: &Value, left_out: &[&str], page: &mut String) {
        let mut rows = Vec::new();
        self.rows("", schema, left_out, &mut rows);
        if !rows.is_empty() {
            let _ = write!(page, "| field | type | |\n|---|---|---|\n{}", rows.concat());
        }
    }

    fn rows(&self, path: &str, schema: &Value, left_out: &[&str], rows: &mut Vec<String>) {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if left_out.contains(&name.as_str()) {
                continue;
            }
            let has_another_name = schema["anyOf"].to_string().contains(&format!("[\"{name}\"]"));
            let optional = match (required.iter().any(|other| other == name), has_another_name) {
                (true, _) => "",
                (false, true) => ", one of two names",
                (false, false) => ", optional",
            };
            // What may be left out may be `null` in a command; nobody needs to be told to write that.
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

    /// Returns what a value may be, in words.
    fn kind(&self, schema: &Value) -> String {
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

/// Tells whether a member says what the thing is.
fn is_tag(name: &str, member: &Value) -> bool {
    member.get("const").is_some() || (name == "type" && member.get("enum").is_some())
}

/// Returns the type that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    let path = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    path.and_then(|path| path.rsplit('/').next())
}

fn about(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// Returns a link to a type.
fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}
