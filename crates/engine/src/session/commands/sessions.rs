//! Going from one session to another. Whatever reads or writes files runs in the background; commands wait meanwhile.

use std::path::Path;

use bowline_core::command::{Command, Origin, Request};
use bowline_core::event::Event;
use bowline_core::hook::SessionReason;
use bowline_core::policy::ForkPoint;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_session::EntryBody;

use crate::activity::{Activity, ChangeKind, SessionChange};
use crate::agent::{Agent, OpenedSession, session_unavailable};
use crate::input::Step;
use crate::model_choice::ModelChoice;
use crate::pending::{Awaited, PendingId};
use crate::session::Session;
use crate::session::file_changes::track_files;
use crate::session::pending_changes::PendingNotes;
use crate::transcript::Transcript;

impl Session {
    /// Carries out a command that changes to another session. What is in progress was stopped before.
    pub(in crate::session) fn change_session(&mut self, request: Request) {
        if self.needs_idle(&request.command) {
            self.postpone(request);
            return self.stop();
        }
        let Request { origin, command } = request;
        match command {
            Command::NewSession { parent } => {
                let result = self.new_session(parent);
                self.reply(origin, result);
            }
            Command::SwitchSession { path } => self.switch_session(origin, &path),
            Command::Fork { entry, point } => self.fork(origin, entry, point),
            Command::Clone => self.clone_session(origin),
            _ => {}
        }
    }

    /// Starts another session. Nothing is written before its first message, so this takes no time.
    fn new_session(&mut self, parent: Option<String>) -> Result<Answer, Refusal> {
        let opened = self.agent.create(self.working_directory.clone(), parent)?;
        self.change_to(opened, SessionReason::New)?;
        Ok(Answer::SessionSwitched)
    }

    /// Starts another session with what came before a message of the user, or, where the policy says so, with
    /// everything up to an entry.
    fn fork(&mut self, origin: Origin, entry: String, point: Option<ForkPoint>) {
        let point = point.unwrap_or_else(|| self.agent.policy().fork_point);
        self.copy_session(origin, move |file| match point {
            ForkPoint::AfterEntry => Ok((file.fork_after(&entry)?, Answer::Forked { text: String::new() })),
            ForkPoint::BeforeUserMessage => {
                let fork = file.fork(&entry)?;
                Ok((fork.session, Answer::Forked { text: fork.text }))
            }
        });
    }

    /// Starts another session with the conversation as it is.
    fn clone_session(&mut self, origin: Origin) {
        self.copy_session(origin, |file| Ok((file.clone_at_leaf()?, Answer::SessionSwitched)));
    }

    fn switch_session(&mut self, origin: Origin, path: &Path) {
        let path = self.working_directory.join(path);
        if self.file().is_some_and(|current| is_same_file(current, &path)) {
            return self.reply(origin, Ok(Answer::SessionSwitched));
        }
        let (agent, working_directory) = (self.agent.clone(), self.working_directory.clone());
        self.change_in_background(origin, ChangeKind::Open(path.clone()), move || {
            Ok((agent.open_file(&path, &working_directory)?, Answer::SessionSwitched))
        });
    }

    /// Changes to a copy of the current session. Its file is shared with the thread that copies it.
    fn copy_session(
        &mut self,
        origin: Origin,
        copy: impl FnOnce(
            &bowline_session::Session,
        ) -> Result<(bowline_session::Session, Answer), bowline_session::Error>
        + Send
        + 'static,
    ) {
        let (file, agent) = (self.transcript.lend(), self.agent.clone());
        self.change_in_background(origin, ChangeKind::Copy, move || {
            let (session, answer) = copy(&file).map_err(session_unavailable)?;
            let mut opened = OpenedSession::new(session)?;
            opened.count_spent(&agent)?;
            Ok((opened, answer))
        });
    }

    fn change_in_background(
        &mut self,
        origin: Origin,
        kind: ChangeKind,
        open: impl FnOnce() -> Result<(OpenedSession, Answer), Refusal> + Send + 'static,
    ) {
        // A command that is bound to fail does so at once, and without ending what is in progress.
        let is_missing = matches!(&kind, ChangeKind::Open(path) if !path.exists());
        if is_missing || !self.activity.is_idle() {
            let changed = || Refusal::new(RefusalCode::Busy, "the session cannot be changed now; try again");
            let result = open().and_then(|_| Err(changed()));
            return self.reply(origin, result);
        }
        let id = self.pending.start(Awaited::SessionChange, |reporter| async move {
            let opened = tokio::task::spawn_blocking(open).await;
            let result = opened.unwrap_or_else(|error| {
                Err(Refusal::new(RefusalCode::Internal, format!("Internal error: {error}")))
            });
            reporter.send(Step::SessionReady(Box::new(result))).await;
        });
        self.activity = Activity::ChangingSession(SessionChange { id, origin, kind });
    }

    /// Changes to the session that was opened in the background, or stays with the current one.
    pub(in crate::session) fn session_ready(
        &mut self,
        id: PendingId,
        result: Result<(OpenedSession, Answer), Refusal>,
    ) {
        self.pending.remove(id);
        let Some(change) = self.activity.take_session_change() else { return };
        // The commands that ended meanwhile belong to the session that they were started in.
        self.record_held_commands();
        let reason =
            if change.kind == ChangeKind::Copy { SessionReason::Fork } else { SessionReason::Resume };
        let result = result.and_then(|(opened, answer)| self.change_to(opened, reason).map(|()| answer));
        self.reply(change.origin, result);
    }

    /// Leaves the current session for another. If that one cannot be used, everything stays as it was.
    fn change_to(&mut self, mut opened: OpenedSession, reason: SessionReason) -> Result<(), Refusal> {
        let notes = std::mem::take(&mut opened.notes);
        let (previous, target) = (self.file().map(ToOwned::to_owned), opened.file().map(ToOwned::to_owned));
        let directory = self.transcript.working_directory().to_owned();
        self.leave_session(reason, target);
        let spent = opened.spent();
        let mut models = self.models.for_next_session(&opened.context, self.agent.providers());
        self.transcript = enter(&self.agent, opened, &mut models)?;
        self.models = models;
        self.files = track_files(&self.agent, &self.transcript);
        self.pending_notes = PendingNotes::default();
        self.take_notes(notes);
        self.budget.enter(spent);
        self.futile_compaction = None;
        self.subagents.clear();
        self.drop_queued();
        if self.transcript.working_directory() == directory {
            self.announce_session(reason, previous);
        } else {
            // What takes part in a session depends on its folder.
            self.replace_hosts(reason, previous);
        }
        Ok(())
    }

    pub(super) fn set_session_name(&mut self, name: &str) -> Result<Answer, Refusal> {
        let name = name
            .split(['\r', '\n'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        if name.is_empty() {
            return Err(Refusal::new(RefusalCode::InvalidArgument, "Session name cannot be empty"));
        }
        let entry = self.transcript.append(EntryBody::SessionInfo { name: name.clone() })?;
        self.transcript.persist_now()?;
        self.emit(Event::SessionNameChanged { name, entry: Some(entry) });
        Ok(Answer::Done)
    }
}

/// Makes an opened session ready for use. A new one starts with entries for its model and thinking level.
pub(in crate::session) fn enter(
    agent: &Agent,
    mut opened: OpenedSession,
    models: &mut ModelChoice,
) -> Result<Transcript, Refusal> {
    let context = &opened.context;
    // A new session may have been named already.
    let is_new = context.model.is_none() && context.thinking_level.is_none() && context.messages.is_empty();
    opened.file.set_durability(agent.session_plan().durability);
    let mut transcript = Transcript::new(opened.file, opened.context);
    if is_new && let Some(model) = models.current() {
        let (provider, model_id) = (model.provider.clone(), model.id.clone());
        transcript.append(EntryBody::ModelChange { provider, model_id })?;
        let level = models.level();
        transcript.append(EntryBody::ThinkingLevelChange { level })?;
        models.set_recorded(level);
    }
    Ok(transcript)
}

pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
