//! Turns a schema into rules. A keyword that cannot be checked is an error, so that nobody relies on it in vain.
//!
//! Schemas within the schema are compiled one after the other, not within each other, and each only once: references may
//! be circular.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use crate::decimal::Decimal;
use crate::formats;
use crate::pattern::Pattern;
use crate::schema::{
    Allowed, Bound, Counted, Items, LARGEST_SCHEMA, Members, Node, NodeId, Rule, SchemaError, Size,
};
use crate::wording::{noun, shorten};

/// The most schemas within a schema, and how deep they are nested.
const MOST_NODES: usize = 5000;
const DEEPEST: usize = 64;

/// The most regular expressions, and the most bytes of the automata that they become.
const MOST_PATTERNS: usize = 200;
const LARGEST_PATTERNS: usize = 4 * 1024 * 1024;

/// How many schemas may follow one another for the same value.
const LONGEST_CHAIN: usize = 64;

/// Keywords that describe and ask nothing of a value.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "examples",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
    // Read where something refers to them.
    "$defs",
    "definitions",
    // Read with another keyword.
    "then",
    "else",
    "minContains",
    "maxContains",
    "patternProperties",
    "additionalProperties",
    "prefixItems",
];

/// What to use instead of keywords that other versions of JSON Schema have.
const REPLACEMENTS: &[(&str, &str)] = &[
    ("additionalItems", "use \"items\" beside \"prefixItems\""),
    ("dependencies", "use \"dependentRequired\""),
    ("nullable", "add \"null\" to \"type\""),
    ("id", "use references of the form #/$defs/name"),
    ("$anchor", "use references of the form #/$defs/name"),
    ("unevaluatedProperties", "use \"additionalProperties\""),
    ("unevaluatedItems", "use \"items\""),
];

/// The versions of JSON Schema whose keywords mean the same.
const VERSIONS: &[&str] = &["draft-06/", "draft-07/", "draft/2019-09/", "draft/2020-12/"];

type Keywords = Map<String, Value>;

/// Returns the rules of a schema. The first node is the schema itself.
pub(crate) fn compile(source: &Value) -> Result<Vec<Node>, SchemaError> {
    let error = |reason: String| SchemaError { path: String::new(), reason };
    if source.to_string().len() > LARGEST_SCHEMA {
        return Err(error(format!("the schema is larger than {LARGEST_SCHEMA} bytes")));
    }
    if depth(source) > 2 * DEEPEST {
        return Err(error(format!("the schema is nested more than {DEEPEST} levels deep")));
    }
    let mut compiler = Compiler {
        root: source,
        ids: HashMap::new(),
        waiting: VecDeque::new(),
        nodes: Vec::new(),
        paths: Vec::new(),
        patterns: 0,
        pattern_size: 0,
    };
    compiler.node(String::new(), source)?;
    while let Some((id, schema)) = compiler.waiting.pop_front() {
        let path = compiler.paths[id].clone();
        compiler.nodes[id] = compiler.rules(&path, schema)?;
    }
    compiler.check_chains()?;
    Ok(compiler.nodes)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

struct Compiler<'source> {
    root: &'source Value,
    /// The nodes by their JSON Pointers.
    ids: HashMap<String, NodeId>,
    /// The nodes that have no rules yet.
    waiting: VecDeque<(NodeId, &'source Value)>,
    nodes: Vec<Node>,
    paths: Vec<String>,
    patterns: usize,
    /// The bytes of the automata of those.
    pattern_size: usize,
}

impl<'source> Compiler<'source> {
    /// Returns the node of the schema at a place, which gets its rules later.
    fn node(&mut self, path: String, schema: &'source Value) -> Result<NodeId, SchemaError> {
        if let Some(id) = self.ids.get(&path) {
            return Ok(*id);
        }
        let id = self.nodes.len();
        if id >= MOST_NODES {
            return Err(SchemaError { path, reason: format!("there are more than {MOST_NODES} schemas") });
        }
        self.nodes.push(Node::new());
        self.paths.push(path.clone());
        self.ids.insert(path, id);
        self.waiting.push_back((id, schema));
        Ok(id)
    }

    fn rules(&mut self, path: &str, schema: &'source Value) -> Result<Node, SchemaError> {
        let keywords = match schema {
            Value::Bool(true) => return Ok(Node::new()),
            Value::Bool(false) => return Ok(vec![Rule::Never]),
            Value::Object(keywords) => keywords,
            other => {
                let other = shorten(&other.to_string(), 40);
                return Err(at(
                    path,
                    &format!("a schema must be an object or a boolean, but this is {other}"),
                ));
            }
        };
        let mut rules = Node::new();
        for (name, value) in keywords {
            let place = pointer(path, name);
            rules.extend(self.keyword(name, value, path, &place, keywords)?);
        }
        if ["properties", "patternProperties", "additionalProperties"]
            .iter()
            .any(|name| keywords.contains_key(*name))
        {
            rules.push(Rule::Members(self.members(path, keywords)?));
        }
        if keywords.contains_key("items") || keywords.contains_key("prefixItems") {
            rules.push(Rule::Items(self.items(path, keywords)?));
        }
        Ok(rules)
    }

    /// Returns the rule of a keyword, if it has one of its own.
    fn keyword(
        &mut self,
        name: &str,
        value: &'source Value,
        path: &str,
        place: &str,
        keywords: &'source Keywords,
    ) -> Result<Option<Rule>, SchemaError> {
        if let Some(limit) = limit(name, value, place) {
            return limit.map(Some);
        }
        Ok(Some(match name {
            "type" => Rule::Types(types(value, place)?),
            "const" => Rule::OneOfValues(Allowed::new(vec![value.clone()])),
            "enum" => match value.as_array() {
                Some(values) if !values.is_empty() => Rule::OneOfValues(Allowed::new(values.clone())),
                _ => return Err(at(place, "it must be a list of values that is not empty")),
            },
            "multipleOf" => match value {
                Value::Number(number) if Decimal::of(number).is_positive() => {
                    Rule::MultipleOf(number.clone())
                }
                _ => return Err(at(place, "it must be a number above 0")),
            },
            "pattern" => Rule::Matches(Box::new(self.pattern(text(value, place)?, place)?)),
            "format" => {
                let name = text(value, place)?;
                let known = || formats::FORMATS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                let unknown =
                    || at(place, &format!("the format \"{name}\" cannot be checked; these can: {}", known()));
                Rule::Has(formats::find(name).ok_or_else(unknown)?)
            }
            "required" => Rule::Required(texts(value, place)?),
            "properties" if !value.is_object() => return Err(at(place, "it must be an object with schemas")),
            "properties" | "items" => return Ok(None),
            "propertyNames" => Rule::Names(self.node(place.to_owned(), value)?),
            "dependentRequired" => Rule::Dependent(dependent(value, place)?),
            "contains" => Rule::Contains {
                node: self.node(place.to_owned(), value)?,
                least: optional_count(keywords, "minContains", path)?.unwrap_or(1),
                most: optional_count(keywords, "maxContains", path)?,
            },
            "uniqueItems" => match value {
                Value::Bool(true) => Rule::Unique,
                Value::Bool(false) => return Ok(None),
                _ => return Err(at(place, "it must be true or false")),
            },
            "allOf" => Rule::All(self.list(value, place)?),
            "anyOf" => Rule::Any(self.list(value, place)?),
            "oneOf" => Rule::One(self.list(value, place)?),
            "not" => Rule::Not(self.node(place.to_owned(), value)?),
            "if" => {
                let condition = self.node(place.to_owned(), value)?;
                let mut part = |name: &str| {
                    keywords.get(name).map(|schema| self.node(pointer(path, name), schema)).transpose()
                };
                Rule::If { condition, then: part("then")?, otherwise: part("else")? }
            }
            "$ref" => Rule::Reference(self.target(text(value, place)?, place)?),
            "$schema" => {
                check_version(text(value, place)?, place)?;
                return Ok(None);
            }
            "$id" if path.is_empty() => return Ok(None),
            name if ANNOTATIONS.contains(&name) || name.starts_with("x-") => return Ok(None),
            name => return Err(unsupported(name, path)),
        }))
    }

    /// Returns the node that a reference stands for.
    fn target(&mut self, reference: &str, place: &str) -> Result<NodeId, SchemaError> {
        let Some(path) = reference.strip_prefix('#').filter(|path| path.is_empty() || path.starts_with('/'))
        else {
            let reference = shorten(reference, 200);
            let reason = format!("\"{reference}\" is not within the schema; use the form #/$defs/name");
            return Err(at(place, &reason));
        };
        let nothing = || at(place, &format!("there is nothing at \"{}\"", shorten(reference, 200)));
        let path = percent_decoded(path).ok_or_else(nothing)?;
        let schema = self.root.pointer(&path).ok_or_else(nothing)?;
        self.node(path, schema)
    }

    fn pattern(&mut self, source: &str, place: &str) -> Result<Pattern, SchemaError> {
        self.patterns += 1;
        if self.patterns > MOST_PATTERNS {
            return Err(at(place, &format!("there are more than {MOST_PATTERNS} patterns")));
        }
        let pattern = Pattern::new(source, self.patterns - 1).map_err(|reason| at(place, &reason))?;
        self.pattern_size += pattern.size();
        if self.pattern_size > LARGEST_PATTERNS {
            return Err(at(place, "this and the patterns before it are too large together"));
        }
        Ok(pattern)
    }

    fn list(&mut self, value: &'source Value, place: &str) -> Result<Vec<NodeId>, SchemaError> {
        let schemas = value.as_array().filter(|schemas| !schemas.is_empty());
        let schemas = schemas.ok_or_else(|| at(place, "it must be a list of schemas that is not empty"))?;
        let node = |(index, schema)| self.node(format!("{place}/{index}"), schema);
        schemas.iter().enumerate().map(node).collect()
    }

    fn members(&mut self, path: &str, keywords: &'source Keywords) -> Result<Members, SchemaError> {
        let mut members = Members::default();
        if let Some(named) = keywords.get("properties").and_then(Value::as_object) {
            let place = pointer(path, "properties");
            for (name, schema) in named {
                let id = self.node(pointer(&place, name), schema)?;
                members.named.insert(name.clone(), id);
            }
        }
        if let Some(matching) = keywords.get("patternProperties") {
            let place = pointer(path, "patternProperties");
            let wrong = || at(&place, "it must be an object with schemas");
            for (source, schema) in matching.as_object().ok_or_else(wrong)? {
                let place = pointer(&place, source);
                let pattern = self.pattern(source, &place)?;
                members.matching.push((pattern, self.node(place, schema)?));
            }
        }
        if let Some(others) = keywords.get("additionalProperties") {
            members.others = Some(self.node(pointer(path, "additionalProperties"), others)?);
        }
        Ok(members)
    }

    fn items(&mut self, path: &str, keywords: &'source Keywords) -> Result<Items, SchemaError> {
        let mut items = Items::default();
        if let Some(first) = keywords.get("prefixItems") {
            items.first = self.list(first, &pointer(path, "prefixItems"))?;
        }
        if let Some(others) = keywords.get("items") {
            let place = pointer(path, "items");
            if others.is_array() {
                return Err(at(&place, "a list is not supported; use \"prefixItems\""));
            }
            items.others = Some(self.node(place, others)?);
        }
        Ok(items)
    }

    /// Refuses schemas that follow one another for the same value without an end, or for too long.
    fn check_chains(&self) -> Result<(), SchemaError> {
        let next: Vec<Vec<NodeId>> =
            self.nodes.iter().map(|rules| rules.iter().flat_map(same_value).collect()).collect();
        let mut before = vec![0_usize; next.len()];
        for id in next.iter().flatten() {
            before[*id] += 1;
        }
        let mut ready: Vec<NodeId> = (0..next.len()).filter(|id| before[*id] == 0).collect();
        let mut lengths = vec![0_usize; next.len()];
        while let Some(id) = ready.pop() {
            if lengths[id] > LONGEST_CHAIN {
                let reason =
                    format!("more than {LONGEST_CHAIN} schemas follow one another for the same value");
                return Err(at(&self.paths[id], &reason));
            }
            for following in &next[id] {
                lengths[*following] = lengths[*following].max(lengths[id] + 1);
                before[*following] -= 1;
                if before[*following] == 0 {
                    ready.push(*following);
                }
            }
        }
        match before.iter().position(|count| *count > 0) {
            Some(id) => Err(at(&self.paths[id], "the schema refers to itself without an end")),
            None => Ok(()),
        }
    }
}

/// Keywords that limit a number: whether from above, and whether the limit itself is excluded.
const BOUNDS: &[(&str, bool, bool)] = &[
    ("minimum", false, false),
    ("maximum", true, false),
    ("exclusiveMinimum", false, true),
    ("exclusiveMaximum", true, true),
];

/// Keywords that limit how many there are of something: of what, and whether from above.
const SIZES: &[(&str, Counted, bool)] = &[
    ("minLength", Counted::Characters, false),
    ("maxLength", Counted::Characters, true),
    ("minItems", Counted::Items, false),
    ("maxItems", Counted::Items, true),
    ("minProperties", Counted::Members, false),
    ("maxProperties", Counted::Members, true),
];

/// Returns the rule of a keyword that is a limit.
fn limit(name: &str, value: &Value, place: &str) -> Option<Result<Rule, SchemaError>> {
    if let Some(&(_, is_upper, is_exclusive)) = BOUNDS.iter().find(|(known, ..)| *known == name) {
        return Some(match value {
            Value::Number(limit) => Ok(Rule::Bound(Bound { limit: limit.clone(), is_upper, is_exclusive })),
            _ => Err(at(place, "it must be a number")),
        });
    }
    let &(_, counted, is_upper) = SIZES.iter().find(|(known, ..)| *known == name)?;
    Some(count(value, place).map(|limit| Rule::Size(Size { counted, limit, is_upper })))
}

/// Returns the schemas that a rule applies to the same value.
fn same_value(rule: &Rule) -> Vec<NodeId> {
    match rule {
        Rule::All(nodes) | Rule::Any(nodes) | Rule::One(nodes) => nodes.clone(),
        Rule::Not(node) | Rule::Reference(node) => vec![*node],
        Rule::If { condition, then, otherwise } => {
            std::iter::once(*condition).chain(*then).chain(*otherwise).collect()
        }
        _ => Vec::new(),
    }
}

fn at(path: &str, reason: &str) -> SchemaError {
    SchemaError { path: path.to_owned(), reason: reason.to_owned() }
}

fn unsupported(name: &str, path: &str) -> SchemaError {
    let replacement = REPLACEMENTS.iter().find(|(known, _)| *known == name);
    let advice = replacement.map_or("remove it", |(_, advice)| advice);
    at(path, &format!("the keyword \"{}\" is not supported; {advice}", shorten(name, 60)))
}

/// Returns the JSON Pointer of a member.
pub(crate) fn pointer(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns the text that the fragment of an address stands for.
fn percent_decoded(fragment: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(fragment.len());
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        decoded.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(decoded).ok()
}

fn text<'value>(value: &'value Value, place: &str) -> Result<&'value str, SchemaError> {
    value.as_str().ok_or_else(|| at(place, "it must be a string"))
}

fn texts(value: &Value, place: &str) -> Result<Vec<String>, SchemaError> {
    let list: Option<Vec<_>> = value
        .as_array()
        .and_then(|texts| texts.iter().map(|text| text.as_str().map(ToOwned::to_owned)).collect());
    list.ok_or_else(|| at(place, "it must be a list of strings"))
}

fn types(value: &Value, place: &str) -> Result<Vec<String>, SchemaError> {
    let types = match value {
        Value::String(kind) => vec![kind.clone()],
        other => texts(other, place)?,
    };
    match types.iter().find(|kind| noun(kind).is_none()) {
        Some(unknown) => Err(at(place, &format!("there is no type \"{}\"", shorten(unknown, 60)))),
        None if types.is_empty() => Err(at(place, "it must not be empty")),
        None => Ok(types),
    }
}

fn count(value: &Value, place: &str) -> Result<u64, SchemaError> {
    // `2.0` is a whole number too.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and in range")]
    let whole =
        |number: f64| (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64);
    let number = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    number.ok_or_else(|| at(place, "it must be a whole number of at least 0"))
}

fn optional_count(keywords: &Keywords, name: &str, path: &str) -> Result<Option<u64>, SchemaError> {
    keywords.get(name).map(|value| count(value, &pointer(path, name))).transpose()
}

fn dependent(value: &Value, place: &str) -> Result<Vec<(String, Vec<String>)>, SchemaError> {
    let members = value.as_object().ok_or_else(|| at(place, "it must be an object with lists of names"))?;
    members.iter().map(|(name, names)| Ok((name.clone(), texts(names, &pointer(place, name))?))).collect()
}

fn check_version(version: &str, place: &str) -> Result<(), SchemaError> {
    if VERSIONS.iter().any(|known| version.contains(known)) {
        return Ok(());
    }
    let reason = format!(
        "this version of JSON Schema is not supported: {}; write the schema for draft 2020-12",
        shorten(version, 60)
    );
    Err(at(place, &reason))
}
