//! The scripted model: its answers ([`reply`]), points where a stream waits for the test ([`gate`]), the requests
//! ([`request`]), the form of an answer in each API ([`anthropic_messages`], [`openai_completions`]), and the HTTP
//! server ([`server`]).

mod anthropic_messages;
pub(crate) mod gate;
mod openai_completions;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod server;
