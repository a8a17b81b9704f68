//! A provider that is faulty or hostile: whatever it sends, the run ends once and says why, the memory stays bounded, and
//! the next prompt works.

mod server;

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use bowline_testkit::{
    Agent, Api, Launch, announced, assert_well_formed, of_type, peak_memory_of, session_messages,
};
use serde_json::{Value, json};
use server::{
    Hostile, Hostility, STREAM, arguments, begin, begin_call, begin_text, delta, drip, end, event, piece,
    repeat, text,
};

/// The most memory that bowline may ever have used, in KiB. An answer of the largest size is in memory several times:
/// in the answer itself, and in the records that end the block, the message, the turn and the attempt.
const MOST_MEMORY: u64 = 192 * 1024;

const APIS: [Api; 2] = [Api::AnthropicMessages, Api::OpenaiCompletions];

/// What a hostile answer may lead to. `DONE` is a run without an error.
struct Case {
    name: &'static str,
    kinds: &'static [&'static str],
    hostility: Hostility,
    settings: fn() -> Value,
}

const DONE: &str = "";

fn case(name: &'static str, kinds: &'static [&'static str], hostility: Hostility) -> Case {
    Case { name, kinds, hostility, settings: || json!({}) }
}

/// A case that only a time limit ends.
fn slow_case(name: &'static str, kinds: &'static [&'static str], hostility: Hostility) -> Case {
    let settings = || json!({ "httpTotalTimeoutMs": 700 });
    Case { name, kinds, hostility, settings }
}

fn answer(socket: &mut TcpStream, head: &str, body: &[u8]) -> io::Result<()> {
    write!(socket, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n")?;
    socket.write_all(body)
}

/// Answers that go on for ever.
fn endless() -> Vec<Case> {
    vec![
        case("text", &["answer_too_large"], |socket, api| {
            begin_text(socket, api)?;
            let much = "alpha bravo ".repeat(5000);
            loop {
                text(socket, api, &much)?;
            }
        }),
        case("comments", &["answer_too_large"], |socket, api| {
            begin_text(socket, api)?;
            repeat(socket, format!(": {}\n", "x".repeat(1000)).as_bytes())
        }),
        case("line", &["answer_too_large"], |socket, api| {
            begin_text(socket, api)?;
            socket.write_all(b"data: ")?;
            repeat(socket, b"x")
        }),
        case("event of many lines", &["answer_too_large"], |socket, api| {
            begin_text(socket, api)?;
            repeat(socket, b"data: x\n")
        }),
        case("signature", &["answer_too_large"], |socket, api| {
            begin(socket, api, &json!({ "type": "thinking", "thinking": "" }))?;
            let much = "c2ln".repeat(15_000);
            loop {
                match api {
                    Api::AnthropicMessages => {
                        delta(socket, &json!({ "type": "signature_delta", "signature": much }))?;
                    }
                    Api::OpenaiCompletions => piece(socket, &json!({ "reasoning_content": much }))?,
                }
            }
        }),
        case("blocks", &["answer_too_large"], |socket, api| {
            begin_text(socket, api)?;
            for index in 1.. {
                match api {
                    Api::AnthropicMessages => {
                        let block = json!({ "type": "text", "text": "x" });
                        let start =
                            json!({ "type": "content_block_start", "index": index, "content_block": block });
                        event(socket, &start)?;
                    }
                    Api::OpenaiCompletions => {
                        let name = if index % 2 == 0 { "content" } else { "reasoning" };
                        piece(socket, &json!({ name: "x" }))?;
                    }
                }
            }
            Ok(())
        }),
        case("arguments", &["answer_too_large"], |socket, api| {
            begin_call(socket, api, "call_1", "read")?;
            arguments(socket, api, r#"{"path":"a","many":["#)?;
            let much = "1,".repeat(30_000);
            loop {
                arguments(socket, api, &much)?;
            }
        }),
        case("name of a call", &["answer_too_large"], |socket, api| {
            begin_call(socket, api, "call_1", &"x".repeat(7_000_000))?;
            end(socket, api, "tool_use", &json!({}))
        }),
        case("header", &["network"], |socket, _| {
            socket.write_all(b"HTTP/1.1 200 OK\r\nX-Long: ")?;
            repeat(socket, b"x")
        }),
        case("headers", &["network"], |socket, _| {
            socket.write_all(b"HTTP/1.1 200 OK\r\n")?;
            repeat(socket, b"X-One: more\r\n")
        }),
        case("status line", &["network"], |socket, _| repeat(socket, b"HTTP/1.1 200 OK OK OK ")),
        case("error body", &["refused"], |socket, _| {
            answer(socket, "400 Bad Request", b"{\"error\":{\"message\":\"")?;
            repeat(socket, b"no ")
        }),
        slow_case("preliminary answers", &["answer_too_slow", "timeout", "network"], |socket, _| {
            drip(socket, &b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100))
        }),
        slow_case("slow comments", &["answer_too_slow"], |socket, api| {
            begin_text(socket, api)?;
            drip(socket, b":\n")
        }),
        slow_case("slow bytes of an event", &["answer_too_slow"], |socket, api| {
            begin_text(socket, api)?;
            socket.write_all(b"data: ")?;
            drip(socket, b" ")
        }),
        slow_case("slow bytes of a header", &["answer_too_slow"], |socket, _| {
            socket.write_all(b"HTTP/1.1 200 OK\r\nX-Long: ")?;
            drip(socket, b"x")
        }),
        slow_case("slow bytes of an error body", &["overloaded"], |socket, _| {
            answer(socket, "503 Service Unavailable", b"wait")?;
            drip(socket, b".")
        }),
    ]
}

/// Answers that are not what they should be.
fn malformed() -> Vec<Case> {
    vec![
        case("nonsense", &["bad_answer"], |socket, api| {
            begin_text(socket, api)?;
            socket.write_all(b"data: {]\n\n")
        }),
        case("another type of value", &["bad_answer"], |socket, api| {
            begin_text(socket, api)?;
            socket.write_all(format!("data: [{}]\n\n", "1,".repeat(3_000_000)).as_bytes())
        }),
        case("no UTF-8", &["bad_answer", "network"], |socket, api| {
            begin_text(socket, api)?;
            socket.write_all(b"data: {\"type\":\"\xff\xfe\"}\n\n")
        }),
        case("half of a surrogate pair", &[DONE], |socket, api| {
            begin_text(socket, api)?;
            let escaped = match api {
                Api::AnthropicMessages => {
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d!"}}"#
                }
                Api::OpenaiCompletions => r#"{"choices":[{"delta":{"content":"\ud83d!"}}]}"#,
            };
            write!(socket, "data: {escaped}\n\n")?;
            end(socket, api, "stop", &json!({}))
        }),
        case("deeply nested event", &["bad_answer"], |socket, api| {
            begin_text(socket, api)?;
            writeln!(socket, "data: {{\"x\":{}\n", "[".repeat(1_000_000))
        }),
        case("list of nothing", &["network", "bad_answer"], |socket, api| {
            socket.write_all(STREAM.as_bytes())?;
            writeln!(socket, "data: {{\"choices\":[{}{{}}],\"type\":\"ping\"}}\n", "{},".repeat(2_000_000))?;
            let calls = format!("[{}{{}}]", "{},".repeat(2_000_000));
            writeln!(
                socket,
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":{calls}}}}}],\"type\":\"ping\"}}\n"
            )?;
            begin_text(socket, api)
        }),
        case("index out of range", &[DONE, "bad_answer"], |socket, api| {
            begin_text(socket, api)?;
            match api {
                Api::AnthropicMessages => {
                    let block = json!({ "type": "text", "text": "far" });
                    let start =
                        json!({ "type": "content_block_start", "index": u64::MAX, "content_block": block });
                    event(socket, &start)?;
                }
                Api::OpenaiCompletions => {
                    piece(
                        socket,
                        &json!({ "tool_calls": [{ "index": u64::MAX, "id": "far",
                        "function": { "name": "ls", "arguments": "{}" } }] }),
                    )?;
                }
            }
            end(socket, api, "stop", &json!({}))
        }),
        case("negative index", &[DONE, "bad_answer"], |socket, api| {
            begin_text(socket, api)?;
            event(
                socket,
                &json!({ "type": "content_block_stop", "index": -1,
                "choices": [{ "delta": { "tool_calls": [{ "index": -1 }] } }] }),
            )?;
            end(socket, api, "stop", &json!({}))
        }),
        case("block started many times", &[DONE], |socket, api| {
            begin_text(socket, api)?;
            for _ in 0..500 {
                event(
                    socket,
                    &json!({ "type": "content_block_start", "index": 0,
                    "content_block": { "type": "text", "text": "x" }, "choices": [] }),
                )?;
            }
            end(socket, api, "stop", &json!({}))
        }),
        case("largest token counts", &[DONE], |socket, api| {
            begin_text(socket, api)?;
            let most = u64::MAX;
            end(
                socket,
                api,
                "stop",
                &json!({ "input_tokens": most, "output_tokens": most,
                "cache_read_input_tokens": most, "prompt_tokens": most, "completion_tokens": most }),
            )
        }),
        case("impossible token counts", &["bad_answer"], |socket, api| {
            begin_text(socket, api)?;
            let usage = json!({ "input_tokens": -1, "output_tokens": 1e300, "prompt_tokens": -1 });
            end(socket, api, "stop", &usage)
        }),
        case("end without an answer", &["network"], |socket, _| socket.write_all(STREAM.as_bytes())),
        case("unfinished deep arguments", &["network"], |socket, api| {
            begin_call(socket, api, "call_1", "read")?;
            arguments(socket, api, r#"{"path":"a","deep":"#)?;
            arguments(socket, api, &"[".repeat(1_000_000))
        }),
        case("large error in the stream", &["overloaded"], |socket, api| {
            begin_text(socket, api)?;
            let long = "x".repeat(3_500_000);
            event(socket, &json!({ "type": "error", "error": { "type": long, "message": long } }))
        }),
        case("error that is a list", &["overloaded"], |socket, api| {
            begin_text(socket, api)?;
            let list = "1,".repeat(3_000_000);
            writeln!(socket, "data: {{\"type\":\"error\",\"error\":[{list}1]}}\n")
        }),
    ]
}

/// Answers that are wrong as HTTP.
fn wrong_http() -> Vec<Case> {
    vec![
        case("no HTTP", &["network"], |socket, _| socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")),
        case("nothing", &["network"], |_, _| Ok(())),
        case("error of 40 MB", &["overloaded"], |socket, _| {
            answer(socket, "500 Internal Server Error", &b"x".repeat(40_000_000))
        }),
        case("web page", &["overloaded", "bad_answer"], |socket, _| {
            answer(socket, "200 OK\r\nContent-Type: text/html", b"<html>Log in first</html>")
        }),
        case("JSON instead of a stream", &["overloaded", "bad_answer"], |socket, _| {
            answer(socket, "200 OK\r\nContent-Type: application/json", &b"[".repeat(5_000_000))
        }),
        case("image", &["network", "bad_answer"], |socket, _| {
            answer(
                socket,
                "200 OK\r\nContent-Type: image/png",
                &[0x89, b'P', b'N', b'G', 0, 0xff].repeat(1000),
            )
        }),
        case("compression that was not asked for", &["network", "bad_answer"], |socket, _| {
            let head = "200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip";
            answer(socket, head, &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0].repeat(1000))
        }),
        case("redirect to itself", &["refused"], |socket, _| {
            let long = "x".repeat(100_000);
            answer(socket, &format!("307 Temporary Redirect\r\nLocation: /v1/messages?{long}"), b"")
        }),
        case("length that is not kept", &["network"], |socket, _| {
            answer(
                socket,
                "200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999999999",
                b"data: ",
            )
        }),
        case("chunk of impossible length", &["network"], |socket, _| {
            let head = "200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked";
            answer(socket, head, b"ffffffffffffffff\r\nx")
        }),
        case("status that nobody knows", &["overloaded", "refused", "network"], |socket, _| {
            answer(socket, "999 Whatever", b"what")
        }),
    ]
}

/// Runs a prompt and returns its records, and the kind of its error.
#[track_caller]
fn run(agent: &mut Agent, message: &str) -> (Vec<Value>, String) {
    let records = agent.run(message);
    assert_eq!(of_type(&records, "agent_settled").len(), 1);
    let kind = records[records.len() - 1]["errorKind"].as_str().unwrap_or(DONE).to_owned();
    (records, kind)
}

fn check(cases: Vec<Case>, api: Api) {
    for Case { name, kinds, hostility, settings } in cases {
        let server = Hostile::start(api, hostility);
        let workspace = server.workspace(api, settings());
        let mut agent = workspace.start();
        agent.set_timeout(Duration::from_secs(100));
        let (records, kind) = run(&mut agent, "go");
        assert!(kinds.contains(&kind.as_str()), "{name}, {api:?}: {kind} {:?}", records.last());
        let error = records[records.len() - 1]["error"].as_str().unwrap_or_default();
        assert!(error.chars().count() < 4200, "{name}, {api:?}: an error of {} bytes", error.len());
        let requests = server.requests();
        agent.get("get_session_stats");
        assert_eq!(run(&mut agent, "and now?").1, DONE, "{name}, {api:?}: the next prompt");
        assert_eq!(server.requests(), requests + 1, "{name}, {api:?}: nothing follows a redirect");
        let peak = peak_memory_of(agent.pid()).unwrap();
        assert!(peak < MOST_MEMORY, "{name}, {api:?}: {peak} KiB");
        assert_well_formed(agent.transcript());
    }
}

#[test]
fn endless_answers_end_the_run_at_a_limit_over_anthropic_messages() {
    check(endless(), Api::AnthropicMessages);
}

#[test]
fn endless_answers_end_the_run_at_a_limit_over_openai_completions() {
    check(endless(), Api::OpenaiCompletions);
}

#[test]
fn malformed_answers_end_the_run_once() {
    APIS.into_iter().for_each(|api| check(malformed(), api));
}

#[test]
fn wrong_http_ends_the_run_once() {
    APIS.into_iter().for_each(|api| check(wrong_http(), api));
}

#[test]
fn answer_that_exceeds_a_limit_is_kept_as_far_as_it_came() {
    let hostility: Hostility = |socket, api| {
        begin_text(socket, api)?;
        let much = "alpha bravo ".repeat(5000);
        loop {
            text(socket, api, &much)?;
        }
    };
    let server = Hostile::start(Api::OpenaiCompletions, hostility);
    let workspace = server.workspace(Api::OpenaiCompletions, json!({}));
    let mut agent = workspace.start();
    agent.set_timeout(Duration::from_secs(100));
    let (records, kind) = run(&mut agent, "go");
    assert_eq!(kind, "answer_too_large");
    let told = announced(&records).pop().unwrap();
    let stored = session_messages(workspace.session_files().pop().unwrap()).pop().unwrap();
    for answer in [&told, &stored] {
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("so faralpha bravo "), "{}", &text[..100]);
        assert!((16 << 20..20 << 20).contains(&text.len()), "{}", text.len());
        assert_eq!(
            (&answer["stopReason"], &answer["errorKind"]),
            (&json!("error"), &json!("answer_too_large"))
        );
    }
}

#[test]
fn call_with_deep_arguments_fails_and_the_session_stays_readable() {
    for api in APIS {
        let hostility: Hostility = |socket, api| {
            begin_call(socket, api, "call_1", "read")?;
            let deep = format!(r#"{{"path":"a","deep":{}{}}}"#, "[".repeat(120), "]".repeat(120));
            arguments(socket, api, &deep)?;
            end(socket, api, "tool_use", &json!({}))
        };
        let server = Hostile::start(api, hostility);
        let workspace = server.workspace(api, json!({}));
        let mut agent = workspace.start();
        let (records, kind) = run(&mut agent, "go");
        assert_eq!(kind, DONE, "the call fails and the run continues");
        let end = of_type(&records, "tool_execution_end")[0];
        assert_eq!(end["isError"], true);
        assert!(end["result"]["content"][0]["text"].as_str().unwrap().contains("100 levels"), "{end}");
        let before = agent.get("get_messages");
        agent.close_stdin();
        agent.wait();
        let file = workspace.session_files().pop().unwrap();
        let mut agent = Launch::rpc(&workspace).arguments(&["--session", file.to_str().unwrap()]).start();
        assert_eq!(agent.get("get_messages"), before);
    }
}

#[test]
fn recorded_answer_is_limited_and_can_be_replayed() {
    let hostility: Hostility = |socket, api| {
        begin_text(socket, api)?;
        repeat(socket, format!(": {}\n", "x".repeat(1000)).as_bytes())
    };
    let server = Hostile::start(Api::OpenaiCompletions, hostility);
    let workspace = server.workspace(Api::OpenaiCompletions, json!({}));
    let recording = workspace.home().join("recording.jsonl");
    let mut agent = Launch::rpc(&workspace).arguments(&["--record", recording.to_str().unwrap()]).start();
    agent.set_timeout(Duration::from_secs(100));
    let (records, kind) = run(&mut agent, "go");
    assert_eq!(kind, "answer_too_large");
    let error = &records[records.len() - 1]["error"];
    assert!(error.as_str().unwrap().contains("64 MiB"), "{error}");
    assert!(peak_memory_of(agent.pid()).unwrap() < MOST_MEMORY);
    drop(agent);
    assert!(std::fs::metadata(&recording).unwrap().len() < 80 << 20);

    let model = format!("replay/{}", recording.display());
    let mut agent = Launch::rpc(&workspace).model(&model).start();
    agent.set_timeout(Duration::from_secs(100));
    let (replayed, kind) = run(&mut agent, "go");
    assert_eq!(kind, "answer_too_large");
    assert_eq!(announced(&replayed).pop().unwrap()["content"], announced(&records).pop().unwrap()["content"]);
}
