//! Going on from another entry of the same session.

use bowline_core::command::{Origin, SummaryInstructions};
use bowline_core::event::EntryName;
use bowline_core::hook::HookEvent;
use bowline_core::reply::{Answer, Navigated, Refusal, RefusalCode};
use bowline_core::stream::StreamError;
use bowline_session::{EntryBody, Navigation};
use serde_json::Value;

use crate::activity::SummarySubject;
use crate::agent::session_unavailable;
use crate::compaction::{Subject, Summary};
use crate::session::compacting::summarization_failed;
use crate::session::{Continuation, Session};

/// The token limit of a branch summary.
const BRANCH_SUMMARY_TOKENS: u64 = 4096;

impl Session {
    /// Moves the conversation to an entry; the branch that is left may be summarised first.
    pub(super) fn navigate(
        &mut self,
        origin: Origin,
        entry: &str,
        summarize: bool,
        instructions: Option<SummaryInstructions>,
    ) {
        if instructions.is_some() && !summarize {
            let text = "Instructions are for a summary; set summarize to true";
            return self.reply(origin, Err(Refusal::new(RefusalCode::InvalidArgument, text)));
        }
        let navigation = match self.transcript.file().navigation(entry) {
            Ok(navigation) => navigation,
            Err(error) => return self.reply(origin, Err(session_unavailable(error))),
        };
        self.hook_navigation(entry, navigation, summarize, instructions, Continuation::Reply(origin));
    }

    /// Makes a move that extensions had nothing against.
    pub(in crate::session) fn carry_out_navigation(
        &mut self,
        navigation: Navigation,
        summarize: bool,
        instructions: Option<SummaryInstructions>,
        then: Continuation,
    ) {
        if !summarize || navigation.abandoned.is_empty() {
            let result = self.go_to(&navigation, None, None, false);
            return self.proceed(then, result);
        }
        let model = match self.check_model().and_then(|()| self.check_budget()) {
            Ok(()) => self.models.current().cloned(),
            Err(refusal) => return self.proceed(then, Err(refusal)),
        };
        let Some(model) = model else { return };
        let request = Subject::Branch { messages: navigation.abandoned.clone(), instructions };
        let subject = SummarySubject::Branch { navigation: Box::new(navigation) };
        self.summarize(model, request, BRANCH_SUMMARY_TOKENS, subject, then);
    }

    /// Moves the conversation once the branch it leaves is summarised.
    pub(in crate::session) fn branch_summarized(
        &mut self,
        navigation: &Navigation,
        result: Result<Summary, StreamError>,
        then: Continuation,
    ) {
        let result = result.map_err(summarization_failed);
        let outcome = result.and_then(|summary| self.go_to(navigation, Some(summary), None, false));
        self.proceed(then, outcome);
    }

    pub(in crate::session) fn go_to(
        &mut self,
        navigation: &Navigation,
        summary: Option<Summary>,
        details: Option<Value>,
        from_extension: bool,
    ) -> Result<Answer, Refusal> {
        let old_leaf = self.transcript.leaf();
        self.transcript.move_to(navigation)?;
        if let Some(summary) = &summary {
            self.budget.spend(&summary.usage);
        }
        let summary_entry = match summary {
            None => None,
            Some(summary) => Some(self.transcript.append(EntryBody::BranchSummary {
                from: navigation.old_leaf.clone(),
                summary: summary.text,
                details,
                usage: Some(summary.usage),
                from_hook: from_extension,
            })?),
        };
        self.futile_compaction = None;
        let notes = self.transcript.reload()?;
        self.take_notes(notes);
        self.models.forget_recorded();
        if !self.extensions.is_empty() {
            let written = |entry: &EntryName| self.transcript.file().written_entry(entry).ok();
            let summary_entry = summary_entry.as_ref().and_then(written).map(|line| line.get().into());
            let new_leaf = self.transcript.leaf();
            self.show_to_extensions(HookEvent::SessionTree {
                new_leaf,
                old_leaf,
                summary_entry,
                from_extension,
            });
        }
        Ok(Answer::Navigated(Navigated {
            leaf: self.transcript.leaf(),
            text: navigation.text.clone(),
            summary_entry,
        }))
    }
}
