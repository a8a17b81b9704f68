//! Looking for matches while an answer arrives. Every byte is read once; what no rule is about is not read at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_core::stream::Update;

use super::StreamRules;
use super::arguments::ArgumentReader;
use super::pattern::Search;
use super::rule_file::CompiledRule;
use super::scope::Scope;

/// How many blocks are searched at the same time. Providers send one after the other.
const MAX_OPEN: usize = 16;

/// The tools that add text to files, and the members of their arguments that hold it. Only that text is searched: what it
/// replaces was there before.
const ADDED_TEXT: [(&str, &[&str]); 2] = [("write", &["content"]), ("edit", &["newText", "new_string"])];

/// What a match was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Text or thinking.
    Prose,
    /// The arguments of the call with this id.
    Call { id: String },
}

/// A rule that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The number of the rule.
    pub rule: usize,
    pub source: Source,
}

/// Watches one answer.
#[derive(Debug)]
pub struct Watch {
    rules: Arc<StreamRules>,
    blocks: BTreeMap<usize, Block>,
    /// Searches of blocks that have ended, to be used again.
    idle: Vec<Search>,
}

/// A block that is being searched.
#[derive(Debug)]
struct Block {
    kind: Kind,
    matches: Matches,
}

/// The rules that match in a block.
#[derive(Debug)]
struct Matches {
    /// What is known of each rule.
    marks: Vec<Mark>,
    /// Whether a rule was marked that was not before.
    is_new: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    NoMatch,
    Match,
    Reported,
}

#[derive(Debug)]
enum Kind {
    Text(Search),
    Thinking(Search),
    Call(Box<Call>),
}

#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    reader: ArgumentReader,
    /// The members that are searched; all if there are none.
    members: &'static [&'static str],
    values: Search,
    /// The arguments as they are written. Rules for other agents expect to see them.
    json: Option<Search>,
    has_begun: bool,
}

impl Watch {
    pub fn new(rules: Arc<StreamRules>) -> Self {
        Self { rules, blocks: BTreeMap::new(), idle: Vec::new() }
    }

    /// Starts with another answer.
    pub fn restart(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        blocks.into_values().for_each(|block| self.keep(block));
    }

    pub fn rules(&self) -> &Arc<StreamRules> {
        &self.rules
    }

    /// Returns the rules that match for the first time in their block. `is_due` tells whether a rule is of interest.
    pub fn observe(&mut self, update: &Update, is_due: impl Fn(usize) -> bool) -> Vec<Found> {
        match update {
            Update::TextStart { content_index } => self.start_prose(*content_index, &is_due, false),
            Update::ThinkingStart { content_index } => self.start_prose(*content_index, &is_due, true),
            Update::ToolCallStart { content_index, id, name } => {
                self.start_call(*content_index, id, name, &is_due);
            }
            Update::TextDelta { content_index, delta }
            | Update::ThinkingDelta { content_index, delta }
            | Update::ToolCallDelta { content_index, delta } => {
                return self.feed(*content_index, delta, is_due);
            }
            Update::TextEnd { content_index, .. } | Update::ThinkingEnd { content_index, .. } => {
                return self.end(*content_index, is_due);
            }
            Update::ToolCallEnd { content_index, call } => {
                let is_new = matches!(self.blocks.get(content_index),
                    Some(Block { kind: Kind::Call(call), .. }) if !call.has_begun);
                if is_new && let Ok(json) = serde_json::to_string(&call.arguments) {
                    // The provider sent the arguments at once.
                    self.feed(*content_index, &json, |_| false);
                }
                return self.end(*content_index, is_due);
            }
        }
        Vec::new()
    }

    fn start_prose(&mut self, index: usize, is_due: &impl Fn(usize) -> bool, is_thinking: bool) {
        let is_watched = |scope: &Scope| match scope {
            Scope::Text => !is_thinking,
            Scope::Thinking => is_thinking,
            Scope::Tool { .. } => false,
        };
        if !self.is_watched(is_due, is_watched) {
            return;
        }
        let search = self.search();
        let kind = if is_thinking { Kind::Thinking(search) } else { Kind::Text(search) };
        self.blocks.insert(index, Block { kind, matches: self.matches() });
    }

    fn start_call(&mut self, index: usize, id: &str, tool: &str, is_due: &impl Fn(usize) -> bool) {
        if !self.is_watched(is_due, |scope| scope.has_tool(tool)) {
            return;
        }
        let added = ADDED_TEXT.iter().find(|(name, _)| *name == tool).map(|(_, members)| *members);
        let call = Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            reader: ArgumentReader::default(),
            members: added.unwrap_or_default(),
            values: self.search(),
            json: added.is_none().then(|| self.search()),
            has_begun: false,
        };
        let block = Block { kind: Kind::Call(Box::new(call)), matches: self.matches() };
        self.blocks.insert(index, block);
    }

    /// Tells whether there is room for another block, and a rule that is due and about it.
    fn is_watched(&self, is_due: &impl Fn(usize) -> bool, is_about: impl Fn(&Scope) -> bool) -> bool {
        let rules = self.rules.rules.iter().enumerate();
        self.blocks.len() < MAX_OPEN
            && rules.into_iter().any(|(index, rule)| rule.scopes.iter().any(&is_about) && is_due(index))
    }

    fn matches(&self) -> Matches {
        Matches { marks: vec![Mark::NoMatch; self.rules.rules.len()], is_new: false }
    }

    fn search(&mut self) -> Search {
        match self.idle.pop() {
            Some(mut search) => {
                search.restart(&self.rules.patterns);
                search
            }
            None => self.rules.patterns.search(),
        }
    }

    /// Keeps the searches of a block that has ended.
    fn keep(&mut self, block: Block) {
        let searches = match block.kind {
            Kind::Text(search) | Kind::Thinking(search) => [Some(search), None],
            Kind::Call(call) => [Some(call.values), call.json],
        };
        // A call has two.
        let room = 2 - self.idle.len().min(2);
        self.idle.extend(searches.into_iter().flatten().take(room));
    }

    fn feed(&mut self, index: usize, delta: &str, is_due: impl Fn(usize) -> bool) -> Vec<Found> {
        let Some(Block { kind, matches }) = self.blocks.get_mut(&index) else { return Vec::new() };
        let StreamRules { patterns, owners, .. } = &*self.rules;
        match kind {
            Kind::Text(search) | Kind::Thinking(search) => {
                search.feed(patterns, delta, |pattern| matches.mark(owners[pattern]));
            }
            Kind::Call(call) => {
                call.has_begun = true;
                let known_paths = call.reader.paths.len();
                if let Some(json) = &mut call.json {
                    json.feed(patterns, delta, |pattern| matches.mark(owners[pattern]));
                }
                let (values, members) = (&mut call.values, call.members);
                call.reader.feed(delta, |member, text| {
                    if members.is_empty() || members.contains(&member) {
                        values.feed(patterns, text, |pattern| matches.mark(owners[pattern]));
                    }
                });
                // A match may have waited for the file that the call is about.
                matches.is_new |= call.reader.paths.len() > known_paths;
            }
        }
        if matches.is_new { self.found(index, is_due) } else { Vec::new() }
    }

    fn end(&mut self, index: usize, is_due: impl Fn(usize) -> bool) -> Vec<Found> {
        let Some(Block { kind, matches }) = self.blocks.get_mut(&index) else { return Vec::new() };
        let StreamRules { patterns, owners, .. } = &*self.rules;
        let mut end = |search: &mut Search| search.end(patterns, |pattern| matches.mark(owners[pattern]));
        match kind {
            Kind::Text(search) | Kind::Thinking(search) => end(search),
            Kind::Call(call) => {
                end(&mut call.values);
                call.json.iter_mut().for_each(end);
            }
        }
        let found = self.found(index, is_due);
        if let Some(block) = self.blocks.remove(&index) {
            self.keep(block);
        }
        found
    }

    /// Returns the rules that match in a block, are about it and were not reported.
    fn found(&mut self, index: usize, is_due: impl Fn(usize) -> bool) -> Vec<Found> {
        let Some(Block { kind, matches }) = self.blocks.get_mut(&index) else { return Vec::new() };
        matches.is_new = false;
        let mut found = Vec::new();
        for (rule, mark) in matches.marks.iter_mut().enumerate() {
            if *mark == Mark::Match && kind.is_watched_by(&self.rules, rule) && is_due(rule) {
                *mark = Mark::Reported;
                let source = match kind {
                    Kind::Text(_) | Kind::Thinking(_) => Source::Prose,
                    Kind::Call(call) => Source::Call { id: call.id.clone() },
                };
                found.push(Found { rule, source });
            }
        }
        found
    }
}

impl Matches {
    fn mark(&mut self, rule: usize) {
        let mark = &mut self.marks[rule];
        if *mark == Mark::NoMatch {
            *mark = Mark::Match;
            self.is_new = true;
        }
    }
}

impl Kind {
    /// Tells whether a rule is about the block, as far as is known of it.
    fn is_watched_by(&self, rules: &StreamRules, rule: usize) -> bool {
        let CompiledRule { scopes, globs, .. } = &rules.rules[rule];
        match self {
            Self::Text(_) => globs.is_empty() && scopes.iter().any(|scope| matches!(scope, Scope::Text)),
            Self::Thinking(_) => {
                globs.is_empty() && scopes.iter().any(|scope| matches!(scope, Scope::Thinking))
            }
            Self::Call(call) => {
                let (paths, working) = (&call.reader.paths, &rules.working);
                scopes.iter().any(|scope| scope.has_call(&call.tool, paths, working))
                    && (globs.is_empty() || globs.iter().any(|glob| glob.has_any(paths, working)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
