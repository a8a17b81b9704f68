//! A call of a tool: it ends with the answer, with a time-out that progress postpones, at once when it is cancelled, or
//! with the session.

use std::time::Duration;

use bowline_core::message::{Arguments, Content};
use bowline_tools::{CallContext, Progress};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequest, InputRequests,
    InputResponses, ProgressNotificationParam, ServerResult,
};
use rmcp::service::RequestHandle;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;
use crate::error::Error;
use crate::limits::{LONGEST_CALL, LONGEST_PROGRESS, MOST_ROUNDS, PROGRESS_PAUSE, beginning};

/// How long the server may take to read that a call is cancelled.
const CANCELLING: Duration = Duration::from_secs(5);

impl Connection {
    /// Calls a tool.
    pub async fn call(
        &self,
        tool: String,
        arguments: Arguments,
        context: &CallContext,
        limit: Duration,
    ) -> Result<CallToolResult, Error> {
        let _entry = self.handler.begin_call(context.session_id.clone());
        let mut params = CallToolRequestParams::new(tool).with_arguments(arguments);
        for _ in 0..MOST_ROUNDS {
            match self.round(params.clone(), context, limit).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                // The newest protocol asks for input in this way.
                ServerResult::InputRequiredResult(result) => {
                    let requests = result.input_requests.unwrap_or_default();
                    params.input_responses = Some(self.input(requests, context).await?);
                    params.request_state = result.request_state;
                }
                _ => return Err(self.invalid("it is not the result of a call")),
            }
        }
        Err(self.invalid("it asked for input too often"))
    }

    fn invalid(&self, text: &str) -> Error {
        Error::Answer { server: self.server.clone(), text: text.to_owned() }
    }

    /// Answers what the server wants to know before it goes on.
    async fn input(&self, requests: InputRequests, context: &CallContext) -> Result<InputResponses, Error> {
        let mut responses = InputResponses::default();
        for (key, request) in requests {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    let result = tokio::select! {
                        result = self.handler.elicit(request.params) => result,
                        () = context.cancel.cancelled() => return Err(Error::Aborted),
                    };
                    serde_json::to_value(result)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(self.handler.roots()),
                _ => return Err(self.invalid("it asked for something that bowline does not offer")),
            };
            responses.insert(key, response.unwrap_or_default());
        }
        Ok(responses)
    }

    async fn round(
        &self,
        params: CallToolRequestParams,
        context: &CallContext,
        limit: Duration,
    ) -> Result<ServerResult, Error> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(Error::Aborted),
            () = self.end.cancelled() => return Err(self.closed()),
            sent = self.send(request) => sent,
        };
        let mut handle = InFlight(Some(sent.map_err(|error| self.error(&error, limit))?));
        let Some(request) = &mut handle.0 else { return Err(Error::Aborted) };
        let mut progress = self.handler.follow(request.progress_token.clone());
        let mut report = Report::new(context);
        let started = Instant::now();
        let mut deadline = started + limit;
        loop {
            let due = report.due();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => break Err(Error::Aborted),
                // Before the answer, which comes after it.
                Some(notification) = progress.reports.recv() => {
                    deadline = Instant::now() + limit;
                    report.add(notification);
                }
                answer = &mut request.rx => {
                    handle.0 = None;
                    report.send();
                    return match answer {
                        Ok(answer) => answer.map_err(|error| self.error(&error, limit)),
                        Err(_) => Err(self.closed()),
                    };
                }
                () = self.end.cancelled() => break Err(self.closed()),
                () = sleep_until(due.unwrap_or(started)), if due.is_some() => report.send(),
                () = sleep_until(deadline) => {
                    // The user may take any time to answer a question.
                    if !self.handler.is_asking() {
                        break Err(Error::CallTimeout { server: self.server.clone(), limit });
                    }
                    deadline = Instant::now() + limit;
                }
                () = sleep_until(started + LONGEST_CALL.max(limit)) => {
                    break Err(Error::CallTooLong { server: self.server.clone(), limit: LONGEST_CALL.max(limit) });
                }
            }
        }
    }
}

/// A request that the server is working on; it is told when nobody waits for the answer any longer.
struct InFlight(Option<RequestHandle<RoleClient>>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(handle) = self.0.take() else { return };
        // The server may take its time to read it, and the caller must not wait for that.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let reason = Some("The call was cancelled".to_owned());
                let _ = tokio::time::timeout(CANCELLING, handle.cancel(reason)).await;
            });
        }
    }
}

/// The progress of a call, reported no more often than anyone can read it.
struct Report<'a> {
    context: &'a CallContext,
    latest: Option<ProgressNotificationParam>,
    last: Option<Instant>,
}

impl<'a> Report<'a> {
    fn new(context: &'a CallContext) -> Self {
        Self { context, latest: None, last: None }
    }

    fn add(&mut self, notification: ProgressNotificationParam) {
        self.latest = Some(notification);
        if self.last.is_none_or(|last| last.elapsed() >= PROGRESS_PAUSE) {
            self.send();
        }
    }

    /// Returns when the latest report is to be sent.
    fn due(&self) -> Option<Instant> {
        self.latest.as_ref()?;
        Some(self.last? + PROGRESS_PAUSE)
    }

    fn send(&mut self) {
        let Some(latest) = self.latest.take() else { return };
        self.last = Some(Instant::now());
        let message = latest.message.map(|message| beginning(&message, LONGEST_PROGRESS));
        let content = vec![Content::text(line(latest.progress, latest.total, message.as_deref()))];
        let mut details = json!({"progress": latest.progress});
        if let Some(total) = latest.total {
            details["total"] = json!(total);
        }
        if let Some(message) = message {
            details["message"] = Value::String(message);
        }
        (self.context.progress)(Progress { content, details: Some(details) });
    }
}

/// Returns progress in words: `3 of 10: copying`.
fn line(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let count = match total {
        Some(total) => format!("{progress} of {total}"),
        None => progress.to_string(),
    };
    match message {
        Some(message) if !message.is_empty() => format!("{count}: {message}"),
        _ => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_line() {
        assert_eq!(line(3.0, Some(10.0), Some("copying")), "3 of 10: copying");
        assert_eq!(line(0.5, None, None), "0.5");
    }
}
