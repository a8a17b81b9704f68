//! What the dialects' schemas say of a line: whether it is as it should be, and which commands there are.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::output::OutputProblem;
use bowline_json_schema::Schema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::row::{From, Row};
use crate::store::{Store, is_exchanged};

/// How deep a value of a template is filled in.
const DEEPEST_BLANK: usize = 4;

/// How many rows are looked at for the dialect.
const MOST_LOOKED_AT: usize = 200;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// Where, as a JSON Pointer.
    pub path: String,
    pub reason: String,
}

impl Problem {
    fn of_line(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }
}

/// Finds the dialect of an exchange and checks its lines.
#[derive(Debug)]
pub(crate) struct Protocols {
    chosen: Mutex<Option<Arc<Protocol>>>,
}

impl Protocols {
    /// Returns what checks lines by a dialect, or by the one that they look like.
    pub fn new(dialect: Option<&str>) -> Self {
        Self { chosen: Mutex::new(dialect.and_then(Protocol::of).map(Arc::new)) }
    }

    /// Returns the protocol, if it is known yet.
    pub fn chosen(&self) -> Option<Arc<Protocol>> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for the dialect in the first rows, if it is not known yet.
    pub fn look(&self, store: &Store) -> std::io::Result<()> {
        if self.chosen().is_some() {
            return Ok(());
        }
        let named = store.header().and_then(|header| Protocol::of(header.dialect.as_deref()?));
        let mut chosen = named;
        if chosen.is_none() {
            let rows = store.read(0, MOST_LOOKED_AT, 1024 * 1024)?;
            let rows = rows.iter().filter_map(|row| serde_json::from_str::<Row>(row).ok());
            let dialect = rows
                .filter(is_exchanged)
                .find_map(|row| detect(row.from, &serde_json::from_str(&row.line).ok()?));
            chosen = dialect.and_then(Protocol::of);
        }
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = chosen.map(Arc::new);
        Ok(())
    }

    /// Checks the line of a row, by the dialect if it is known.
    pub fn check(&self, row: &Row) -> Vec<Problem> {
        if !is_exchanged(row) || row.line.trim().is_empty() {
            return Vec::new();
        }
        if row.not_utf8 {
            return vec![Problem::of_line("is not valid UTF-8; what is not is replaced here")];
        }
        if row.cut.is_some() {
            return Vec::new();
        }
        let line: Value = match serde_json::from_str(&row.line) {
            Ok(line) => line,
            Err(error) => return vec![Problem::of_line(format!("is not JSON: {error}"))],
        };
        if !line.is_object() {
            return vec![Problem::of_line("is not a JSON object")];
        }
        self.chosen().map(|protocol| protocol.check(row.from, &line)).unwrap_or_default()
    }
}

/// Returns the dialect that a line is of, if it can only be one. Records of the agent without anything special are pi's.
fn detect(from: From, line: &Value) -> Option<&'static str> {
    if line.get("jsonrpc").is_some() {
        return Some("acp");
    }
    if from != From::Agent {
        return None;
    }
    let kind = line["type"].as_str()?;
    match kind {
        "rpc_ready" => Some("opi"),
        "ready" => Some("omp"),
        "event" if line["event"].is_object() => Some("operator"),
        "input" | "settled" | "tool_call" | "tool_result" => Some("operator-flat"),
        "turn_start" if line.get("turn_index").is_some() => Some("operator-flat"),
        _ if kind.starts_with(|letter: char| letter.is_ascii_uppercase()) => Some("opi"),
        "response" | "error" | "extension_ui_request" => None,
        _ => Some("pi"),
    }
}

/// A dialect's schema.
#[derive(Debug)]
pub(crate) struct Protocol {
    pub name: &'static str,
    definitions: Map<String, Value>,
    /// The definitions of what a client sends, and of what it receives.
    sent: Vec<String>,
    received: Vec<String>,
    compiled: Mutex<HashMap<String, Option<Arc<Schema>>>>,
}

impl Protocol {
    fn of(dialect: &str) -> Option<Self> {
        let entry = bowline_dialect::find(dialect)?;
        let mut schema: Value = serde_json::from_str(&bowline_dialect::published(entry.name)?).ok()?;
        let Value::Object(definitions) = schema["$defs"].take() else { return None };
        let of = |unions: [&str; 2]| {
            let members = unions.iter().filter_map(|union| {
                let union = definitions.get(*union)?;
                union["oneOf"].as_array().or_else(|| union["anyOf"].as_array())
            });
            members.flatten().filter_map(reference).map(ToOwned::to_owned).collect()
        };
        let (sent, received) = (of(["Command", "ClientAnswer"]), of(["Response", "Event"]));
        Some(Self { name: entry.name, definitions, sent, received, compiled: Mutex::default() })
    }

    /// Checks a line by the definitions whose constants it has.
    pub fn check(&self, from: From, line: &Value) -> Vec<Problem> {
        let (names, what) = match from {
            From::Agent => (&self.received, "a record"),
            _ => (&self.sent, "a command or an answer"),
        };
        let mut problems: Option<Vec<Problem>> = None;
        for name in names.iter().filter(|name| self.can_be(&self.definitions[*name], line)) {
            let Some(schema) = self.schema(name) else { return Vec::new() };
            let Err(found) = schema.check(line) else { return Vec::new() };
            let found: Vec<_> = found.into_iter().map(Problem::from).collect();
            if problems.as_ref().is_none_or(|problems| problems.len() > found.len()) {
                problems = Some(found);
            }
        }
        problems.unwrap_or_else(|| self.unknown(from, line, what))
    }

    /// Returns the problem of a line that no definition is for.
    fn unknown(&self, from: From, line: &Value, what: &str) -> Vec<Problem> {
        let tag = if self.name == "acp" { "method" } else { "type" };
        match line.get(tag) {
            // A response in JSON-RPC is known by its id alone, also the client's to a request of the agent.
            None if self.name == "acp" && line.get("id").is_some() => Vec::new(),
            None => vec![Problem { path: format!("/{tag}"), reason: "is missing".to_owned() }],
            // The response to a command that is not in the schema says so itself.
            Some(kind) if kind == "response" && from == From::Agent => Vec::new(),
            Some(kind) => {
                let kind = kind.to_string().chars().take(60).collect::<String>();
                let reason = format!("{kind} is not {what} of the dialect {}", self.name);
                vec![Problem { path: format!("/{tag}"), reason }]
            }
        }
    }

    fn resolve<'own>(&'own self, schema: &'own Value) -> &'own Value {
        let within = schema["allOf"][0].get("$ref").and(schema["allOf"].get(0));
        reference(within.unwrap_or(schema)).and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }

    /// Returns whether the constants of a definition are those of a line.
    fn can_be(&self, schema: &Value, value: &Value) -> bool {
        let schema = self.resolve(schema);
        if let Some(forms) = schema["oneOf"].as_array() {
            return forms.iter().any(|form| self.can_be(form, value));
        }
        let Some(properties) = schema["properties"].as_object() else { return true };
        // What distinguishes requests from responses in JSON-RPC is whether there is a method.
        if value.get("jsonrpc").is_some()
            && properties.contains_key("method") != value.get("method").is_some()
        {
            return false;
        }
        properties.iter().all(|(name, schema)| match (schema.get("const"), value.get(name)) {
            (Some(constant), found) => found == Some(constant),
            // The type of a wrapped event.
            (None, Some(inner)) if name == "event" => self.can_be(schema, inner),
            _ => true,
        })
    }

    /// Returns the schema of a definition with everything that it refers to.
    fn schema(&self, name: &str) -> Option<Arc<Schema>> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = compiled.get(name) {
            return schema.clone();
        }
        let mut needed = BTreeSet::new();
        self.collect(name, &mut needed);
        let definitions: Map<String, Value> = needed
            .iter()
            .filter_map(|name| Some((name.clone(), self.definitions.get(name)?.clone())))
            .collect();
        let source = json!({ "$ref": format!("#/$defs/{name}"), "$defs": definitions });
        let schema = Schema::compile(&source).ok().map(Arc::new);
        compiled.insert(name.to_owned(), schema.clone());
        schema
    }

    fn collect(&self, name: &str, needed: &mut BTreeSet<String>) {
        if needed.insert(name.to_owned())
            && let Some(definition) = self.definitions.get(name)
        {
            self.collect_in(definition, needed);
        }
    }

    fn collect_in(&self, value: &Value, needed: &mut BTreeSet<String>) {
        if let Some(name) = reference(value) {
            self.collect(name, needed);
        }
        match value {
            Value::Object(members) => members.values().for_each(|value| self.collect_in(value, needed)),
            Value::Array(items) => items.iter().for_each(|value| self.collect_in(value, needed)),
            _ => {}
        }
    }

    /// Returns every line that a client can send, for the command box.
    pub fn commands(&self) -> Vec<CommandHelp> {
        self.sent.iter().filter_map(|name| self.command(self.resolve(&self.definitions[name]))).collect()
    }

    fn command(&self, schema: &Value) -> Option<CommandHelp> {
        let mut properties = schema["properties"].as_object()?;
        let tag = if properties.contains_key("method") { "method" } else { "type" };
        let name = properties[tag]["const"].as_str()?.to_owned();
        let mut template = Map::new();
        let constants = properties.iter().filter_map(|(name, schema)| Some((name, schema.get("const")?)));
        template.extend(constants.map(|(name, constant)| (name.clone(), constant.clone())));
        let mut required = required_of(schema);
        let params = self.resolve(properties.get("params").unwrap_or(&Value::Null));
        let is_wrapped = tag == "method" && params["properties"].is_object();
        if is_wrapped {
            properties = params["properties"].as_object()?;
            required = required_of(params);
        }
        let fields: Vec<_> = properties
            .iter()
            .filter(|(name, schema)| *name != "id" && schema.get("const").is_none())
            .map(|(name, schema)| self.field(name, schema, required.contains(name)))
            .collect();
        let needed = fields.iter().filter(|field| field.is_required);
        let values: Map<_, _> = needed.map(|field| (field.name.clone(), field.blank.clone())).collect();
        if is_wrapped {
            template.insert("params".to_owned(), values.into());
        } else {
            template.extend(values);
        }
        let about = schema["description"].as_str().unwrap_or_default().to_owned();
        Some(CommandHelp { name, about, template: template.into(), fields })
    }

    fn field(&self, name: &str, schema: &Value, is_required: bool) -> Field {
        let about = schema["description"].as_str().unwrap_or_default().to_owned();
        let schema = self.resolve(schema);
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
            kind => kind.as_str().unwrap_or_default().to_owned(),
        };
        let constants =
            |forms: &Vec<Value>| forms.iter().filter_map(|form| form.get("const").cloned()).collect();
        let values: Vec<Value> = match (&schema["enum"], &schema["oneOf"]) {
            (Value::Array(values), _) => values.clone(),
            (_, Value::Array(forms)) => constants(forms),
            _ if kinds.starts_with("boolean") => vec![true.into(), false.into()],
            _ => Vec::new(),
        };
        let blank = values.first().cloned().unwrap_or_else(|| self.blank(schema, DEEPEST_BLANK));
        Field { name: name.to_owned(), about, kinds, values, blank, is_required }
    }
}

impl Protocol {
    /// Returns a value with everything that it needs, to be filled in.
    fn blank(&self, schema: &Value, depth: usize) -> Value {
        let schema = self.resolve(schema);
        if let Some(constant) = schema.get("const").or_else(|| schema["enum"].get(0)) {
            return constant.clone();
        }
        let forms = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        if let Some(form) = forms.and_then(|forms| forms.first()).filter(|_| depth > 0) {
            return self.blank(form, depth - 1);
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default();
        match kind {
            "integer" | "number" => json!(0),
            "boolean" => json!(false),
            "array" => json!([]),
            "object" if depth > 0 => {
                let member = |name: String| {
                    let blank = self.blank(&schema["properties"][&name], depth - 1);
                    (name, blank)
                };
                required_of(schema).into_iter().map(member).collect::<Map<_, _>>().into()
            }
            "object" => json!({}),
            _ => json!(""),
        }
    }
}

fn required_of(schema: &Value) -> Vec<String> {
    // Some ask for one of several fields.
    let either = &schema["anyOf"][0]["required"];
    let names = [&schema["required"], either].into_iter().filter_map(Value::as_array).flatten();
    names.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

impl std::convert::From<OutputProblem> for Problem {
    fn from(problem: OutputProblem) -> Self {
        Self { path: problem.path, reason: problem.reason }
    }
}

/// A line that a client can send.
#[derive(Debug, Serialize)]
pub(crate) struct CommandHelp {
    name: String,
    about: String,
    /// The line with everything that it needs.
    template: Value,
    fields: Vec<Field>,
}

/// A field of a command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    name: String,
    about: String,
    kinds: String,
    /// The values that it can have, if they are few.
    values: Vec<Value>,
    #[serde(skip)]
    blank: Value,
    is_required: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(from: From, line: &str) -> Row {
        Row {
            at: 0.0,
            from,
            line: line.to_owned(),
            cut: None,
            unfinished: false,
            not_utf8: false,
            event: None,
        }
    }

    #[track_caller]
    fn check(dialect: &str, from: From, line: &str, expected: &str) {
        let problems = Protocols::new(Some(dialect)).check(&row(from, line));
        let problems: Vec<_> =
            problems.iter().map(|problem| format!("{} {}", problem.path, problem.reason)).collect();
        assert_eq!(problems.join("; "), expected, "{line}");
    }

    #[test]
    fn lines_are_checked_by_the_definition_that_they_name() {
        check("pi", From::Agent, r#"{"type":"agent_settled","aborted":false}"#, "");
        check("pi", From::Agent, r#"{"type":"agent_settled"}"#, "/aborted is missing");
        check("pi", From::Client, r#"{"type":"prompt","message":7}"#, "/message must be a string, but is 7");
        check("pi", From::Client, r#"{"type":"steer","message":"x","id":1}"#, "");
        check(
            "pi",
            From::Client,
            r#"{"type":"nonsense"}"#,
            r#"/type "nonsense" is not a command or an answer of the dialect pi"#,
        );
        check("pi", From::Client, r#"{"message":"x"}"#, "/type is missing");
        check(
            "pi",
            From::Agent,
            r#"{"type":"response","command":"abort","success":false,"error":"no","code":"busy"}"#,
            "",
        );
        check("pi", From::Agent, "not JSON", " is not JSON: expected ident at line 1 column 2");
        check("opi", From::Agent, r#"{"type":"AgentStart"}"#, "");
        check("operator", From::Agent, r#"{"type":"event","event":{"type":"agent_start"}}"#, "");
        check(
            "acp",
            From::Client,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
            "",
        );
    }

    #[test]
    fn dialect_is_found_by_the_records() {
        for (line, dialect) in [
            (r#"{"type":"agent_start"}"#, "pi"),
            (r#"{"type":"rpc_ready","version":"1","schema_version":2,"mode":"rpc"}"#, "opi"),
            (r#"{"type":"ready","protocolVersion":1,"supportedProtocolVersions":[1]}"#, "omp"),
            (r#"{"type":"event","event":{"type":"agent_start"}}"#, "operator"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "acp"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let (store, protocols) = (Store::new(folder.path()).unwrap(), Protocols::new(None));
            store.append(0, &[row(From::Client, r#"{"type":"prompt"}"#).to_line()]);
            protocols.look(&store).unwrap();
            assert!(protocols.chosen().is_none());
            store.append(0, &[row(From::Agent, line).to_line()]);
            protocols.look(&store).unwrap();
            assert_eq!(protocols.chosen().map(|protocol| protocol.name), Some(dialect), "{line}");
        }
    }

    #[test]
    fn every_definition_of_every_dialect_can_be_checked() {
        for entry in bowline_dialect::DIALECTS {
            let protocol = Protocol::of(entry.name).unwrap();
            assert!(!protocol.sent.is_empty() && !protocol.received.is_empty());
            for name in protocol.sent.iter().chain(&protocol.received) {
                assert!(protocol.schema(name).is_some(), "{}: {name}", entry.name);
            }
        }
    }

    #[test]
    fn templates_of_commands_satisfy_the_schema() {
        for entry in bowline_dialect::DIALECTS {
            let protocol = Protocol::of(entry.name).unwrap();
            let commands = protocol.commands();
            assert!(commands.len() >= 3, "{}", entry.name);
            for command in commands {
                let mut line = command.template.clone();
                line["id"] = "1".into();
                let problems = protocol.check(From::Client, &line);
                // Only the form of a value may be missing, never a field.
                assert!(
                    !problems.iter().any(|problem| problem.reason == "is missing"),
                    "{} {line}: {problems:?}",
                    entry.name
                );
            }
        }
    }
}
