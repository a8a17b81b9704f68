//! Model providers: requests, streamed answers, models, credentials.
mod assembly;
mod error;
mod request;
mod choose { pub(crate) const LEVELS: &str = "off"; }
mod stub;
pub use assembly::Assembly;
pub use error::Error;
pub use request::{AnswerStream, ModelRequest};
pub use stub::*;
