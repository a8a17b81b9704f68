//! Takes over stdin and stdout on Windows, where threads read and write them.

use std::io;

use crate::stand_in;
use crate::stdio::{Input, Output, Sink, Source};

/// Takes stdin and stdout away from the rest of the process.
///
/// Only this program's own discipline keeps others away from them here: the handles stay where they are.
pub fn take_over() -> io::Result<(Input, Output)> {
    let source = Source::Memory(stand_in::reader(io::stdin())?);
    let sink = Sink::StandIn(stand_in::writer(io::stdout())?);
    Ok((Input::new(source), Output::new(sink)))
}
