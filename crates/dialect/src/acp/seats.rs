//! What the dialect knows of each session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use bowline_core::SessionTag;
use bowline_core::command::{Draft, Origin};
use bowline_core::message::Arguments;
use bowline_core::model::Model;
use bowline_core::reply::State;
use bowline_core::sandbox::{AskMode, SandboxMode};
use bowline_core::slash_command::SlashCommand;
use bowline_core::thinking::ThinkingLevel;
use bowline_core::usage::Usage;
use bowline_wire::{Delta, Record};

use super::opening::Opening;
use super::results::{AvailableCommand, CommandInput, CostSoFar, Update};
use super::{iso_time, records};
use crate::delta_keys::DeltaKeys;
use crate::fields::Fields;

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
    /// Requests that wait until the session is open, or closed.
    pub later: Vec<(Origin, Fields)>,
    pub is_closing: bool,
    /// The requests that want to see the conversation although the session is open.
    pub shown_again: VecDeque<Origin>,
    pub model: Option<Arc<Model>>,
    pub level: ThinkingLevel,
    pub ask: AskMode,
    pub sandbox: SandboxMode,
    pub models: Vec<Arc<Model>>,
    /// The prompt whose turn is in progress.
    pub running: Option<Origin>,
    /// The message of that prompt, until its run has begun.
    pub sent: Option<Draft>,
    /// Whether a run is in progress that no prompt of the client has started, or the end of one that did.
    pub has_run: bool,
    /// The prompts that wait for the turns before them.
    pub waiting: VecDeque<(Origin, Draft)>,
    pub messages: MessageNames,
    /// The calls of the turn that are not over.
    pub calls: HashMap<String, Call>,
    pub has_title: bool,
    /// What the turn has used.
    pub turn_usage: Usage,
    /// The time of the last answer, in milliseconds since 1970; 0 if the client knows it.
    pub last_answer: u64,
    /// The number of compactions so far.
    pub compactions: u64,
    /// The commands that the client knows.
    pub commands: Vec<SlashCommand>,
    /// How many of the steps of opening that take time are done.
    pub opening_steps: u8,
    /// How many turns have ended.
    pub turns: u64,
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

    /// Returns the name of the session among those of the connection.
    pub fn seat_name(&self) -> String {
        format!("s{}", self.seat)
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
        self.sandbox = state.sandbox.mode;
        self.used = state.context.and_then(|context| context.tokens).unwrap_or_default();
    }

    /// Tells whether a turn is in progress.
    pub fn is_busy(&self) -> bool {
        self.running.is_some() || self.has_run
    }

    /// Tells the client which commands a user can type.
    pub fn show_commands(&self, records: &mut Vec<Record>) {
        let available = self.commands.iter().map(|command| AvailableCommand {
            name: command.name.clone(),
            description: command.description.clone().unwrap_or_default(),
            input: command.argument_hint.clone().map(|hint| CommandInput { hint }),
        });
        let update = Update::AvailableCommands { available_commands: available.collect() };
        records.push(records::update(&self.id, &update));
    }

    /// Tells the client when the last answer was.
    pub fn show_time(&mut self, records: &mut Vec<Record>) {
        let last = std::mem::take(&mut self.last_answer);
        if last > 0 {
            let updated_at = Some(iso_time::of(last));
            records.push(records::update(&self.id, &Update::SessionInfo { title: None, updated_at }));
        }
    }

    /// Tells the client how full the context is and what the session has cost.
    pub fn show_usage(&self, records: &mut Vec<Record>) {
        let Some(model) = &self.model else { return };
        // Sums of small numbers have a tail that means nothing.
        let amount = (self.cost * 1e9).round() / 1e9;
        let cost = (amount > 0.0).then_some(CostSoFar { amount, currency: "USD" });
        let update = Update::Usage { used: self.used, size: model.context_window, cost };
        records.push(records::update(&self.id, &update));
    }
}

impl Seats {
    /// Adds a session that is to be opened.
    pub fn add(&mut self, folder: PathBuf, id: String, opening: Opening) -> SessionTag {
        self.last += 1;
        let tag = SessionTag(self.last);
        let seat = Seat {
            id,
            folder,
            opening: Some(opening),
            later: Vec::new(),
            is_closing: false,
            shown_again: VecDeque::new(),
            model: None,
            level: ThinkingLevel::Off,
            ask: AskMode::Never,
            sandbox: SandboxMode::default(),
            models: Vec::new(),
            running: None,
            sent: None,
            has_run: false,
            waiting: VecDeque::new(),
            messages: MessageNames::of_seat(tag),
            calls: HashMap::new(),
            has_title: false,
            turn_usage: Usage::default(),
            last_answer: 0,
            compactions: 0,
            commands: Vec::new(),
            opening_steps: 0,
            turns: 0,
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
        let is_open = |seat: &Seat| seat.opening.is_none() && !seat.is_closing;
        self.seats.iter().find(|(_, seat)| seat.id == id && is_open(seat)).map(|(tag, _)| *tag)
    }

    /// Returns the session with an id, if it is just being opened or closed.
    pub fn in_between(&mut self, id: &str) -> Option<&mut Seat> {
        let is_it = |seat: &Seat| seat.id == id && (seat.opening.is_some() || seat.is_closing);
        self.seats.values_mut().find(|seat| !seat.id.is_empty() && is_it(seat))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (SessionTag, &mut Seat)> {
        self.seats.iter_mut().map(|(tag, seat)| (*tag, seat))
    }
}
