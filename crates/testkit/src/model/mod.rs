//! The scripted model: what it answers ([`reply`]), where a stream waits for the test ([`gate`]), what it was asked
//! ([`request`]), how an answer looks in each API ([`anthropic_messages`], [`openai_completions`]), and the HTTP around
//! all of it ([`server`]).

mod anthropic_messages;
pub(crate) mod gate;
mod openai_completions;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod server;
