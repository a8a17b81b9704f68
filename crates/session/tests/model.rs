//! Random histories, with the file closed and opened at random points, against a model that keeps everything in
//! memory and builds the context in the most obvious way.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::message::{AssistantContent, AssistantMessage, Content, StopReason, TextBlock};
use bowline_core::{Message, ThinkingLevel, Usage};
use bowline_session::{EntryBody, EntryId, Location, NewSession, Session};
use proptest::prelude::*;

/// One thing that can happen to a session. The numbers choose among the entries that there are.
#[derive(Debug, Clone)]
enum Step {
    Say(String),
    Answer { text: String, tokens: u64 },
    ChooseModel(String),
    ChooseLevel(ThinkingLevel),
    Compact { first_kept: Option<usize> },
    Edit { target: usize, replacement: Option<String> },
    SummariseBranch(String),
    Note(String),
    Move(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let text = || "[a-zé\"\\\\\n\u{2028}]{0,12}";
    prop_oneof![
        4 => text().prop_map(Step::Say),
        4 => (text(), 0..1000_u64).prop_map(|(text, tokens)| Step::Answer { text, tokens }),
        1 => "[a-z]{1,5}".prop_map(Step::ChooseModel),
        1 => proptest::sample::select(ThinkingLevel::ALL.to_vec()).prop_map(Step::ChooseLevel),
        1 => proptest::option::of(any::<usize>()).prop_map(|first_kept| Step::Compact { first_kept }),
        2 => (any::<usize>(), proptest::option::of(text()))
            .prop_map(|(target, replacement)| Step::Edit { target, replacement }),
        1 => text().prop_map(Step::SummariseBranch),
        1 => text().prop_map(Step::Note),
        2 => any::<usize>().prop_map(Step::Move),
        2 => Just(Step::Reopen),
    ]
}

fn answer(text: String, tokens: u64) -> Message {
    Message::Assistant(AssistantMessage {
        content: vec![AssistantContent::Text(TextBlock { text, text_signature: None })],
        api: "api".into(),
        provider: "answering".into(),
        model: format!("m{tokens}"),
        usage: Usage { input: tokens, ..Usage::default() },
        stop_reason: StopReason::Stop,
        timestamp: 3,
        response_id: None,
        raw_stop_reason: None,
        timing: None,
        error_message: None,
    })
}

/// The same session as a list of entries, each with the number of its parent.
#[derive(Default)]
struct Model {
    entries: Vec<(EntryId, Option<usize>, EntryBody)>,
    leaf: Option<usize>,
}

impl Model {
    fn path(&self) -> Vec<usize> {
        let mut path: Vec<_> = std::iter::successors(self.leaf, |at| self.entries[*at].1).collect();
        path.reverse();
        path
    }

    /// Returns what the context says, message by message, and the model and the level in use.
    fn context(&self) -> (Vec<String>, Option<String>, Option<ThinkingLevel>) {
        let (mut said, mut model, mut level) = (Vec::<(EntryId, String)>::new(), None, None);
        let mut edits = HashMap::new();
        for at in self.path() {
            let (id, _, body) = &self.entries[at];
            let id = id.clone();
            match body {
                EntryBody::Message(message) => {
                    if let Some(answer) = message.as_assistant() {
                        model = Some(answer.model.clone());
                    }
                    said.push((id, text(message)));
                }
                EntryBody::ModelChange { model_id, .. } => model = Some(model_id.clone()),
                EntryBody::ThinkingLevelChange { level: chosen } => level = Some(*chosen),
                EntryBody::Compaction { summary, first_kept, .. } => {
                    let path = self.path();
                    let place = |id: &EntryId| path.iter().position(|at| self.entries[*at].0 == *id);
                    let first = first_kept.as_ref().and_then(place).unwrap_or(usize::MAX);
                    let all = self.all_said(at);
                    said = all.into_iter().filter(|(id, _)| place(id) >= Some(first)).collect();
                    said.insert(0, (id, format!("summary {summary}")));
                }
                EntryBody::BranchSummary { summary, .. } if !summary.is_empty() => {
                    said.push((id, format!("branch {summary}")));
                }
                EntryBody::CustomMessage { content, .. } => said.push((id, format!("{content:?}"))),
                EntryBody::ContextEdit { target, replacement } => {
                    edits.insert(target.clone(), replacement.clone());
                }
                _ => {}
            }
        }
        let edited = said.into_iter().filter_map(|(id, said)| match edits.get(&id) {
            None => Some(said),
            Some(None) => None,
            // Only messages with a content have one that can be replaced.
            Some(Some(_)) if said.starts_with("summary ") || said.starts_with("branch ") => Some(said),
            Some(Some(content)) => Some(format!("{:?}", vec![Content::text(content.as_str().unwrap())])),
        });
        (edited.collect(), model, level)
    }

    /// Returns everything that was said on the path before entry `end`, compactions aside.
    fn all_said(&self, end: usize) -> Vec<(EntryId, String)> {
        let before = self.path().into_iter().take_while(|at| *at != end);
        let said = before.filter_map(|at| match &self.entries[at] {
            (id, _, EntryBody::Message(message)) => Some((id.clone(), text(message))),
            (id, _, EntryBody::CustomMessage { content, .. }) => Some((id.clone(), format!("{content:?}"))),
            (id, _, EntryBody::BranchSummary { summary, .. }) if !summary.is_empty() => {
                Some((id.clone(), format!("branch {summary}")))
            }
            _ => None,
        });
        said.collect()
    }
}

fn text(message: &Message) -> String {
    match message {
        Message::User(message) => format!("{:?}", message.content),
        Message::Assistant(message) => format!("{:?}", vec![Content::text(message.text())]),
        Message::Custom(message) => format!("{:?}", message.content),
        Message::BranchSummary(message) => format!("branch {}", message.summary),
        Message::CompactionSummary(message) => format!("summary {}", message.summary),
        other => panic!("{other:?} was not written"),
    }
}

/// Returns the entry that a step adds, if it adds one.
fn body(step: Step, model: &Model) -> Option<EntryBody> {
    let path = model.path();
    let chosen = |number: usize| path.get(number % path.len().max(1)).map(|at| model.entries[*at].0.clone());
    Some(match step {
        Step::Say(text) => EntryBody::Message(Arc::new(Message::user(text, Vec::new(), 7))),
        Step::Answer { text, tokens } => EntryBody::Message(Arc::new(answer(text, tokens))),
        Step::ChooseModel(model_id) => EntryBody::ModelChange { provider: "p".into(), model_id },
        Step::ChooseLevel(level) => EntryBody::ThinkingLevelChange { level },
        Step::Compact { first_kept } => EntryBody::Compaction {
            summary: format!("of {}", path.len()),
            first_kept: first_kept.and_then(chosen),
            tokens_before: 1,
            details: None,
            usage: Some(Usage { output: 1, ..Usage::default() }),
            from_hook: false,
        },
        Step::Edit { target, replacement } => {
            EntryBody::ContextEdit { target: chosen(target)?, replacement: replacement.map(Into::into) }
        }
        Step::SummariseBranch(summary) => EntryBody::BranchSummary {
            from: chosen(0),
            summary,
            details: None,
            usage: None,
            from_hook: false,
        },
        Step::Note(text) => EntryBody::CustomMessage {
            custom_type: "note".into(),
            content: vec![Content::text(text)],
            display: true,
            details: None,
        },
        Step::Move(_) | Step::Reopen => return None,
    })
}

fn take(step: Step, session: &mut Session, model: &mut Model) {
    match step {
        Step::Reopen => {
            session.persist_now().unwrap();
            let file = session.file().unwrap().to_path_buf();
            // The lock must go before the file is opened again.
            let location = Location::Memory;
            let working_directory = "/".into();
            let options = NewSession { working_directory, location, id: None, parent: None };
            drop(std::mem::replace(session, Session::create(options).unwrap()));
            *session = Session::open(&file, Path::new("/")).unwrap();
            model.leaf = model.entries.len().checked_sub(1);
        }
        Step::Move(number) if !model.entries.is_empty() => {
            let to = number % model.entries.len();
            session.move_leaf(Some(&model.entries[to].0)).unwrap();
            model.leaf = Some(to);
        }
        step => {
            let Some(body) = body(step, model) else { return };
            let id = session.append(body.clone()).unwrap();
            model.entries.push((id, model.leaf, body));
            model.leaf = Some(model.entries.len() - 1);
        }
    }
}

#[track_caller]
fn check_same(session: &Session, model: &Model) {
    let context = session.context().unwrap();
    let said: Vec<_> = context.messages.iter().map(|message| text(message)).collect();
    let model_id = context.model.map(|(_, model_id)| model_id);
    assert_eq!((said, model_id, context.thinking_level), model.context());
    assert_eq!((context.unreadable.len(), session.malformed_lines()), (0, 0));
    assert_eq!(context.sources.len(), context.messages.len());

    let statistics = session.statistics().unwrap();
    let answers = model.entries.iter().filter_map(|(_, _, body)| match body {
        EntryBody::Message(message) => message.as_assistant().cloned(),
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(statistics.assistant_messages, answers.len() as u64);
    assert_eq!(statistics.usage.input, answers.iter().map(|answer| answer.usage.input).sum::<u64>());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn a_session_is_what_was_appended_however_often_it_is_reopened(
        steps in proptest::collection::vec(step(), 0..40),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Directory(directory.path().into());
        let options = NewSession { working_directory: "/".into(), location, id: None, parent: None };
        let mut session = Session::create(options).unwrap();
        let mut model = Model::default();
        for step in steps {
            take(step, &mut session, &mut model);
            check_same(&session, &model);
        }
    }
}
