use super::*;

const ANSWER: &str = include_str!("../fixtures/answer.sse");

fn decode(text: &str) -> Result<Vec<StreamEvent>, StreamError> {
    let mut decoder = Contents::default();
    let mut out = Vec::new();
    decoder.feed(text.as_bytes(), &mut out)?;
    decoder.finish(&mut out)?;
    Ok(out)
}

#[test]
fn answer_is_decoded() {
    let delta = |index: usize, text: &str| StreamEvent::Delta { index, text: text.into() };
    let call = |id: &str, name: &str| BlockKind::ToolCall { id: id.into(), name: name.into() };
    let end = |index: usize, signature: Option<&str>| StreamEvent::BlockEnd {
        index,
        signature: signature.map(str::to_owned),
    };
    let first = TokenCounts { input: 40, ..TokenCounts::default() };
    let counts = TokenCounts { input: 10, output: 14, cache_read: 30, cache_write: 0, reasoning: Some(5) };
    let expected = [
        StreamEvent::Started { response_id: Some("r-4x".into()) },
        StreamEvent::Tokens(first),
        StreamEvent::BlockStart { index: 0, kind: BlockKind::Thinking },
        delta(0, "**Plan**\n"),
        delta(0, "look at “é” 😀"),
        end(0, Some("c2lnMQ==")),
        StreamEvent::BlockStart { index: 1, kind: BlockKind::Text },
        delta(1, "I will "),
        delta(1, "look."),
        end(1, Some("c2lnMg==")),
        StreamEvent::BlockStart { index: 2, kind: call("call_r-4x_0", "read") },
        delta(2, r#"{"path": "é.txt", "limit": 3}"#),
        end(2, Some("c2lnMw==")),
        StreamEvent::BlockStart { index: 3, kind: call("fn-7", "ls") },
        delta(3, "{}"),
        end(3, None),
        StreamEvent::BlockStart { index: 4, kind: call("call_r-4x_2", "pwd") },
        delta(4, "{}"),
        end(4, None),
        StreamEvent::Tokens(counts),
        StreamEvent::Done { reason: StopReason::ToolUse, raw_reason: Some("STOP".into()) },
    ];
    assert_eq!(decode(ANSWER).unwrap(), expected);
}

#[test]
fn ids_are_unique_even_where_the_provider_gives_none() {
    let text = r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls"}},{"functionCall":{"id":"a","name":"ls"}},{"functionCall":{"id":"a","name":"ls"}}]},"finishReason":"STOP"}]}"#;
    let mut seen = std::collections::HashSet::new();
    for event in [decode(text).unwrap(), decode(text).unwrap()].concat() {
        if let StreamEvent::BlockStart { kind: BlockKind::ToolCall { id, .. }, .. } = event {
            seen.insert(id);
        }
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[track_caller]
fn check_failure(text: &str, kind: FailureKind, message: &str) {
    let error = decode(text).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (kind, message));
}

#[test]
fn every_end_is_reported() {
    use FailureKind::{Incomplete, Protocol, RateLimited, Rejected, Unavailable};
    let ended = |reason: &str| format!("data: {{\"candidates\":[{{\"finishReason\":\"{reason}\"}}]}}\n\n");
    let done = |text: &str| decode(text).unwrap().pop();
    let length = StreamEvent::Done { reason: StopReason::Length, raw_reason: Some("MAX_TOKENS".into()) };
    assert_eq!(done(&ended("MAX_TOKENS")), Some(length));
    let withheld = |reason: &str| frame::withheld(reason).message;
    check_failure(&ended("SAFETY"), Rejected, &withheld("SAFETY"));
    check_failure(
        &ended("MALFORMED_FUNCTION_CALL"),
        Unavailable,
        "MALFORMED_FUNCTION_CALL: the model did not finish its answer",
    );
    let blocked = r#"data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#;
    check_failure(blocked, Rejected, &withheld("PROHIBITED_CONTENT"));
    let error = r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#;
    let expected = "503 Service Unavailable: The model is overloaded.";
    check_failure(&format!("data: {error}\n\n"), Unavailable, expected);
    check_failure(&format!("data: [{error}]\n\n"), Unavailable, expected);
    check_failure(&format!("[{error}\n]"), Unavailable, expected);
    check_failure(error, Unavailable, expected);
    let slow = r#"{"error":{"code":429,"message":"Slow down"}}"#;
    check_failure(slow, RateLimited, "429 Too Many Requests: Slow down");
    check_failure("", Incomplete, &frame::cut().message);
    assert_eq!(decode("data: {\"candidates\":7}\n\n").unwrap_err().kind, Protocol);
}
