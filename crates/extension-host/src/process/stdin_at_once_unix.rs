//! Writing to the stdin of a process without waiting.

use std::fs::File;
use std::os::fd::AsFd as _;

use tokio::process::ChildStdin;

/// Returns a second way to write to a pipe, which fails instead of waiting for room, as the pipe itself does: the two share
/// their flags, and the runtime has made the pipe non-blocking.
pub(crate) fn of(stdin: &ChildStdin) -> Option<File> {
    stdin.as_fd().try_clone_to_owned().ok().map(File::from)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write as _};
    use std::process::Stdio;

    use tokio::process::Command;

    use super::*;

    #[tokio::test]
    async fn full_pipe_is_not_waited_for() {
        let mut command = Command::new("sleep");
        let mut child = command.arg("60").stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut output = of(&stdin).unwrap();
        let block = [b'x'; 64 * 1024];
        let error = std::iter::repeat_with(|| output.write(&block)).find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}
