//! What the dialect knows of each session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::{Draft, Origin};
use bowline_core::message::Arguments;
use bowline_core::model::Model;
use bowline_core::reply::State;
use bowline_core::sandbox::AskMode;
use bowline_core::thinking::ThinkingLevel;
use bowline_wire::{Delta, Record};

use super::opening::Opening;
use super::records;
use super::results::{CostSoFar, Update};
use crate::delta_keys::DeltaKeys;

/// The sessions of the connection.
#[derive(Debug, Default)]
pub(super) struct Seats {
    last: u32,
    seats: BTreeMap<SessionTag, Seat>,
}

/// A session.
#[derive(Debug)]
pub(super) struct Seat {
    /// Empty until it is open.
    pub id: String,
    pub folder: PathBuf,
    /// What is still to be done before the client is told that it is open.
    pub opening: Option<Opening>,
    /// The request that wants to see the conversation although the session is open.
    pub shown_again: Option<Origin>,
    pub model: Option<Arc<Model>>,
    pub level: ThinkingLevel,
    pub ask: AskMode,
    pub models: Vec<Arc<Model>>,
    /// The prompt whose turn is in progress.
    pub running: Option<Origin>,
    /// The prompts that wait for the turns before them.
    pub waiting: VecDeque<(Origin, Draft)>,
    pub messages: MessageNames,
    /// The calls of the turn that are not over.
    pub calls: HashMap<String, Call>,
    pub has_title: bool,
    /// Whether the last answer was cut off at the model's limit.
    pub is_cut_off: bool,
    /// The tokens of the context that are used.
    pub used: u64,
    /// What the session has cost, in US dollars.
    pub cost: f64,
    /// Whether the client has failed to answer a question, so that it is asked none any more.
    pub refuses_questions: bool,
}

/// A call that is not over.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub arguments: Arc<Arguments>,
    pub is_running: bool,
    /// What a terminal of the client shows already.
    pub shown: String,
}

/// The names of the messages of a session: each is unique on the connection.
#[derive(Debug, Default)]
pub(super) struct MessageNames {
    keys: DeltaKeys,
    count: u64,
    seat: u32,
}

impl MessageNames {
    pub fn of_seat(tag: SessionTag) -> Self {
        Self { seat: tag.0, ..Self::default() }
    }

    /// Begins another message.
    pub fn start(&mut self) {
        self.count += 1;
        self.keys.start_message();
    }

    /// Returns the name of the text of the current message.
    pub fn text(&self) -> String {
        format!("m{}.{}", self.seat, self.count)
    }

    /// Returns the name of its thinking, which clients show as another message.
    pub fn thinking(&self) -> String {
        format!("t{}.{}", self.seat, self.count)
    }

    /// Returns the key by which pieces of a block are joined. No two sessions have a key in common.
    pub fn key(&self, content_index: usize) -> u64 {
        Delta::key_in(self.seat, self.keys.of_block(content_index))
    }
}

impl Seat {
    /// Takes over what can be chosen.
    pub fn take_state(&mut self, state: &State) {
        self.id.clone_from(&state.session_id);
        self.model.clone_from(&state.model);
        self.level = state.thinking_level;
        self.ask = state.approvals.map_or(state.sandbox.ask, |approvals| approvals.ask);
        self.used = state.context.and_then(|context| context.tokens).unwrap_or_default();
    }

    /// Tells the client how full the context is and what the session has cost.
    pub fn show_usage(&self, records: &mut Vec<Record>) {
        let Some(model) = &self.model else { return };
        let cost = (self.cost > 0.0).then_some(CostSoFar { amount: self.cost, currency: "USD" });
        let update = Update::Usage { used: self.used, size: model.context_window, cost };
        records.push(records::update(&self.id, &update));
    }
}

impl Seats {
    /// Adds a session that is to be opened.
    pub fn add(&mut self, folder: PathBuf, opening: Opening) -> SessionTag {
        self.last += 1;
        let tag = SessionTag(self.last);
        let seat = Seat {
            id: String::new(),
            folder,
            opening: Some(opening),
            shown_again: None,
            model: None,
            level: ThinkingLevel::Off,
            ask: AskMode::Never,
            models: Vec::new(),
            running: None,
            waiting: VecDeque::new(),
            messages: MessageNames::of_seat(tag),
            calls: HashMap::new(),
            has_title: false,
            is_cut_off: false,
            used: 0,
            cost: 0.0,
            refuses_questions: false,
        };
        self.seats.insert(tag, seat);
        tag
    }

    pub fn get_mut(&mut self, tag: SessionTag) -> Option<&mut Seat> {
        self.seats.get_mut(&tag)
    }

    pub fn remove(&mut self, tag: SessionTag) -> Option<Seat> {
        self.seats.remove(&tag)
    }

    /// Returns the session with an id, if it is open.
    pub fn find(&self, id: &str) -> Option<SessionTag> {
        self.seats.iter().find(|(_, seat)| seat.id == id && seat.opening.is_none()).map(|(tag, _)| *tag)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SessionTag, &mut Seat)> {
        self.seats.iter_mut().map(|(tag, seat)| (*tag, seat))
    }
}
