//! Messages whose images are too large for a model. The images are resized in the background. Only then is the message
//! accepted; while a prompt waits for that, the session counts as running.

use bowline_core::command::{Draft, Queue};
use bowline_core::policy::IdleQueue;
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_tools::fit_images;

use super::Session;
use super::admission::shutting_down;
use super::prompting::Submission;
use crate::activity::{Activity, Preparing};
use crate::input::Step;
use crate::pending::{Awaited, PendingId, QueuedImages};

impl Session {
    /// Tells whether a message has images that are too large.
    pub(super) fn needs_resizing(&self, message: &Draft) -> bool {
        self.agent.settings().resize_images && !message.images.iter().all(bowline_tools::image_fits)
    }

    /// Resizes the images of a prompt.
    pub(super) fn resize_images(&mut self, submission: Submission) {
        let Submission { origin, message, receipt, additions, .. } = submission;
        let id = self.start_resizing(Awaited::Images { additions }, message);
        self.activity = Activity::Preparing(Preparing { id, origin, receipt, aborts: Vec::new() });
    }

    /// Resizes the images of a message that is for a queue.
    pub(super) fn resize_queued_images(
        &mut self,
        submission: Submission,
        queue: Queue,
        otherwise: IdleQueue,
    ) {
        let Submission { origin, message, receipt, .. } = submission;
        let queued = QueuedImages { origin, receipt, queue, otherwise };
        self.start_resizing(Awaited::QueuedImages(queued), message);
    }

    fn start_resizing(&mut self, awaited: Awaited, message: Draft) -> PendingId {
        self.pending.start(awaited, |reporter| async move {
            let Draft { text, images, attachments, source, output } = message;
            let text_alone = text.clone();
            let work = tokio::task::spawn_blocking(move || fit_images(text, images));
            let (text, images) = work.await.unwrap_or((text_alone, Vec::new()));
            reporter.send(Step::ImagesResized(Draft { text, images, attachments, source, output })).await;
        })
    }

    /// Queues a message whose images are small enough. Its run may have ended meanwhile.
    pub(super) fn queued_images_resized(&mut self, id: PendingId, message: Draft) {
        let Some(Awaited::QueuedImages(queued)) = self.pending.remove(id) else { return };
        let QueuedImages { origin, receipt, queue, otherwise } = queued;
        if self.shutting_down {
            return self.reply(origin, Err(shutting_down()));
        }
        if !self.activity.is_running() && otherwise == IdleQueue::StartsRun {
            let submission = Submission::new(origin, message, receipt);
            return self.prompt(submission, Some(queue));
        }
        let answer = self.enqueue(message, queue);
        self.reply_accepted(origin, receipt, answer);
    }

    /// Refuses a message for a queue whose images were being resized.
    pub(super) fn refuse_queued_images(&mut self, id: PendingId, refusal: Refusal) {
        if let Some(Awaited::QueuedImages(QueuedImages { origin, .. })) = self.pending.remove(id) {
            self.reply(origin, Err(refusal));
        }
    }

    /// Starts the run whose images are small enough.
    pub(super) fn images_resized(&mut self, id: PendingId, message: Draft) {
        let Some(Awaited::Images { additions }) = self.pending.remove(id) else { return };
        if let Some(Preparing { origin, receipt, .. }) = self.activity.take_preparing() {
            self.prepare_start(Submission { additions, ..Submission::new(origin, message, receipt) });
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
