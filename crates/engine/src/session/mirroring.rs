//! Giving extensions what they can read of the session without asking.

use std::sync::Arc;

use super::Session;
use crate::extension::Mirror;

impl Session {
    /// Gives extensions what has changed of the session since they were last called.
    pub(super) fn mirror(&mut self) {
        if self.extensions.is_empty() {
            return;
        }
        let wants_entries = self.extensions.iter().any(|extension| extension.wants_entries());
        let appended = self.transcript.take_appended();
        let entries: Vec<Arc<str>> = if wants_entries {
            let lines = appended.iter().filter_map(|entry| self.transcript.file().written_entry(entry).ok());
            lines.map(|line| line.get().into()).collect()
        } else {
            Vec::new()
        };
        if entries.is_empty() && self.last_mirror.as_ref().is_some_and(|last| self.is_mirrored(last)) {
            return;
        }
        let mirror = Arc::new(self.mirrored());
        for extension in self.extensions.iter() {
            extension.mirror(&mirror, if extension.wants_entries() { &entries } else { &[] });
        }
        self.last_mirror = Some(mirror);
    }

    fn mirrored(&self) -> Mirror {
        Mirror {
            model: self.models.current().cloned(),
            thinking_level: self.models.level(),
            scoped_models: Arc::clone(self.models.scope()),
            is_idle: self.activity.is_idle(),
            has_pending_messages: self.queues.len() > 0,
            active_tools: self.instructions.toolbox().names(),
            all_tools: self.instructions.known_tools(),
            commands: self.extensions.commands(),
            session_name: self.transcript.file().name().map(ToOwned::to_owned),
            session_id: self.id().to_owned(),
            session_file: self.file().map(ToOwned::to_owned),
            directory: self.transcript.working_directory().to_owned(),
            leaf: self.transcript.leaf(),
            context: self.context_usage(),
            screen: self.switches.screen,
        }
    }

    /// Tells whether extensions know all of the session already. This is asked at every hook, so nothing is copied, and
    /// the tools, whose schemas are long, are compared only if they are not the very same.
    fn is_mirrored(&self, last: &Mirror) -> bool {
        let Mirror {
            model,
            thinking_level,
            scoped_models,
            is_idle,
            has_pending_messages,
            active_tools,
            all_tools,
            commands,
            session_name,
            session_id,
            session_file,
            directory,
            leaf,
            context,
            screen,
        } = last;
        let is_same_model = match (model, self.models.current()) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same_model
            && *thinking_level == self.models.level()
            && is_same(scoped_models, self.models.scope())
            && *is_idle == self.activity.is_idle()
            && *has_pending_messages == (self.queues.len() > 0)
            && is_same(active_tools, &self.instructions.toolbox().names())
            && is_same(all_tools, &self.instructions.known_tools())
            && is_same(commands, &self.extensions.commands())
            && session_name.as_deref() == self.transcript.file().name()
            && session_id == self.id()
            && session_file.as_deref() == self.file()
            && directory == self.transcript.working_directory()
            && leaf.as_deref() == self.transcript.file().leaf().map(|leaf| leaf.as_str())
            && *context == self.context_usage()
            && *screen == self.switches.screen
    }
}

/// Compares lists that are usually the very same.
fn is_same<T: PartialEq>(one: &Arc<[T]>, other: &Arc<[T]>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}
