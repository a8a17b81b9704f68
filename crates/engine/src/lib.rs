//! The agent loop.
//!
//! [`Engine`] is a state machine with one closed [`Input`] enum: commands, pieces of a streamed answer, results of
//! tools, timers. Each input is handled at once and to the end, without waiting, so that admission is atomic by
//! construction; whatever takes time runs in a task of its own that comes back as another input. What the engine
//! has to say is queued as [`Output`] for the caller to fetch. It knows no dialect and serialises nothing.

mod admission;
mod answer;
mod commands;
mod compaction;
mod conversation;
mod engine;
mod estimate;
mod images;
mod queue;
mod recording;
mod refusal;
mod retry;
mod run;
mod settings;
mod system_prompt;
mod task;
mod tool_batch;

pub use engine::{Engine, Input, Output, Parts};
pub use settings::{CompactionLimits, CompactionSettings, RetrySettings, SessionPlan, Settings};
pub use system_prompt::SystemPrompt;
