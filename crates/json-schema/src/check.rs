//! Checks a value against the rules of a schema.

use std::collections::HashSet;

use bowline_core::output::OutputProblem as Problem;
use serde_json::Value;

use crate::compile::pointer;
use crate::equality::{are_equal, key};
use crate::schema::{Bound, Counted, Items, Members, NodeId, Rule, Schema, Size};
use crate::wording::{noun, shorten, shown};

/// The most problems that are reported.
const MOST_PROBLEMS: usize = 20;

/// What a check may cost: looking at a value with a schema is one unit.
const MOST_WORK: usize = 1_000_000;

/// How deep schemas may be followed into a value.
const DEEPEST: usize = 400;

/// How much of a name and of a pattern is shown.
const SHOWN_NAME: usize = 100;
const SHOWN_PATTERN: usize = 200;

impl Schema {
    /// Checks a value. What is wrong with it is listed, up to a limit.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Problem>> {
        let mut check = Check { schema: self, work: 0, depth: 0, is_given_up: false };
        let mut problems = Vec::new();
        check.node(0, value, "", &mut problems);
        if check.is_given_up {
            let reason =
                "is too large or too deep to be checked against the schema; make it smaller".to_owned();
            problems = vec![Problem { path: String::new(), reason }];
        }
        problems.truncate(MOST_PROBLEMS);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

struct Check<'schema> {
    schema: &'schema Schema,
    work: usize,
    depth: usize,
    /// Whether the check took too much. Nothing that it has found counts then.
    is_given_up: bool,
}

impl Check<'_> {
    fn node(&mut self, id: NodeId, value: &Value, path: &str, problems: &mut Vec<Problem>) {
        self.spend(1);
        if self.depth >= DEEPEST {
            self.is_given_up = true;
        }
        self.depth += 1;
        let schema = self.schema;
        for rule in &schema.nodes[id] {
            if self.is_given_up || problems.len() >= MOST_PROBLEMS {
                break;
            }
            self.rule(rule, value, path, problems);
        }
        self.depth -= 1;
    }

    fn spend(&mut self, work: usize) {
        self.work = self.work.saturating_add(work);
        self.is_given_up |= self.work > MOST_WORK;
    }

    fn fits(&mut self, id: NodeId, value: &Value, path: &str) -> bool {
        self.problems_of(id, value, path).is_empty()
    }

    fn problems_of(&mut self, id: NodeId, value: &Value, path: &str) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.node(id, value, path, &mut problems);
        problems
    }

    fn rule(&mut self, rule: &Rule, value: &Value, path: &str, problems: &mut Vec<Problem>) {
        match (rule, value) {
            (Rule::All(nodes), value) => {
                nodes.iter().for_each(|node| self.node(*node, value, path, problems));
            }
            (Rule::Any(nodes), value) => self.any(nodes, value, path, problems),
            (Rule::If { condition, then, otherwise }, value) => {
                let branch = if self.fits(*condition, value, path) { then } else { otherwise };
                branch.iter().for_each(|node| self.node(*node, value, path, problems));
            }
            (Rule::Reference(node), value) => self.node(*node, value, path, problems),
            (Rule::Members(schemas), Value::Object(members)) => {
                for (name, value) in members {
                    if self.is_given_up || problems.len() >= MOST_PROBLEMS {
                        return;
                    }
                    self.member(schemas, name, value, &member(path, name), problems);
                }
            }
            (Rule::Names(node), Value::Object(members)) => self.names(*node, members, path, problems),
            (Rule::Items(schemas), Value::Array(items)) => self.items(schemas, items, path, problems),
            (Rule::Required(names), Value::Object(members)) => {
                for name in names.iter().filter(|name| !members.contains_key(*name)) {
                    problems.push(Problem { path: member(path, name), reason: "is missing".to_owned() });
                }
            }
            (Rule::Dependent(rules), Value::Object(members)) => {
                for (name, needed) in rules.iter().filter(|(name, _)| members.contains_key(name)) {
                    for absent in needed.iter().filter(|needed| !members.contains_key(*needed)) {
                        let name = shorten(name, SHOWN_NAME);
                        let reason = format!("is missing: it must be there if \"{name}\" is");
                        problems.push(Problem { path: member(path, absent), reason });
                    }
                }
            }
            (Rule::One(nodes), value) if !nodes.iter().any(|node| self.fits(*node, value, path)) => {
                self.any(nodes, value, path, problems);
            }
            (rule, value) => {
                if let Some(reason) = self.reason(rule, value, path) {
                    problems.push(Problem { path: path.to_owned(), reason });
                }
            }
        }
    }

    /// Returns why a value as a whole breaks a rule, if it does.
    fn reason(&mut self, rule: &Rule, value: &Value, path: &str) -> Option<String> {
        match (rule, value) {
            (Rule::Never, _) => Some("is not allowed".to_owned()),
            (Rule::Types(types), value) => {
                let nouns: Vec<_> = types.iter().filter_map(|kind| noun(kind)).collect();
                let is_one = types.iter().any(|kind| has_type(value, kind));
                (!is_one).then(|| format!("must be {}, but is {}", nouns.join(" or "), shown(value)))
            }
            (Rule::OneOfValues(values), value) => {
                self.spend(values.len());
                let is_one = values.iter().any(|allowed| are_equal(allowed, value));
                (!is_one).then(|| format!("must be {}, but is {}", alternatives(values), shown(value)))
            }
            (Rule::Bound(bound), Value::Number(number)) => bound_problem(bound, number),
            (Rule::MultipleOf(step), Value::Number(number)) => {
                (!is_multiple(number, step)).then(|| format!("must be a multiple of {step}, but is {number}"))
            }
            (Rule::Size(size), value) => size_problem(size, value),
            (Rule::Matches(pattern), Value::String(text)) => {
                self.spend(pattern.cost(text));
                let source = || shorten(pattern.source(), SHOWN_PATTERN);
                (!self.is_given_up && !pattern.is_match(text))
                    .then(|| format!("must match the pattern {}, but is {}", source(), shown(value)))
            }
            (Rule::Has((name, has)), Value::String(text)) => {
                (!has(text)).then(|| format!("must have the format {name}, but is {}", shown(value)))
            }
            (Rule::Contains { node, least, most }, Value::Array(items)) => {
                let count = items.iter().filter(|item| self.fits(*node, item, path)).count() as u64;
                let (word, limit) = match most.filter(|most| count > *most) {
                    Some(most) => ("most", most),
                    None if count < *least => ("least", *least),
                    None => return None,
                };
                Some(format!(
                    "must contain at {word} {limit} items of the kind that the schema names, but contains {count}"
                ))
            }
            (Rule::Unique, Value::Array(items)) => {
                self.spend(items.len());
                let mut seen = HashSet::new();
                let place = items.iter().position(|item| !seen.insert(key(item)))?;
                Some(format!("must not contain an item twice, but item {place} is there before"))
            }
            (Rule::One(nodes), value) => {
                let count = nodes.iter().filter(|node| self.fits(**node, value, path)).count();
                let all = nodes.len();
                (count > 1).then(|| format!("must fit exactly one of {all} alternatives, but fits {count}"))
            }
            (Rule::Not(node), value) => self
                .fits(*node, value, path)
                .then(|| format!("is what the schema excludes: {}", shown(value))),
            _ => None,
        }
    }

    fn names(
        &mut self,
        node: NodeId,
        members: &serde_json::Map<String, Value>,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        for name in members.keys() {
            if problems.len() >= MOST_PROBLEMS {
                return;
            }
            let found = self.problems_of(node, &Value::from(name.as_str()), "");
            if let Some(problem) = found.first() {
                let reason = format!("has a name that is not allowed: it {}", problem.reason);
                problems.push(Problem { path: member(path, name), reason });
            }
        }
    }

    fn member(
        &mut self,
        schemas: &Members,
        name: &str,
        value: &Value,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        let mut is_known = false;
        if let Some(node) = schemas.named.get(name) {
            is_known = true;
            self.node(*node, value, path, problems);
        }
        for (pattern, node) in &schemas.matching {
            self.spend(pattern.cost(name));
            if !self.is_given_up && pattern.is_match(name) {
                is_known = true;
                self.node(*node, value, path, problems);
            }
        }
        if let Some(others) = schemas.others.filter(|_| !is_known) {
            if let [Rule::Never] = &self.schema.nodes[others][..] {
                let reason = "is not allowed: the schema knows no such property".to_owned();
                problems.push(Problem { path: path.to_owned(), reason });
            } else {
                self.node(others, value, path, problems);
            }
        }
    }

    fn items(&mut self, schemas: &Items, items: &[Value], path: &str, problems: &mut Vec<Problem>) {
        for (index, item) in items.iter().enumerate() {
            let place = format!("{path}/{index}");
            if let Some(node) = schemas.first.get(index).copied().or(schemas.others) {
                self.node(node, item, &place, problems);
            }
            if self.is_given_up {
                return;
            }
        }
    }

    /// Checks that a value fits at least one of several schemas. Otherwise those problems are reported that are fewest: they
    /// are of the schema that was most likely meant.
    fn any(&mut self, nodes: &[NodeId], value: &Value, path: &str, problems: &mut Vec<Problem>) {
        let mut closest: Option<Vec<Problem>> = None;
        for node in nodes {
            let found = self.problems_of(*node, value, path);
            if found.is_empty() || self.is_given_up {
                return;
            }
            // A problem deep inside means that what is around it fits.
            let rank = |found: &[Problem]| (found.iter().all(|problem| problem.path == path), found.len());
            if closest.as_deref().is_none_or(|closest| rank(&found) < rank(closest)) {
                closest = Some(found);
            }
        }
        let reason = format!("fits none of {} alternatives; for the closest one:", nodes.len());
        problems.push(Problem { path: path.to_owned(), reason });
        problems.extend(closest.unwrap_or_default());
    }
}

/// Returns the path of a member, whose name may be long.
fn member(path: &str, name: &str) -> String {
    pointer(path, &shorten(name, SHOWN_NAME))
}

fn alternatives(values: &[Value]) -> String {
    match values {
        [only] => shown(only),
        several => {
            let shown: Vec<_> = several.iter().take(MOST_PROBLEMS).map(shown).collect();
            let more = if several.len() > MOST_PROBLEMS { ", …" } else { "" };
            format!("one of {}{more}", shown.join(", "))
        }
    }
}

/// Tells whether a value has a type. `1.0` is a whole number.
pub(crate) fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => match value {
            Value::Number(number) => {
                !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            _ => false,
        },
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn bound_problem(bound: &Bound, number: &serde_json::Number) -> Option<String> {
    let &Bound { limit, is_upper, is_exclusive } = bound;
    let value = number.as_f64()?;
    let (is_kept, word) = match (is_upper, is_exclusive) {
        (true, true) => (value < limit, "less than"),
        (true, false) => (value <= limit, "at most"),
        (false, true) => (value > limit, "greater than"),
        (false, false) => (value >= limit, "at least"),
    };
    (!is_kept).then(|| format!("must be {word} {limit}, but is {number}"))
}

fn is_multiple(number: &serde_json::Number, step: &serde_json::Number) -> bool {
    if let (Some(number), Some(step)) = (number.as_i64(), step.as_i64()) {
        return number % step == 0;
    }
    let (Some(number), Some(step)) = (number.as_f64(), step.as_f64()) else { return false };
    let quotient = number / step;
    // Decimal fractions are not exact, so `0.3` is a multiple of `0.1` only nearly.
    quotient.is_finite() && (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}

fn size_problem(size: &Size, value: &Value) -> Option<String> {
    let (count, unit) = match (size.counted, value) {
        (Counted::Characters, Value::String(text)) => (text.chars().count(), "characters"),
        (Counted::Items, Value::Array(items)) => (items.len(), "items"),
        (Counted::Members, Value::Object(members)) => (members.len(), "properties"),
        _ => return None,
    };
    let limit = size.limit;
    let (is_kept, word) =
        if size.is_upper { (count as u64 <= limit, "at most") } else { (count as u64 >= limit, "at least") };
    (!is_kept).then(|| format!("must have {word} {limit} {unit}, but has {count}"))
}
