//! The session as a page to read.

use std::path::PathBuf;

use bowline_core::reply::{Answer, Refusal, RefusalCode};

use crate::engine::Engine;

impl Engine {
    pub(crate) fn export_html(&self, _path: Option<PathBuf>) -> Result<Answer, Refusal> {
        Err(Refusal::new(RefusalCode::InvalidArgument, "to come"))
    }
}
