//! Images of a prompt that are too large for a model. Making them smaller takes a while, and only then can the prompt be
//! accepted; whatever comes meanwhile finds a run.

use bowline_core::command::{Draft, Origin};
use bowline_core::reply::{Answer, Refusal, RefusalCode};
use bowline_tools::fit_images;

use crate::engine::{Engine, Input};
use crate::run::{Phase, Run};
use crate::task::Task;

/// A prompt whose images are made smaller.
#[derive(Debug)]
pub(crate) struct Resizing {
    number: u64,
    origin: Origin,
    _task: Task,
}

impl Engine {
    /// Makes the images of a prompt smaller.
    pub(crate) fn resize_images(&mut self, origin: Origin, message: Draft) {
        let number = self.next_number();
        let inputs = self.inputs.clone();
        let task = Task::spawn(async move {
            let Draft { text, images } = message;
            let text_alone = text.clone();
            let work = tokio::task::spawn_blocking(move || fit_images(text, images));
            let (text, images) = work.await.unwrap_or((text_alone, Vec::new()));
            let _ = inputs.send(Input::Resized { number, message: Draft { text, images } }).await;
        });
        self.run = Some(Run::new(Phase::Images(Resizing { number, origin, _task: task }), None));
    }

    /// Starts the run whose images are small enough, unless it is no longer waited for.
    pub(crate) fn images_resized(&mut self, number: u64, message: Draft) {
        let is_meant =
            |run: &mut Run| matches!(&run.phase, Phase::Images(resizing) if resizing.number == number);
        if let Some(Run { phase: Phase::Images(resizing), .. }) = self.run.take_if(is_meant) {
            self.record_finished_shells();
            self.begin(resizing.origin, message);
        }
    }

    /// Refuses the prompt of a run that was aborted before there was anything to tell of it.
    pub(crate) fn images_aborted(&mut self, resizing: Resizing) {
        let aborts = self.run.take().map(|run| run.aborts).unwrap_or_default();
        self.record_finished_shells();
        self.reply(resizing.origin, Err(Refusal::new(RefusalCode::Cancelled, "the prompt was aborted")));
        for origin in aborts {
            self.reply(origin, Ok(Answer::Done));
        }
    }
}
