//! Checks a value against the rules of a schema.

use std::collections::HashSet;

use bowline_core::output::OutputProblem as Problem;
use serde_json::{Map, Number, Value};

use crate::decimal::Decimal;
use crate::equality::key;
use crate::pattern::{Pattern, Searches};
use crate::place::Place;
use crate::schema::{Allowed, Bound, Counted, Items, Members, NodeId, Rule, Schema, Size};
use crate::wording::{noun, shorten, shown};

/// The most problems that are reported.
const MOST_PROBLEMS: usize = 20;

/// What a check may cost: looking at a value with a schema is one unit.
const MOST_WORK: usize = 1_000_000;

/// How many bytes of a text or of a written value are read for a unit.
const BYTES: usize = 64;

/// How deep schemas may be followed into a value.
const DEEPEST: usize = 400;

/// How much of a name and of a pattern is shown.
const SHOWN_NAME: usize = 100;
const SHOWN_PATTERN: usize = 200;

impl Schema {
    /// Checks a value. What is wrong with it is listed, up to a limit.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Problem>> {
        let mut check =
            Check { schema: self, work: 0, depth: 0, is_given_up: false, searches: Searches::default() };
        let mut found = Found::listed();
        check.node(0, value, Place::All, &mut found);
        if check.is_given_up {
            let reason = "is too large or too deep to be checked against the schema; make it smaller";
            return Err(vec![Problem::of_all(reason)]);
        }
        if found.problems.is_empty() { Ok(()) } else { Err(found.problems) }
    }
}

struct Check<'schema> {
    schema: &'schema Schema,
    work: usize,
    depth: usize,
    /// Whether the check took too much. Nothing that it has found counts then.
    is_given_up: bool,
    searches: Searches,
}

/// What is wrong with a value.
struct Found {
    problems: Vec<Problem>,
    /// How many problems are enough.
    most: usize,
    /// Whether it only matters that there is a problem, so that none is put into words.
    is_silent: bool,
}

impl Found {
    fn listed() -> Self {
        Self { problems: Vec::new(), most: MOST_PROBLEMS, is_silent: false }
    }

    fn silent() -> Self {
        Self { problems: Vec::new(), most: 1, is_silent: true }
    }

    fn add(&mut self, place: Place<'_>, reason: impl FnOnce() -> String) {
        if self.is_enough() {
            return;
        }
        let (path, reason) =
            if self.is_silent { (String::new(), String::new()) } else { (place.path(), reason()) };
        self.problems.push(Problem { path, reason });
    }

    fn extend(&mut self, problems: Vec<Problem>) {
        let room = self.most.saturating_sub(self.problems.len());
        self.problems.extend(problems.into_iter().take(room));
    }

    fn is_enough(&self) -> bool {
        self.problems.len() >= self.most
    }

    fn is_nothing(&self) -> bool {
        self.problems.is_empty()
    }
}

impl Check<'_> {
    fn node(&mut self, id: NodeId, value: &Value, place: Place<'_>, found: &mut Found) {
        self.spend(1);
        if self.depth >= DEEPEST {
            self.is_given_up = true;
        }
        self.depth += 1;
        let schema = self.schema;
        for rule in &schema.nodes[id] {
            if self.is_given_up || found.is_enough() {
                break;
            }
            self.rule(rule, value, place, found);
        }
        self.depth -= 1;
    }

    fn spend(&mut self, work: usize) {
        self.work = self.work.saturating_add(work);
        self.is_given_up |= self.work > MOST_WORK;
    }

    fn fits(&mut self, id: NodeId, value: &Value, place: Place<'_>) -> bool {
        let mut found = Found::silent();
        self.node(id, value, place, &mut found);
        found.is_nothing()
    }

    fn rule(&mut self, rule: &Rule, value: &Value, place: Place<'_>, found: &mut Found) {
        match (rule, value) {
            (Rule::All(nodes), value) => {
                nodes.iter().for_each(|node| self.node(*node, value, place, found));
            }
            (Rule::Any(nodes), value) => self.any(nodes, value, place, found),
            (Rule::One(nodes), value) => self.one(nodes, value, place, found),
            (Rule::If { condition, then, otherwise }, value) => {
                let branch = if self.fits(*condition, value, place) { then } else { otherwise };
                branch.iter().for_each(|node| self.node(*node, value, place, found));
            }
            (Rule::Reference(node), value) => self.node(*node, value, place, found),
            (Rule::Members(schemas), Value::Object(members)) => {
                for (name, value) in members {
                    if self.is_given_up || found.is_enough() {
                        return;
                    }
                    self.member(schemas, name, value, Place::Member(&place, name), found);
                }
            }
            (Rule::Names(node), Value::Object(members)) => self.names(*node, members, place, found),
            (Rule::Items(schemas), Value::Array(items)) => self.items(schemas, items, place, found),
            (Rule::Required(names), Value::Object(members)) => {
                self.spend(names.len() / BYTES);
                for name in names.iter().filter(|name| !members.contains_key(*name)) {
                    found.add(Place::Member(&place, name), || "is missing".to_owned());
                }
            }
            (Rule::Dependent(rules), Value::Object(members)) => {
                self.spend(rules.iter().map(|(_, needed)| 1 + needed.len()).sum::<usize>() / BYTES);
                for (name, needed) in rules.iter().filter(|(name, _)| members.contains_key(name)) {
                    for absent in needed.iter().filter(|needed| !members.contains_key(*needed)) {
                        let name = || shorten(name, SHOWN_NAME);
                        found.add(Place::Member(&place, absent), || {
                            format!("is missing: it must be there if \"{}\" is", name())
                        });
                    }
                }
            }
            (rule, value) => self.whole(rule, value, place, found),
        }
    }

    /// Checks a rule about a value as a whole.
    fn whole(&mut self, rule: &Rule, value: &Value, place: Place<'_>, found: &mut Found) {
        match (rule, value) {
            (Rule::Never, _) => found.add(place, || "is not allowed".to_owned()),
            (Rule::Types(types), value) if !types.iter().any(|kind| has_type(value, kind)) => {
                let nouns = || types.iter().filter_map(|kind| noun(kind)).collect::<Vec<_>>().join(" or ");
                found.add(place, || format!("must be {}, but is {}", nouns(), shown(value)));
            }
            (Rule::OneOfValues(allowed), value) => {
                let key = key(value);
                self.spend(key.len() / BYTES);
                if !allowed.keys.contains(&key) {
                    found
                        .add(place, || format!("must be {}, but is {}", alternatives(allowed), shown(value)));
                }
            }
            (Rule::Bound(bound), Value::Number(number)) => check_bound(bound, number, place, found),
            (Rule::MultipleOf(step), Value::Number(number))
                if !Decimal::of(number).is_times(Decimal::of(step)) =>
            {
                found.add(place, || format!("must be a multiple of {step}, but is {number}"));
            }
            (Rule::Size(size), value) => {
                self.spend(value.as_str().map_or(0, str::len) / (16 * BYTES));
                check_size(size, value, place, found);
            }
            (Rule::Matches(pattern), Value::String(text)) if !self.matches(pattern, text) => {
                let source = || shorten(pattern.source(), SHOWN_PATTERN);
                found.add(place, || format!("must match the pattern {}, but is {}", source(), shown(value)));
            }
            (Rule::Has((name, has)), Value::String(text)) => {
                self.spend(text.len() / BYTES);
                if !has(text) {
                    found.add(place, || format!("must have the format {name}, but is {}", shown(value)));
                }
            }
            (Rule::Contains { node, least, most }, Value::Array(items)) => {
                self.contains((*node, *least, *most), items, place, found);
            }
            (Rule::Unique, Value::Array(items)) => {
                let keys: Vec<_> = items.iter().map(key).collect();
                self.spend(keys.iter().map(|key| 1 + key.len() / BYTES).sum());
                let mut seen = HashSet::new();
                if let Some(index) = keys.iter().position(|key| !seen.insert(key)) {
                    found.add(place, || {
                        format!("must not contain an item twice, but item {index} is there before")
                    });
                }
            }
            (Rule::Not(node), value) if self.fits(*node, value, place) => {
                found.add(place, || format!("is what the schema excludes: {}", shown(value)));
            }
            _ => {}
        }
    }

    fn matches(&mut self, pattern: &Pattern, text: &str) -> bool {
        let left = MOST_WORK.saturating_sub(self.work);
        let search = pattern.search(text, &mut self.searches, left);
        self.spend(search.cost);
        search.is_match == Some(true)
    }

    fn contains(
        &mut self,
        (node, least, most): (NodeId, u64, Option<u64>),
        items: &[Value],
        place: Place<'_>,
        found: &mut Found,
    ) {
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            count += u64::from(self.fits(node, item, Place::Item(&place, index)));
            if self.is_given_up {
                return;
            }
        }
        let (word, limit) = match most.filter(|most| count > *most) {
            Some(most) => ("most", most),
            None if count < least => ("least", least),
            None => return,
        };
        found.add(place, || {
            format!(
                "must contain at {word} {limit} items of the kind that the schema names, but contains {count}"
            )
        });
    }

    fn names(&mut self, node: NodeId, members: &Map<String, Value>, place: Place<'_>, found: &mut Found) {
        for name in members.keys() {
            if self.is_given_up || found.is_enough() {
                return;
            }
            let mut own = Found::listed();
            self.node(node, &Value::from(name.as_str()), Place::All, &mut own);
            if let Some(problem) = own.problems.first() {
                found.add(Place::Member(&place, name), || {
                    format!("has a name that is not allowed: it {}", problem.reason)
                });
            }
        }
    }

    fn member(&mut self, schemas: &Members, name: &str, value: &Value, place: Place<'_>, found: &mut Found) {
        let mut is_known = false;
        if let Some(node) = schemas.named.get(name) {
            is_known = true;
            self.node(*node, value, place, found);
        }
        for (pattern, node) in &schemas.matching {
            if self.matches(pattern, name) {
                is_known = true;
                self.node(*node, value, place, found);
            }
        }
        if let Some(others) = schemas.others.filter(|_| !is_known) {
            if let [Rule::Never] = &self.schema.nodes[others][..] {
                found.add(place, || "is not allowed: the schema knows no such property".to_owned());
            } else {
                self.node(others, value, place, found);
            }
        }
    }

    fn items(&mut self, schemas: &Items, items: &[Value], place: Place<'_>, found: &mut Found) {
        for (index, item) in items.iter().enumerate() {
            let Some(node) = schemas.first.get(index).copied().or(schemas.others) else { return };
            self.node(node, item, Place::Item(&place, index), found);
            if self.is_given_up || found.is_enough() {
                return;
            }
        }
    }

    /// Checks that a value fits at least one of several schemas.
    fn any(&mut self, nodes: &[NodeId], value: &Value, place: Place<'_>, found: &mut Found) {
        let mut alternatives = Vec::with_capacity(nodes.len());
        for node in nodes {
            let own = self.alternative(*node, value, place, found);
            if own.is_nothing() || self.is_given_up {
                return;
            }
            alternatives.push(own);
        }
        add_closest(alternatives, place, found);
    }

    /// Checks that a value fits exactly one of several schemas. Each is looked at once: twice would be twice for every level
    /// of a schema that refers to itself.
    fn one(&mut self, nodes: &[NodeId], value: &Value, place: Place<'_>, found: &mut Found) {
        let mut alternatives = Vec::with_capacity(nodes.len());
        for node in nodes {
            alternatives.push(self.alternative(*node, value, place, found));
            if self.is_given_up {
                return;
            }
        }
        let (count, all) = (alternatives.iter().filter(|own| own.is_nothing()).count(), nodes.len());
        match count {
            0 => add_closest(alternatives, place, found),
            1 => {}
            _ => found.add(place, || format!("must fit exactly one of {all} alternatives, but fits {count}")),
        }
    }

    fn alternative(&mut self, node: NodeId, value: &Value, place: Place<'_>, found: &Found) -> Found {
        let mut own = if found.is_silent { Found::silent() } else { Found::listed() };
        self.node(node, value, place, &mut own);
        own
    }
}

/// Reports the problems with one of the schemas that a value does not fit: the one that was most likely meant.
fn add_closest(alternatives: Vec<Found>, place: Place<'_>, found: &mut Found) {
    let all = alternatives.len();
    found.add(place, || format!("fits none of {all} alternatives; for the closest one:"));
    if found.is_silent {
        return;
    }
    let path = place.path();
    // A problem deep inside means that what is around it fits.
    let rank = |own: &Found| (own.problems.iter().all(|problem| problem.path == path), own.problems.len());
    if let Some(closest) = alternatives.into_iter().min_by_key(rank) {
        found.extend(closest.problems);
    }
}

fn alternatives(allowed: &Allowed) -> String {
    match &allowed.values[..] {
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

fn check_bound(bound: &Bound, number: &Number, place: Place<'_>, found: &mut Found) {
    let Bound { limit, is_upper, is_exclusive } = bound;
    let order = Decimal::of(number).cmp(&Decimal::of(limit));
    let (is_kept, word) = match (is_upper, is_exclusive) {
        (true, true) => (order.is_lt(), "less than"),
        (true, false) => (order.is_le(), "at most"),
        (false, true) => (order.is_gt(), "greater than"),
        (false, false) => (order.is_ge(), "at least"),
    };
    if !is_kept {
        found.add(place, || format!("must be {word} {limit}, but is {number}"));
    }
}

fn check_size(size: &Size, value: &Value, place: Place<'_>, found: &mut Found) {
    let (count, unit) = match (size.counted, value) {
        (Counted::Characters, Value::String(text)) => (text.chars().count(), "characters"),
        (Counted::Items, Value::Array(items)) => (items.len(), "items"),
        (Counted::Members, Value::Object(members)) => (members.len(), "properties"),
        _ => return,
    };
    let limit = size.limit;
    let (is_kept, word) =
        if size.is_upper { (count as u64 <= limit, "at most") } else { (count as u64 >= limit, "at least") };
    if !is_kept {
        found.add(place, || format!("must have {word} {limit} {unit}, but has {count}"));
    }
}
