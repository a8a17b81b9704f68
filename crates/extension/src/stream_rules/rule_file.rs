//! Reading a rule from its file.

use std::sync::Arc;

use bowline_core::stream_rule::{RuleInterrupt, StreamRule};

use super::files::RuleFile;
use super::pattern;
use super::scope::{Glob, Scope, split_list};
use crate::front_matter::{self, Fields, Value};

/// The most expressions, globs and scopes of a rule.
const MAX_ITEMS: usize = 32;

/// The names of the field with the expressions: the current one, and those that older rules have.
const CONDITION_NAMES: [&str; 3] = ["condition", "ttsr_trigger", "ttsrTrigger"];

/// A rule that can be watched for.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub rule: Arc<StreamRule>,
    /// The expressions that can be searched for.
    pub usable: Vec<String>,
    /// What their automatons take, in bytes.
    pub size: usize,
    pub scopes: Vec<Scope>,
    pub globs: Vec<Glob>,
}

/// Reads a rule. Returns `None` for a file that is no stream rule, is switched off or is for another agent.
pub(super) fn read(
    file: RuleFile,
    agent: &str,
    warnings: &mut Vec<String>,
) -> Result<Option<CompiledRule>, String> {
    let document = front_matter::parse(&file.text).map_err(|error| error.to_string())?;
    let fields = &document.fields;
    let conditions = CONDITION_NAMES.iter().find_map(|name| items(fields, name)).unwrap_or_default();
    let has_syntax_condition = fields.get("astCondition").is_some();
    if (conditions.is_empty() && !has_syntax_condition) || fields.flag("enabled") == Some(false) {
        return Ok(None);
    }
    let agents = split(fields, "agents");
    let is_meant = |pattern: &String| Glob::parse(pattern).is_ok_and(|glob| glob.has_name(agent));
    if !agents.is_empty() && !agents.iter().any(is_meant) {
        return Ok(None);
    }
    let path = file.path.display().to_string();
    let mut warn = |text: String| warnings.push(format!("{path}: {text}"));
    if has_syntax_condition {
        warn("astCondition is not supported and ignored; condition is a regular expression".to_owned());
    }
    let (mut usable, mut size) = (Vec::new(), 0);
    for condition in conditions.iter().take(MAX_ITEMS) {
        match pattern::check(condition) {
            Ok(bytes) => {
                size += bytes;
                usable.push(condition.clone());
            }
            Err(reason) => warn(format!("the condition {} is ignored: {reason}", quoted(condition))),
        }
    }
    if conditions.len() > MAX_ITEMS {
        warn(format!("only the first {MAX_ITEMS} conditions count"));
    }
    if usable.is_empty() {
        return Err("it has no condition that can be searched for".to_owned());
    }
    let scope = split(fields, "scope");
    let mut scopes = Vec::new();
    for token in scope.iter().take(MAX_ITEMS) {
        match Scope::parse(token) {
            Ok(parsed) => scopes.push(parsed),
            Err(reason) => warn(format!("the scope {} is ignored: {reason}", quoted(token))),
        }
    }
    if scope.is_empty() {
        scopes = Scope::default_scope();
    } else if scopes.is_empty() {
        return Err("its scope names nothing that can be watched".to_owned());
    }
    let patterns = split(fields, "globs");
    let mut globs = Vec::new();
    for pattern in patterns.iter().take(MAX_ITEMS) {
        globs.push(Glob::parse(pattern).map_err(|reason| format!("the glob {}: {reason}", quoted(pattern)))?);
    }
    let interrupt = fields.text("interruptMode").and_then(|mode| {
        let known = RuleInterrupt::parse(mode);
        if known.is_none() {
            warn(format!(
                "interruptMode {} is ignored: it is always, prose-only, tool-only or never",
                quoted(mode)
            ));
        }
        known
    });
    let rule = StreamRule {
        name: file.name,
        content: document.body.trim().to_owned(),
        description: fields.text("description").filter(|text| !text.is_empty()).map(ToOwned::to_owned),
        conditions,
        scope,
        globs: patterns,
        agents,
        interrupt,
        origin: file.origin,
        path: file.path,
    };
    Ok(Some(CompiledRule { rule: Arc::new(rule), usable, size, scopes, globs }))
}

/// Returns the items of a field that is present and not empty.
fn items(fields: &Fields, name: &str) -> Option<Vec<String>> {
    let items = fields.items(name);
    (!items.is_empty()).then(|| items.iter().filter(|item| !item.is_empty()).cloned().collect())
}

/// Returns the items of a field that may also be one text with commas.
fn split(fields: &Fields, name: &str) -> Vec<String> {
    match fields.get(name) {
        Some(Value::Text(text)) => split_list(text).into_iter().map(ToOwned::to_owned).collect(),
        Some(Value::List(items)) => items.iter().filter(|item| !item.is_empty()).cloned().collect(),
        Some(Value::Nested) | None => Vec::new(),
    }
}

fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(80).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("`{}{rest}`", shown.escape_debug())
}
