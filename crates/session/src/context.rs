//! The context: the messages on the path from the root to the leaf as the model sees them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bowline_core::{Message, ThinkingLevel};
use serde_json::{Value, json};

use crate::Error;
use crate::decode::{self, Compaction, ContextEdit, ThinkingLevelChange};
use crate::entry::{EntryId, Kind};
use crate::mend::mend;
use crate::storage::Storage;
use crate::tree::{Node, Tree};

/// The messages and settings of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    pub messages: Vec<Arc<Message>>,
    /// The entry that each of `messages` comes from.
    pub sources: Vec<EntryId>,
    /// The provider and the id of the last model in use.
    pub model: Option<(String, String)>,
    /// The provider and the id of the model that was last chosen: another one if that is virtual and passes requests on.
    pub chosen_model: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    /// The model that was in use when that level was set.
    pub thinking_level_model: Option<(String, String)>,
    /// The newest compaction on the path.
    pub last_compaction: Option<CompactionEntry>,
    /// Whether no entry follows it.
    pub ends_with_compaction: bool,
    /// Entries that belong in the context but could not be decoded.
    pub unreadable: Vec<EntryId>,
}

/// A compaction, for the next one to build on.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionEntry {
    pub id: EntryId,
    pub summary: String,
    /// The first entry that it kept, if any.
    pub first_kept: Option<EntryId>,
    pub details: Option<Value>,
    /// Whether an extension created it, so that only the extension understands `details`.
    pub from_hook: bool,
    /// The index of the summary in [`Context::messages`], unless an edit has removed it.
    pub position: Option<usize>,
    /// The index of the first message after the compaction in [`Context::messages`].
    pub first_after: usize,
}

impl Context {
    /// Builds the context for the leaf of `tree`.
    pub(crate) fn build(tree: &Tree, storage: &Storage) -> Result<Self, Error> {
        let path = tree.path();
        let mut context = Self::default();
        let mut kept = path.as_slice();
        let mut later: &[&Node] = &[];
        if let Some((at, compaction)) = context.newest_compaction(&path, storage)? {
            let first_kept = first_kept(&compaction, tree);
            let first = first_kept.and_then(|id| path[..at].iter().position(|node| node.id == id));
            kept = &path[first.unwrap_or(at)..at];
            later = &path[at + 1..];
            context.last_compaction = Some(CompactionEntry {
                id: path[at].id.clone(),
                summary: compaction.summary.clone(),
                first_kept: kept.first().map(|node| node.id.clone()),
                details: compaction.details.clone(),
                from_hook: compaction.from_hook.unwrap_or(false),
                position: None,
                first_after: 0,
            });
            context.ends_with_compaction = later.is_empty();
            context.push(path[at], compaction.message());
        }
        for node in kept.iter().chain(later) {
            context.add(node, storage)?;
        }
        context.apply_edits(&path, storage)?;
        context.find_settings(&path, storage)?;
        context.place_compaction(kept);
        Ok(context)
    }

    fn push(&mut self, node: &Node, message: Message) {
        self.messages.push(Arc::new(message));
        self.sources.push(node.id.clone());
    }

    fn newest_compaction(
        &mut self,
        path: &[&Node],
        storage: &Storage,
    ) -> Result<Option<(usize, Compaction)>, Error> {
        for (at, node) in path.iter().enumerate().rev() {
            if node.kind == Kind::Compaction {
                match serde_json::from_slice(&storage.read(node)?) {
                    Ok(compaction) => return Ok(Some((at, compaction))),
                    Err(_) => self.unreadable.push(node.id.clone()),
                }
            }
        }
        Ok(None)
    }

    fn add(&mut self, node: &Node, storage: &Storage) -> Result<(), Error> {
        if !matches!(node.kind, Kind::Message | Kind::CustomMessage | Kind::BranchSummary) {
            return Ok(());
        }
        let line = storage.read_exactly(node)?;
        // Few lines need mending, and looking for what to mend takes as long as reading the line.
        match decode::message(node.kind, &line).or_else(|_| decode::message(node.kind, &mend(line))) {
            Ok(Some(message)) => self.push(node, message),
            Ok(None) => {}
            Err(_) => self.unreadable.push(node.id.clone()),
        }
        Ok(())
    }

    /// Applies the edits on the path; the last edit of an entry wins.
    fn apply_edits(&mut self, path: &[&Node], storage: &Storage) -> Result<(), Error> {
        let mut edits = HashMap::new();
        for node in path.iter().filter(|node| node.kind == Kind::ContextEdit) {
            match serde_json::from_slice::<ContextEdit>(&storage.read(node)?) {
                Ok(edit) => {
                    edits.insert(edit.target_id, edit.replacement);
                }
                Err(_) => self.unreadable.push(node.id.clone()),
            }
        }
        if edits.is_empty() {
            return Ok(());
        }
        let messages = std::mem::take(&mut self.messages);
        for (message, source) in messages.into_iter().zip(std::mem::take(&mut self.sources)) {
            let message = match edits.get(source.as_str()) {
                None => message,
                Some(None) => continue,
                Some(Some(replacement)) => match with_content(&message, &replacement.content) {
                    Ok(edited) => Arc::new(edited),
                    Err(_) => {
                        self.unreadable.push(source.clone());
                        message
                    }
                },
            };
            self.messages.push(message);
            self.sources.push(source);
        }
        Ok(())
    }

    /// Records the place of the compaction among the remaining messages.
    fn place_compaction(&mut self, kept: &[&Node]) {
        let Some(compaction) = &mut self.last_compaction else { return };
        let kept: HashSet<_> = kept.iter().map(|node| &node.id).chain([&compaction.id]).collect();
        let first_after = self.sources.iter().position(|source| !kept.contains(source));
        let position = self.sources.iter().position(|source| *source == compaction.id);
        compaction.first_after = first_after.unwrap_or(self.sources.len());
        compaction.position = position;
    }

    // From the leaf backwards, so that compacted entries are read only if no later one has the answer.
    fn find_settings(&mut self, path: &[&Node], storage: &Storage) -> Result<(), Error> {
        for node in path.iter().rev() {
            match node.kind {
                Kind::ModelChange | Kind::Message
                    if self.model.is_none()
                        || (self.thinking_level.is_some() && self.thinking_level_model.is_none())
                        || (self.chosen_model.is_none() && node.kind == Kind::ModelChange) =>
                {
                    let model = decode::model(node.kind, &storage.read(node)?);
                    if node.kind == Kind::ModelChange && self.chosen_model.is_none() {
                        self.chosen_model.clone_from(&model);
                    }
                    if self.thinking_level.is_some() && self.thinking_level_model.is_none() {
                        self.thinking_level_model.clone_from(&model);
                    }
                    self.model = self.model.take().or(model);
                }
                Kind::ThinkingLevelChange if self.thinking_level.is_none() => {
                    let change = serde_json::from_slice::<ThinkingLevelChange>(&storage.read(node)?);
                    self.thinking_level =
                        change.ok().and_then(|change| ThinkingLevel::parse(&change.thinking_level));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the first entry that a compaction keeps.
pub(crate) fn first_kept(compaction: &Compaction, tree: &Tree) -> Option<EntryId> {
    if let Some(id) = &compaction.first_kept_entry_id {
        return Some(EntryId::from(id.as_str()));
    }
    let number = compaction.first_kept_entry_index?.checked_sub(1)?;
    tree.nodes().get(number).map(|node| node.id.clone())
}

/// Returns a message with another content: a text, or blocks of its kind.
pub fn with_content(message: &Message, content: &Value) -> Result<Message, serde_json::Error> {
    let content = match content {
        Value::String(text) => json!([{ "type": "text", "text": text }]),
        blocks => blocks.clone(),
    };
    let mut value = serde_json::to_value(message)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("content".to_owned(), content);
    }
    serde_json::from_value(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Written, texts};

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-16T00:55:48.502Z","cwd":"/"}"#;

    /// Returns the line of a message whose parent has the preceding id.
    fn message(id: u32, role: &str, text: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{}","timestamp":"","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"provider":"p","model":"m{id}","sections":{{}},"timestamp":1}}}}"#,
            id - 1
        )
    }

    fn entry(id: u32, rest: &str) -> String {
        format!(r#"{{"id":"{id}","parentId":"{}","timestamp":"1970-01-01T00:00:05.000Z",{rest}}}"#, id - 1)
    }

    fn written(lines: &[String]) -> Written {
        let lines: Vec<_> = std::iter::once(HEADER).chain(lines.iter().map(String::as_str)).collect();
        Written::new(&lines)
    }

    #[track_caller]
    fn check(lines: &[String], expected: &[&str]) {
        assert_eq!(texts(&written(lines).open()), expected);
    }

    #[test]
    fn a_session_of_pi_has_the_context_that_pi_builds() {
        let written = written(&[
            entry(1, r#""type":"model_change","provider":"p","modelId":"m1""#),
            entry(2, r#""type":"thinking_level_change","thinkingLevel":"high""#),
            message(3, "system", "the prompt"),
            message(4, "user", "hello"),
            message(5, "assistant", "hi"),
            entry(6, r#""type":"custom","customType":"memory","data":{}"#),
            entry(7, r#""type":"custom_message","customType":"note","content":"look","display":true"#),
            entry(8, r#""type":"usage","kind":"cache_warm","provider":"p","model":"m9","usage":{}"#),
            entry(9, r#""type":"branch_summary","fromId":"5","summary":"tried","fromHook":false"#),
            entry(10, r#""type":"branch_summary","fromId":"5","summary":"","fromHook":false"#),
            entry(11, r#""type":"label","targetId":"4","label":"start""#),
        ]);
        let session = written.open();
        assert_eq!(texts(&session), ["hello", "hi", "note: look", "branch 5: tried"]);
        let context = session.context().unwrap();
        assert_eq!(context.model, Some(("p".into(), "m5".into())));
        assert_eq!(context.thinking_level, Some(ThinkingLevel::High));
        assert_eq!(context.thinking_level_model, Some(("p".into(), "m1".into())));
        let sources: Vec<_> = context.sources.iter().map(EntryId::as_str).collect();
        assert_eq!((sources, context.unreadable.len()), (vec!["4", "5", "7", "9"], 0));
        let Message::Custom(note) = &*context.messages[2] else { panic!("{:?}", context.messages[2]) };
        assert_eq!(note.timestamp, 5000);
    }

    #[test]
    fn a_compaction_replaces_the_entries_before_the_first_kept_one() {
        let lines = [
            message(1, "user", "a"),
            message(2, "assistant", "b"),
            message(3, "user", "c"),
            entry(4, r#""type":"compaction","summary":"first","firstKeptEntryId":"1","tokensBefore":9"#),
            message(5, "user", "d"),
            entry(6, r#""type":"compaction","summary":"second","firstKeptEntryId":"3","tokensBefore":9"#),
            message(7, "user", "e"),
        ];
        check(&lines, &["summary: second", "c", "d", "e"]);
        check(&lines[..6], &["summary: second", "c", "d"]);
        check(&lines[..4], &["summary: first", "a", "b", "c"]);
    }

    #[test]
    fn the_context_describes_the_last_compaction() {
        let lines = [
            message(1, "user", "a"),
            message(2, "user", "b"),
            entry(
                3,
                r#""type":"compaction","summary":"s","firstKeptEntryId":"2","tokensBefore":9,"details":{"readFiles":[]},"fromHook":true"#,
            ),
            message(4, "user", "c"),
            entry(5, r#""type":"context_edit","targetId":"2","replacement":null"#),
            entry(6, r#""type":"context_edit","targetId":"3","replacement":null"#),
            entry(7, r#""type":"compaction","summary":"t","firstKeptEntryId":"7","tokensBefore":9"#),
        ];
        let context = |count: usize| written(&lines[..count]).open().context().unwrap();
        let last = context(4).last_compaction.unwrap();
        let expected = CompactionEntry {
            id: "3".into(),
            summary: "s".into(),
            first_kept: Some("2".into()),
            details: Some(json!({ "readFiles": [] })),
            from_hook: true,
            position: Some(0),
            first_after: 2,
        };
        assert_eq!(last, expected);
        let at = |count: usize| {
            let context = context(count);
            let last = context.last_compaction.map(|last| (last.position, last.first_after));
            (last, context.ends_with_compaction)
        };
        assert_eq!(at(2), (None, false));
        assert_eq!(at(3), (Some((Some(0), 2)), true));
        assert_eq!(at(5), (Some((Some(0), 1)), false), "the kept message was removed");
        assert_eq!(at(6), (Some((None, 0)), false), "the summary was removed too");
        assert_eq!(context(7).last_compaction.unwrap().first_kept, None);
    }

    #[test]
    fn the_model_is_found_even_before_a_compaction() {
        let lines = [
            message(1, "user", "a"),
            message(2, "assistant", "b"),
            entry(3, r#""type":"compaction","summary":"s","firstKeptEntryId":"3","tokensBefore":9"#),
        ];
        check(&lines, &["summary: s"]);
        let context = written(&lines).open().context().unwrap();
        assert_eq!(context.model, Some(("p".into(), "m2".into())));
    }

    #[test]
    fn the_last_edit_of_a_message_wins() {
        let lines = [
            message(1, "user", "a"),
            message(2, "assistant", "b"),
            message(3, "user", "c"),
            entry(4, r#""type":"context_edit","targetId":"1","replacement":{"content":"A"}"#),
            entry(
                5,
                r#""type":"context_edit","targetId":"2","replacement":{"content":[{"type":"text","text":"B"}]}"#,
            ),
            entry(6, r#""type":"context_edit","targetId":"2","replacement":null"#),
            entry(7, r#""type":"context_edit","targetId":"3","replacement":null"#),
            entry(8, r#""type":"context_edit","targetId":"3","replacement":{"content":"C"}"#),
        ];
        check(&lines[..3], &["a", "b", "c"]);
        check(&lines[..5], &["A", "B", "c"]);
        check(&lines, &["A", "C"]);
    }

    #[test]
    fn edits_apply_after_a_compaction() {
        let lines = [
            message(1, "user", "a"),
            message(2, "user", "b"),
            entry(3, r#""type":"context_edit","targetId":"2","replacement":{"content":"B"}"#),
            entry(4, r#""type":"compaction","summary":"s","firstKeptEntryId":"2","tokensBefore":9"#),
        ];
        check(&lines, &["summary: s", "B"]);
    }

    #[test]
    fn an_unreadable_message_does_not_affect_others() {
        let broken = entry(2, r#""type":"message","message":{"role":"bashExecution","output":""}"#);
        let written = written(&[message(1, "user", "a"), broken, message(3, "user", "b")]);
        let session = written.open();
        assert_eq!(texts(&session), ["a", "b"]);
        assert_eq!(session.context().unwrap().unreadable, ["2".into()]);
    }
}
