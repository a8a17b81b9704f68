use super::*;
use bowline_core::stream::FailureKind;

const ANSWER: &str = include_str!("../fixtures/answer.sse");

fn decode(text: &str) -> Result<Vec<StreamEvent>, StreamError> {
    let mut decoder = Responses::default();
    let mut out = Vec::new();
    decoder.feed(text.as_bytes(), &mut out)?;
    decoder.finish(&mut out)?;
    Ok(out)
}

fn delta(index: usize, text: &str) -> StreamEvent {
    StreamEvent::Delta { index, text: text.into() }
}

fn call(id: &str, name: &str) -> BlockKind {
    BlockKind::ToolCall { id: id.into(), name: name.into() }
}

#[test]
fn answer_is_decoded() {
    let reasoning = r#"{"id":"rs_67ca","type":"reasoning","summary":[{"type":"summary_text","text":"**Looking** at files"}],"encrypted_content":"gAAAAABn"}"#;
    let mark = r#"{"v":1,"id":"msg_67cb","phase":"commentary"}"#;
    let counts = TokenCounts { input: 28, output: 52, cache_read: 300, cache_write: 0, reasoning: Some(12) };
    let expected = [
        StreamEvent::Started { response_id: Some("resp_67c9".into()) },
        StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
        delta(0, "**Looking**"),
        delta(0, " at “files”"),
        delta(0, "\n\n"),
        delta(0, "Then "),
        delta(0, "reading 😀"),
        StreamEvent::BlockEnd { index: 0, signature: Some(reasoning.into()) },
        StreamEvent::BlockStart { index: 1, kind: BlockKind::Text },
        delta(1, "I will "),
        delta(1, "look.\n"),
        StreamEvent::BlockEnd { index: 1, signature: Some(mark.into()) },
        StreamEvent::BlockStart { index: 2, kind: call("call_un|fc_67cc", "read") },
        delta(2, r#"{"path":"#),
        delta(2, r#""é.txt"}"#),
        StreamEvent::BlockEnd { index: 2, signature: None },
        StreamEvent::BlockStart { index: 3, kind: call("call_deux|fc_67cd", "ls") },
        delta(3, "{}"),
        StreamEvent::BlockEnd { index: 3, signature: None },
        StreamEvent::Tokens(counts),
        StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: Some("completed".into()) },
    ];
    assert_eq!(decode(ANSWER).unwrap(), expected);
}

#[test]
fn complete_answer_at_the_end_is_accepted() {
    let text = r#"data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[
data: {"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]},
data: {"type":"message","id":"m","content":[{"type":"output_text","text":"hi"},{"type":"refusal","refusal":" no"}]},
data: {"type":"function_call","id":"f","call_id":"c","name":"ls","arguments":"{}"}]}}"#;
    let events = decode(text).unwrap();
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Delta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["a\n\nb", "hi no", "{}"]);
}

#[track_caller]
fn check_end(frame: &str, expected: Result<StopReason, (FailureKind, &str)>) {
    let seen = decode(&format!("data: {frame}\n\n"));
    let seen = match &seen {
        Ok(events) => match events.last() {
            Some(StreamEvent::Done { reason, .. }) => Ok(*reason),
            other => panic!("{other:?}"),
        },
        Err(error) => Err((error.kind, error.message.as_str())),
    };
    assert_eq!(seen, expected);
}

#[test]
fn every_end_is_reported() {
    use FailureKind::{Incomplete, Protocol, RateLimited, Rejected, Unavailable};
    let incomplete = |reason: &str| {
        format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}}}}}}"#
        )
    };
    check_end(&incomplete("max_output_tokens"), Ok(StopReason::Length));
    check_end(
        &incomplete("content_filter"),
        Err((
            Rejected,
            "The provider withheld the rest of the answer (content_filter). Change the request and try again.",
        )),
    );
    check_end(
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oops"}}}"#,
        Err((Unavailable, "server_error: Oops")),
    );
    check_end(
        r#"{"type":"response.failed","response":{"status":"failed","error":null}}"#,
        Err((Unavailable, "The provider reported an error: the response was failed")),
    );
    check_end(
        r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down","param":null}"#,
        Err((RateLimited, "rate_limit_exceeded: Slow down")),
    );
    check_end(
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"No"}}"#,
        Err((Rejected, "invalid_request_error: No")),
    );
    check_end("[DONE]", Err((Incomplete, &frame::cut().message)));
    let broken = decode("data: {\"type\":\"response.output_text.delta\",\"delta\":7}\n\n");
    assert_eq!(broken.unwrap_err().kind, Protocol);
}
