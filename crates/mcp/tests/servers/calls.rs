//! Calls: progress, time-outs, cancellation, questions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, entry, eventually, run, text, with};

#[test]
fn errors_of_tools_and_of_the_protocol_are_errors() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        for (tool, expected) in [
            ("fail", "It did not work."),
            ("refuse", "The MCP server s reported an error: I refuse (code -32000)"),
            ("invalid", "The MCP server s gave an answer that is not valid"),
        ] {
            let outcome = world.call(&servers, tool, json!({})).await;
            assert!(outcome.is_error && text(&outcome).starts_with(expected), "{tool}: {outcome:?}");
        }
        assert_eq!(text(&world.echo(&servers, "still there").await), "still there");
    });
}

#[test]
fn progress_is_reported_and_postpones_the_timeout() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"s": with(entry(&[]), "timeout", json!(600))}));
        servers.start().await;
        let outcome = world.call(&servers, "slow", json!({"steps": 6, "pause": 0.2})).await;
        assert_eq!(text(&outcome), "done");
        let reports = world.progress.lock().unwrap().clone();
        assert!(reports.len() >= 3, "{reports:?}");
        let last = reports.last().unwrap();
        assert_eq!(bowline_core::message::join_text(&last.content), "6 of 6: step 6");
        assert_eq!(last.details, Some(json!({"progress": 6.0, "total": 6.0, "message": "step 6"})));
    });
}

#[test]
fn silent_call_times_out_and_is_cancelled() {
    run(async {
        let world = World::new();
        let log = world.path("log").display().to_string();
        let servers = world.configured(&json!({"s": with(entry(&["--log", &log]), "timeout", json!(300))}));
        servers.start().await;
        let outcome = world.call(&servers, "wait", json!({})).await;
        assert!(outcome.is_error && text(&outcome).contains("did not answer within 300 ms"), "{outcome:?}");
        eventually("the server is told", || world.log().iter().any(is_cancellation)).await;
        assert_eq!(text(&world.echo(&servers, "next").await), "next");
    });
}

#[test]
fn cancelled_call_ends_at_once_and_the_server_is_told() {
    run(async {
        let world = World::new();
        let log = world.path("log").display().to_string();
        let servers = world.start(&["--log", &log]).await;
        let call = world.call(&servers, "wait", json!({}));
        let abort = async {
            eventually("the call has arrived", || world.log().iter().any(is_call)).await;
            world.cancel.cancel();
            Instant::now()
        };
        let (outcome, aborted) = tokio::join!(call, abort);
        assert!(aborted.elapsed() < Duration::from_millis(100));
        assert!(outcome.is_error && text(&outcome).starts_with("Aborted"), "{outcome:?}");
        eventually("the server is told", || world.log().iter().any(is_cancellation)).await;
        let call = world.log().into_iter().find(is_call).unwrap();
        let cancellation = world.log().into_iter().find(is_cancellation).unwrap();
        assert_eq!(cancellation["params"]["requestId"], call["id"]);
    });
}

#[test]
fn dropped_call_is_cancelled_on_the_server() {
    run(async {
        let world = World::new();
        let log = world.path("log").display().to_string();
        let servers = world.start(&["--log", &log]).await;
        {
            let call = world.call(&servers, "wait", json!({}));
            tokio::select! {
                _ = call => panic!("it waits"),
                () = eventually("the call has arrived", || world.log().iter().any(is_call)) => {}
            }
        }
        eventually("the server is told", || world.log().iter().any(is_cancellation)).await;
    });
}

#[test]
fn hundred_calls_run_side_by_side() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let texts: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let calls = texts.iter().map(|text| world.echo(&servers, text));
        let outcomes = futures_util::future::join_all(calls).await;
        assert!(outcomes.iter().zip(&texts).all(|(outcome, expected)| text(outcome) == *expected));
    });
}

#[test]
fn user_is_asked_and_the_timeout_waits_for_the_answer() {
    run(async {
        let world = World::new();
        let servers = world.configured(&json!({"s": with(entry(&[]), "timeout", json!(300))}));
        servers.start().await;
        let call = world.call(&servers, "order", json!({}));
        tokio::pin!(call);
        tokio::select! {
            outcome = &mut call => panic!("{outcome:?}"),
            () = tokio::time::sleep(Duration::from_millis(900)) => {}
        }
        world.cancel.cancel();
        assert!(text(&call.await).starts_with("Aborted"));

        let world = World::new();
        *world.answers.lock().unwrap() = vec![json!("large"), json!("3")];
        let servers = world.start(&[]).await;
        let outcome = world.call(&servers, "order", json!({})).await;
        let answer: Value = serde_json::from_str(&text(&outcome)).unwrap();
        assert_eq!(answer, json!({"action": "accept", "content": {"size": "large", "count": 3}}));
    });
}

#[test]
fn roots_are_the_working_folder() {
    run(async {
        let world = World::new();
        let servers = world.start(&[]).await;
        let roots: Value =
            serde_json::from_str(&text(&world.call(&servers, "roots", json!({})).await)).unwrap();
        let expected = format!("file://{}", world.folder.path().display());
        assert_eq!(roots["roots"][0]["uri"], expected);
    });
}

#[test]
fn server_gets_its_variables_and_its_folder() {
    run(async {
        let world = World::new();
        std::fs::create_dir(world.path("sub")).unwrap();
        let entry = with(entry(&[]), "env", json!({"SECRET": "$TOKEN", "PLAIN": "p"}));
        let servers = world.configured(&json!({"s": with(entry, "cwd", json!("sub"))}));
        servers.start().await;
        for (name, value) in [("SECRET", "token-from-outside"), ("PLAIN", "p")] {
            let outcome = world.call(&servers, "environment", json!({ "name": name })).await;
            assert_eq!(text(&outcome), value);
        }
        let folder = text(&world.call(&servers, "folder", json!({})).await);
        assert_eq!(std::path::Path::new(&folder), world.path("sub").canonicalize().unwrap());
    });
}

fn is_call(message: &Value) -> bool {
    message["method"] == "tools/call"
}

fn is_cancellation(message: &Value) -> bool {
    message["method"] == "notifications/cancelled"
}
