//! A prompt whose images are too large for a model. They are resized in the background; only then can the prompt be
//! accepted, and until then the session counts as running.

use bowline_core::command::Draft;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_tools::fit_images;

use super::Session;
use super::prompting::Submission;
use crate::activity::{Activity, Preparing};
use crate::input::Step;
use crate::pending::{Awaited, PendingId};

impl Session {
    /// Resizes the images of a prompt.
    pub(super) fn resize_images(&mut self, submission: Submission) {
        let Submission { origin, message, receipt } = submission;
        let id = self.pending.start(Awaited::Images, |reporter| async move {
            let Draft { text, images } = message;
            let text_alone = text.clone();
            let work = tokio::task::spawn_blocking(move || fit_images(text, images));
            let (text, images) = work.await.unwrap_or((text_alone, Vec::new()));
            reporter.send(Step::ImagesResized(Draft { text, images })).await;
        });
        self.activity = Activity::Preparing(Preparing { id, origin, receipt, aborts: Vec::new() });
    }

    /// Starts the run whose images are small enough.
    pub(super) fn images_resized(&mut self, id: PendingId, message: Draft) {
        self.pending.remove(id);
        if let Some(preparing) = self.activity.take_preparing() {
            self.begin(Submission { origin: preparing.origin, message, receipt: preparing.receipt });
        }
    }

    /// Refuses a prompt that was aborted before its run started.
    pub(super) fn images_aborted(&mut self) {
        self.refuse_preparing(&Refusal::new(RefusalCode::Cancelled, "the prompt was aborted"));
    }

    /// Refuses a prompt whose images are being resized.
    pub(super) fn refuse_preparing(&mut self, refusal: &Refusal) {
        let Some(preparing) = self.activity.take_preparing() else { return };
        self.pending.remove(preparing.id);
        self.reply(preparing.origin, Err(refusal.clone()));
        for origin in preparing.aborts {
            self.reply(origin, Ok(Answer::Done));
        }
    }
}
