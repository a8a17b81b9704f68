//! Going on from another entry of the same session.

use bowline_core::command::Origin;
use bowline_core::reply::{Answer, Navigated, Refusal, RefusalCode};
use bowline_core::stream::StreamError;
use bowline_session::Navigation;

use crate::commands::sessions::unavailable;
use crate::commands::tree::name;
use crate::compaction::{Subject, Summarizing, Summary};
use crate::engine::Engine;

/// The most that a summary of a branch may cost.
const BRANCH_SUMMARY_TOKENS: u64 = 4096;

/// A move in the tree that waits for the summary of the branch it leaves.
#[derive(Debug)]
pub(crate) struct Navigating {
    pub summarizing: Summarizing,
    origin: Origin,
    navigation: Navigation,
}

impl Engine {
    pub(crate) fn is_navigating(&self) -> bool {
        self.navigating.is_some()
    }

    /// Moves the conversation to an entry; the branch that is left may be summarised first.
    pub(crate) fn navigate(
        &mut self,
        origin: Origin,
        entry: &str,
        summarize: bool,
        instructions: Option<String>,
    ) {
        let navigation = match self.session.navigation(entry) {
            Ok(navigation) => navigation,
            Err(error) => return self.reply(origin, Err(unavailable(error))),
        };
        if !summarize || navigation.abandoned.is_empty() {
            let result = self.go_to(&navigation, None);
            return self.reply(origin, result);
        }
        if let Err(refusal) = self.check_model() {
            return self.reply(origin, Err(refusal));
        }
        let subject = Subject::Branch { messages: navigation.abandoned.clone(), instructions };
        let summarizing = self.summarize(subject, BRANCH_SUMMARY_TOKENS);
        self.navigating = Some(Navigating { summarizing, origin, navigation });
    }

    /// Takes in the summary of a branch.
    pub(crate) fn branch_summary_came(&mut self, result: Result<Summary, StreamError>) {
        let Some(Navigating { origin, navigation, .. }) = self.navigating.take() else { return };
        let result = match result {
            Ok(summary) => self.go_to(&navigation, Some(summary)),
            Err(error) => {
                let text = format!("Summarization failed: {}", error.message);
                Err(Refusal::new(RefusalCode::ModelFailed, text))
            }
        };
        self.reply(origin, result);
    }

    pub(crate) fn abort_navigation(&mut self) {
        if let Some(Navigating { summarizing, origin, .. }) = self.navigating.take() {
            self.abort_summary(&summarizing);
            self.reply(origin, Err(Refusal::new(RefusalCode::Cancelled, "Navigation cancelled")));
        }
    }

    fn go_to(&mut self, navigation: &Navigation, summary: Option<Summary>) -> Result<Answer, Refusal> {
        self.session.move_leaf(navigation.leaf.as_ref()).map_err(unavailable)?;
        let summary_entry = match summary {
            Some(summary) => Some(self.append_branch_summary(navigation.old_leaf.clone(), summary)?),
            None => None,
        };
        self.futile_compaction = None;
        self.reload_conversation()?;
        Ok(Answer::Navigated(Navigated {
            leaf: self.session.leaf().map(name),
            text: navigation.text.clone(),
            summary_entry,
        }))
    }
}
