//! Running a program for an extension. It gets what commands get, and leaves nothing running.

use std::sync::Arc;
use std::time::Duration;

use bowline_tools::{Service, ServiceEnd, ServiceLaunch, ServicePipes};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{Asked, json};
use crate::protocol::{ExecParams, ExecResult};

/// How much of each output is returned, in bytes.
const MOST_OUTPUT: usize = 8 * 1024 * 1024;

/// How long the output is read for after the program has exited: something that it left may hold it open.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

pub(super) async fn run(asked: &Asked<'_>, params: ExecParams) -> Result<Value, String> {
    let directory = &asked.extension.about.directory;
    let launch = ServiceLaunch {
        program: params.command,
        arguments: params.args,
        environment: Vec::new(),
        working_directory: params.cwd.map_or_else(|| directory.clone(), |cwd| directory.join(cwd)),
        options: Arc::clone(&asked.extension.plan.options),
    };
    let (mut service, pipes) = match Service::start(&launch) {
        Ok(started) => started,
        Err(error) => return json(&not_started(&error.to_string())),
    };
    let ServicePipes { stdin, stdout, stderr } = pipes;
    drop(stdin);
    let (mut output, mut errors) = (Output::default(), Output::default());
    let reading = async { tokio::join!(output.read(stdout), errors.read(stderr)) };
    let mut reading = Box::pin(reading);
    let time_is_up = async {
        match params.timeout {
            Some(timeout) => tokio::time::sleep(Duration::from_millis(timeout)).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(time_is_up);
    let mut is_read = false;
    let end = loop {
        tokio::select! {
            end = service.wait() => break Some(end),
            _ = &mut reading, if !is_read => is_read = true,
            () = &mut time_is_up => break None,
            () = asked.cancel.cancelled() => break None,
        }
    };
    // What is killed closes its output.
    let killed = end.is_none();
    drop(service);
    if !is_read {
        let _ = tokio::time::timeout(LAST_OUTPUT, &mut reading).await;
    }
    drop(reading);
    let code = match end {
        Some(ServiceEnd::Exited { code }) => code,
        Some(ServiceEnd::Signalled { signal }) => 128 + signal,
        None => 0,
    };
    json(&ExecResult {
        stdout: output.text(),
        stderr: errors.text(),
        code,
        killed,
        truncated: output.is_cut || errors.is_cut,
    })
}

fn not_started(error: &str) -> ExecResult {
    let stderr = error.to_owned();
    ExecResult { stdout: String::new(), stderr, code: 1, killed: false, truncated: false }
}

/// The beginning of what a program writes.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Output {
    /// Reads until the end; what is too much is read and left out.
    async fn read(&mut self, mut input: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = input.read(&mut buffer).await {
            let room = MOST_OUTPUT - self.bytes.len();
            self.is_cut |= length > room;
            self.bytes.extend_from_slice(&buffer[..length.min(room)]);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
