//! Subagents of a session: what a call of `task` needs to start them, and what they report.

use std::sync::Arc;

use bowline_core::event::Event;
use bowline_core::subagent::{SubagentEvent, Subscription};
use bowline_tools::Tool;

use super::Session;
use crate::run::Run;
use crate::subagents::{Delegation, Place, TASK_TOOL, is_task_tool};

impl Session {
    /// Makes this the session of a subagent.
    pub(crate) fn become_child(&mut self, place: Place) {
        self.subagents.place = place;
    }

    /// Returns what a call needs to start subagents; none if its tool is another one, also one of that name.
    pub(super) fn delegation(&self, index: usize, tool: &dyn Tool) -> Option<Delegation> {
        let call = self.batch()?.call(index)?;
        if call.tool != TASK_TOOL || !is_task_tool(tool.traits()) {
            return None;
        }
        Some(Delegation {
            agent: self.agent.clone(),
            toolbox: self.instructions.toolbox().clone(),
            model: self.run().map(Run::model).map(Arc::clone)?,
            thinking: self.models.level(),
            resources: self.instructions.resources().clone(),
            working_directory: self.transcript.working_directory().to_owned(),
            session_file: self.file().map(ToOwned::to_owned),
            session_id: self.transcript.session_id().to_owned(),
            call_id: call.id.clone(),
            place: self.subagents.place.clone(),
            permits: Arc::clone(&self.subagents.permits),
            names: Arc::clone(&self.subagents.names),
            extensions: self.extensions.iter().cloned().collect(),
        })
    }

    /// Takes what happened to a subagent. Clients learn of it as they have asked to; the session of a subagent passes on
    /// everything, because the one above it has the client.
    pub(super) fn subagent_reported(&mut self, event: SubagentEvent) {
        self.subagents.note(&event);
        let level = self.subagents.place.watch.level();
        let is_wanted = match &event {
            SubagentEvent::Inner { .. } => level == Subscription::Events,
            _ => level != Subscription::Off || self.subagents.place.depth > 0,
        };
        if is_wanted {
            self.emit(Event::Subagent(event));
        }
    }

    /// Notes that the subagents of a call have ended, if the call was dropped before they could report it.
    pub(super) fn end_subagents_of(&mut self, call_id: &str) {
        for subagent in self.subagents.left_by(call_id) {
            self.subagent_reported(SubagentEvent::Ended(subagent));
        }
    }
}
