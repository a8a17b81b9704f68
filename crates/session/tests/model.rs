//! Compares random histories, with the file closed and opened at random points, with a model that keeps everything in
//! memory and builds the context in the most obvious way.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bowline_core::message::{AssistantContent, AssistantMessage, Content, StopReason, TextBlock};
use bowline_core::{Message, ThinkingLevel, Usage};
use bowline_session::{EntryBody, EntryId, Error, Location, NewSession, Session};
use proptest::prelude::*;
use serde_json::Value;

/// A step in the history of a session. Numbers select one of the existing entries.
#[derive(Debug, Clone)]
enum Step {
    Prompt(String),
    Answer { text: String, tokens: u64 },
    ChooseModel(String),
    ChooseLevel(ThinkingLevel),
    Compact { first_kept: Option<usize> },
    Edit { target: usize, replacement: Option<String> },
    SummariseBranch(String),
    Note(String),
    Label { target: usize, label: Option<String> },
    Fork(usize),
    Clone,
    Move(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let text = || "[a-zé\"\\\\\n\u{2028}]{0,12}";
    prop_oneof![
        4 => text().prop_map(Step::Prompt),
        4 => (text(), 0..1000_u64).prop_map(|(text, tokens)| Step::Answer { text, tokens }),
        1 => "[a-z]{1,5}".prop_map(Step::ChooseModel),
        1 => proptest::sample::select(ThinkingLevel::ALL.to_vec()).prop_map(Step::ChooseLevel),
        1 => proptest::option::of(any::<usize>()).prop_map(|first_kept| Step::Compact { first_kept }),
        2 => (any::<usize>(), proptest::option::of(text()))
            .prop_map(|(target, replacement)| Step::Edit { target, replacement }),
        1 => text().prop_map(Step::SummariseBranch),
        1 => text().prop_map(Step::Note),
        2 => (any::<usize>(), proptest::option::of("[a-z ]{0,3}"))
            .prop_map(|(target, label)| Step::Label { target, label }),
        1 => any::<usize>().prop_map(Step::Fork),
        1 => Just(Step::Clone),
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
        thinking_level: None,
        usage: Usage { input: tokens, ..Usage::default() },
        stop_reason: StopReason::Stop,
        timestamp: 3,
        response_id: None,
        raw_stop_reason: None,
        error_message: None,
        error_kind: None,
        duration: Some(tokens),
        time_to_first_piece: None,
        completed_at: Some(4),
    })
}

/// The model of a session: a list of entries, each with the number of its parent.
#[derive(Clone, Default)]
struct Model {
    entries: Vec<(EntryId, Option<usize>, EntryBody)>,
    leaf: Option<usize>,
}

impl Model {
    fn path(&self) -> Vec<usize> {
        self.path_to(self.leaf)
    }

    fn path_to(&self, end: Option<usize>) -> Vec<usize> {
        let mut path: Vec<_> = std::iter::successors(end, |at| self.entries[*at].1).collect();
        path.reverse();
        path
    }

    /// Returns the current labels with their targets, in the order in which they were set.
    fn labels(&self) -> Vec<(EntryId, String)> {
        let mut labels: Vec<(EntryId, String)> = Vec::new();
        for (_, _, body) in &self.entries {
            if let EntryBody::Label { target, label } = body {
                labels.retain(|(labelled, _)| labelled != target);
                labels.extend(label.clone().map(|label| (target.clone(), label)));
            }
        }
        labels
    }

    /// Returns the text of a user message.
    fn user_text(&self, at: usize) -> Option<String> {
        match &self.entries[at].2 {
            EntryBody::Message(message) => match &**message {
                Message::User(message) => Some(message.text()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the model of a fork with the path to `end`; the ids of its new labels come from `session`.
    fn branch_off(&self, end: Option<usize>, session: &Session) -> Self {
        let path = self.path_to(end);
        let is_label = |at: usize| matches!(self.entries[at].2, EntryBody::Label { .. });
        let mut branch = Self::default();
        for at in path.iter().copied().filter(|at| !is_label(*at)) {
            let (id, _, mut body) = self.entries[at].clone();
            if let EntryBody::Compaction { first_kept: Some(first_kept), .. } = &mut body {
                let from = path.iter().position(|at| self.entries[*at].0 == *first_kept);
                let kept = path[from.unwrap_or(0)..].iter().find(|at| !is_label(**at)).copied();
                *first_kept = self.entries[kept.unwrap_or(at)].0.clone();
            }
            branch.push(id, body);
        }
        let new_ids = ids_and_parents(session).into_iter().skip(branch.entries.len());
        let kept = branch.entries.clone();
        let labels = self.labels().into_iter().filter(|(target, _)| kept.iter().any(|(id, ..)| id == target));
        for ((id, _), (target, label)) in new_ids.zip(labels) {
            branch.push(id.as_str().into(), EntryBody::Label { target, label: Some(label) });
        }
        branch
    }

    fn push(&mut self, id: EntryId, body: EntryBody) {
        self.entries.push((id, self.leaf, body));
        self.leaf = Some(self.entries.len() - 1);
    }

    /// Returns the messages on the path to `end`, without its first `skip` entries.
    fn abandoned(&self, end: Option<usize>, skip: usize) -> Vec<String> {
        let path = self.path_to(end);
        let texts = path.into_iter().skip(skip).filter_map(|at| match &self.entries[at].2 {
            EntryBody::Message(message) => Some(text(message)),
            EntryBody::CustomMessage { content, .. } => Some(format!("{:?}", content.as_slice())),
            EntryBody::BranchSummary { summary, .. } if !summary.is_empty() => {
                Some(format!("branch {summary}"))
            }
            EntryBody::Compaction { summary, .. } => Some(format!("summary {summary}")),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the text of each message in the context, and the model and the thinking level in use.
    fn context(&self) -> (Vec<String>, Option<String>, Option<ThinkingLevel>) {
        let (mut texts, mut model, mut level) = (Vec::<(EntryId, String)>::new(), None, None);
        let mut edits = HashMap::new();
        for at in self.path() {
            let (id, _, body) = &self.entries[at];
            let id = id.clone();
            match body {
                EntryBody::Message(message) => {
                    if let Some(answer) = message.as_assistant() {
                        model = Some(answer.model.clone());
                    }
                    texts.push((id, text(message)));
                }
                EntryBody::ModelChange { model_id, .. } => model = Some(model_id.clone()),
                EntryBody::ThinkingLevelChange { level: chosen } => level = Some(*chosen),
                EntryBody::Compaction { summary, first_kept, .. } => {
                    let path = self.path();
                    let place = |id: &EntryId| path.iter().position(|at| self.entries[*at].0 == *id);
                    let first = first_kept.as_ref().and_then(place).unwrap_or(usize::MAX);
                    let all = self.all_texts(at);
                    texts = all.into_iter().filter(|(id, _)| place(id) >= Some(first)).collect();
                    texts.insert(0, (id, format!("summary {summary}")));
                }
                EntryBody::BranchSummary { summary, .. } if !summary.is_empty() => {
                    texts.push((id, format!("branch {summary}")));
                }
                EntryBody::CustomMessage { content, .. } => {
                    texts.push((id, format!("{:?}", content.as_slice())));
                }
                EntryBody::ContextEdit { target, replacement } => {
                    edits.insert(target.clone(), replacement.clone());
                }
                _ => {}
            }
        }
        let edited = texts.into_iter().filter_map(|(id, texts)| match edits.get(&id) {
            None => Some(texts),
            Some(None) => None,
            // Only messages with a content can be edited.
            Some(Some(_)) if texts.starts_with("summary ") || texts.starts_with("branch ") => Some(texts),
            Some(Some(content)) => Some(format!("{:?}", vec![Content::text(content.as_str().unwrap())])),
        });
        (edited.collect(), model, level)
    }

    /// Returns the text of everything on the path before entry `end`, ignoring compactions.
    fn all_texts(&self, end: usize) -> Vec<(EntryId, String)> {
        let before = self.path().into_iter().take_while(|at| *at != end);
        let texts = before.filter_map(|at| match &self.entries[at] {
            (id, _, EntryBody::Message(message)) => Some((id.clone(), text(message))),
            (id, _, EntryBody::CustomMessage { content, .. }) => {
                Some((id.clone(), format!("{:?}", content.as_slice())))
            }
            (id, _, EntryBody::BranchSummary { summary, .. }) if !summary.is_empty() => {
                Some((id.clone(), format!("branch {summary}")))
            }
            _ => None,
        });
        texts.collect()
    }
}

fn text(message: &Message) -> String {
    match message {
        Message::User(message) => format!("{:?}", message.content),
        Message::Assistant(message) => format!("{:?}", vec![Content::text(message.text())]),
        Message::Custom(message) => format!("{:?}", message.content.as_slice()),
        Message::BranchSummary(message) => format!("branch {}", message.summary),
        Message::CompactionSummary(message) => format!("summary {}", message.summary),
        other => panic!("{other:?} was not written"),
    }
}

/// Returns the entry that a step appends, if any.
fn body(step: Step, model: &Model) -> Option<EntryBody> {
    let path = model.path();
    let chosen = |number: usize| path.get(number % path.len().max(1)).map(|at| model.entries[*at].0.clone());
    Some(match step {
        Step::Prompt(text) => EntryBody::Message(Arc::new(Message::user(text, Vec::new(), 7))),
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
            content: vec![Content::text(text)].into(),
            display: true,
            details: None,
        },
        Step::Label { target, label } => {
            let label = label.map(|label| label.trim().to_owned()).filter(|label| !label.is_empty());
            EntryBody::Label { target: chosen(target)?, label }
        }
        Step::Move(_) | Step::Reopen | Step::Fork(_) | Step::Clone => return None,
    })
}

/// Returns the ids of all entries and of their parents, in the order of the file.
fn ids_and_parents(session: &Session) -> Vec<(String, Option<String>)> {
    let entries = session.entries(None).unwrap();
    entries.iter().map(|entry| id_and_parent(&serde_json::from_str(entry.get()).unwrap())).collect()
}

fn id_and_parent(entry: &Value) -> (String, Option<String>) {
    (entry["id"].as_str().unwrap().to_owned(), entry["parentId"].as_str().map(str::to_owned))
}

/// Replaces a session by a fork of it.
fn continue_in(branch: Session, end: Option<usize>, session: &mut Session, model: &mut Model) {
    let is_answer = |at: &usize| match &model.entries[*at].2 {
        EntryBody::Message(message) => message.as_assistant().is_some(),
        _ => false,
    };
    assert_eq!(branch.is_saved(), model.path_to(end).iter().any(is_answer));
    assert_eq!(branch.header().parent_session.as_deref(), session.file().unwrap().to_str());
    assert_ne!(branch.id(), session.id());
    let original = ids_and_parents(session);
    *model = model.branch_off(end, &branch);
    assert!(ids_and_parents(session) == original, "the session is as it was");
    *session = branch;
}

/// Checks the navigation to entry `to`.
fn check_navigation(session: &Session, model: &Model, to: usize) {
    let navigation = session.navigation(model.entries[to].0.as_str()).unwrap();
    let (old, new) = (model.path(), model.path_to(Some(to)));
    let common = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let abandoned: Vec<_> = navigation.abandoned.iter().map(|message| text(message)).collect();
    assert_eq!(abandoned, model.abandoned(model.leaf, common));
    let id = |at: usize| model.entries[at].0.clone();
    assert_eq!(navigation.common_ancestor, common.checked_sub(1).map(|last| id(old[last])));
    assert_eq!(navigation.old_leaf, model.leaf.map(id));
    let is_for_model =
        model.user_text(to).is_some() || matches!(model.entries[to].2, EntryBody::CustomMessage { .. });
    assert_eq!(navigation.leaf, if is_for_model { model.entries[to].1.map(id) } else { Some(id(to)) });
    assert_eq!(navigation.text.is_some(), is_for_model);
}

fn take(step: Step, session: &mut Session, model: &mut Model) {
    match step {
        Step::Reopen => {
            session.persist_now().unwrap();
            let file = session.file().unwrap().to_path_buf();
            // Releases the lock before the file is opened again.
            let location = Location::Memory;
            let working_directory = "/".into();
            let options = NewSession { working_directory, location, id: None, parent: None };
            drop(std::mem::replace(session, Session::create(options).unwrap()));
            *session = Session::open(&file, Path::new("/")).unwrap();
            model.leaf = model.entries.len().checked_sub(1);
        }
        Step::Move(number) if !model.entries.is_empty() => {
            let to = number % model.entries.len();
            check_navigation(session, model, to);
            session.move_leaf(Some(&model.entries[to].0)).unwrap();
            model.leaf = Some(to);
        }
        Step::Fork(number) if !model.entries.is_empty() => {
            let at = number % model.entries.len();
            match (model.user_text(at), session.fork(model.entries[at].0.as_str())) {
                (None, fork) => assert!(matches!(fork, Err(Error::NotForkable))),
                (Some(_), fork) if !session.is_saved() => assert!(matches!(fork, Err(Error::NotSaved))),
                (Some(text), fork) => {
                    let fork = fork.unwrap();
                    assert_eq!(fork.text, text);
                    continue_in(fork.session, model.entries[at].1, session, model);
                }
            }
        }
        Step::Clone => match session.clone_at_leaf() {
            clone if model.leaf.is_none() => assert!(matches!(clone, Err(Error::NothingToClone))),
            clone if !session.is_saved() => assert!(matches!(clone, Err(Error::NotSaved))),
            clone => {
                let (clone, before) = (clone.unwrap(), session.context().unwrap());
                assert_eq!(clone.context().unwrap().messages, before.messages);
                continue_in(clone, model.leaf, session, model);
            }
        },
        Step::Label { target, label } => {
            let step = Step::Label { target, label: label.clone() };
            let Some(body) = body(step, model) else { return };
            let EntryBody::Label { target, .. } = &body else { panic!("{body:?}") };
            let id = session.label(target.as_str(), label.as_deref()).unwrap();
            model.push(id, body);
        }
        step => {
            let Some(body) = body(step, model) else { return };
            let id = session.append(body.clone()).unwrap();
            model.push(id, body);
        }
    }
}

/// Checks that the entries and the tree are those of the model.
#[track_caller]
fn check_same_entries(session: &Session, model: &Model) {
    let parent = |at: &Option<usize>| at.map(|at| model.entries[at].0.to_string());
    let mut expected: Vec<_> = model.entries.iter().map(|(id, at, _)| (id.to_string(), parent(at))).collect();
    assert_eq!(ids_and_parents(session), expected);
    let half = model.entries.len() / 2;
    if let Some((id, ..)) = model.entries.get(half) {
        let later = session.entries(Some(id.as_str())).unwrap().len();
        assert_eq!(later, model.entries.len() - half - 1);
    }
    let users = (0..model.entries.len()).filter_map(|at| model.user_text(at)).filter(|text| !text.is_empty());
    let messages = session.fork_messages().unwrap().into_iter().map(|message| message.text);
    assert_eq!(messages.collect::<Vec<_>>(), users.collect::<Vec<_>>());

    let (mut nodes, mut labels) = (Vec::new(), Vec::new());
    let tree: Vec<Value> = serde_json::from_str(session.tree_json().unwrap().json.get()).unwrap();
    let mut waiting: Vec<_> = tree.into_iter().map(|node| (None, node)).collect();
    while let Some((parent, node)) = waiting.pop() {
        let (id, named_parent) = id_and_parent(&node["entry"]);
        // A long branch is continued in another element of the list.
        let parent = parent.or_else(|| named_parent.clone());
        assert_eq!(parent, named_parent);
        labels.extend(node["label"].as_str().map(|label| (EntryId::from(id.as_str()), label.to_owned())));
        let children = node["children"].as_array().unwrap().clone();
        waiting.extend(children.into_iter().map(|child| (Some(id.clone()), child)));
        nodes.push((id, parent));
    }
    let mut expected_labels = model.labels();
    expected_labels.sort();
    labels.sort();
    assert_eq!(labels, expected_labels);
    expected.sort();
    nodes.sort();
    assert_eq!(nodes, expected);
}

#[track_caller]
fn check_same(session: &Session, model: &Model) {
    check_same_entries(session, model);
    let context = session.context().unwrap();
    let texts: Vec<_> = context.messages.iter().map(|message| text(message)).collect();
    let model_id = context.model.map(|(_, model_id)| model_id);
    assert_eq!((texts, model_id, context.thinking_level), model.context());
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
    let by_model = session.statistics_by_model().unwrap();
    assert_eq!(by_model.iter().map(|model| model.usage.output).sum::<u64>(), statistics.usage.output);
    assert_eq!(by_model.iter().map(|model| model.assistant_messages).sum::<u64>(), answers.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

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
