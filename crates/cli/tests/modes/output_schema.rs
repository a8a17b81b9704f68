//! Runs that end with JSON of a certain form, on the command line and over the protocol.

use bowline_testkit::{Api, Launch, ModelServer, Reply, Workspace, of_type};
use serde_json::{Value, json};

use crate::{once, parts};

const SCHEMA: &str = r#"{"type":"object","properties":{"files":{"type":"array","items":{"type":"string"}}},"required":["files"],"additionalProperties":false}"#;

fn with_schema() -> (ModelServer, Workspace) {
    let (server, workspace) = Workspace::with_server();
    (server, workspace.file("schema.json", SCHEMA))
}

#[test]
fn text_is_the_json_alone_and_the_object_has_it_as_a_value() {
    let (server, workspace) = with_schema();
    server.reply(Reply::new().tool("bash", json!({ "command": "ls" })));
    server.reply(Reply::text("```json\n{\"files\": [\"a\"]}\n```"));
    let finished = once(&workspace, &["-p", "list", "--output-schema", "schema.json"]);
    assert_eq!(parts(&finished), (0, "{\"files\":[\"a\"]}\n", ""));
    server.reply(Reply::text("Here you are."));
    server.reply(Reply::text("{\"files\": []}"));
    let finished = once(&workspace, &["-p", "list", "--output-schema", "schema.json", "--output", "json"]);
    let [result] = &finished.records()[..] else { panic!("{}", finished.stdout) };
    assert_eq!(
        (&result["output"], &result["success"], finished.code),
        (&json!({"files": []}), &json!(true), 0)
    );
    assert_eq!(result["turns"], 2);
}

#[test]
fn last_message_alone_is_asked_for_output() {
    let (server, workspace) = with_schema();
    server.reply(Reply::text("looked"));
    server.reply(Reply::text("{\"files\":[]}"));
    let finished = once(&workspace, &["-p", "look", "list", "--output-schema", "schema.json"]);
    assert_eq!(parts(&finished), (0, "{\"files\":[]}\n", ""));
    let systems: Vec<_> =
        server.requests().iter().map(|request| request.body["system"].to_string()).collect();
    assert_eq!(systems.iter().map(|text| text.contains("output_schema")).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn output_that_stays_wrong_fails_with_its_kind() {
    let (server, workspace) = with_schema();
    for _ in 0..2 {
        server.reply(Reply::text("{\"files\":[1]}"));
    }
    let arguments =
        ["-p", "list", "--output-schema", "schema.json", "--output-retries", "1", "--output", "json"];
    let finished = once(&workspace, &arguments);
    let [result] = &finished.records()[..] else { panic!("{}", finished.stdout) };
    assert_eq!((finished.code, &result["errorKind"]), (1, &json!("invalid_output")));
    assert_eq!(result.get("output"), None);
    assert!(finished.stderr.contains("- /files/0 must be a string, but is 1"), "{}", finished.stderr);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn unusable_schema_calls_no_model() {
    let (server, workspace) = with_schema();
    let workspace = workspace
        .file("text.json", "type: object")
        .file("list.json", "[]")
        .file("unknown.json", r#"{"properties":{"a":{"minLenght":1}}}"#);
    for (arguments, code, expected) in [
        (&["--output-schema", "text.json"][..], 1, "it is not JSON"),
        (&["--output-schema", "list.json"], 1, "must be an object"),
        (
            &["--output-schema", "unknown.json"],
            1,
            "at /properties/a: the keyword \"minLenght\" is not supported",
        ),
        (&["--output-schema", "missing.json"], 1, "missing.json"),
        (&["--output-retries", "1"], 2, "--output-retries needs --output-schema"),
        (&["--output-schema", "schema.json", "--output-retries", "11"], 2, "a whole number from 0 to 10"),
    ] {
        let finished = once(&workspace, &[&["-p", "hi"], arguments].concat());
        assert_eq!((finished.code, finished.stdout.as_str()), (code, ""), "{}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{expected}: {}", finished.stderr);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn provider_that_takes_schemas_gets_it_beside_the_tools() {
    let server = ModelServer::start();
    let workspace = Workspace::new(&server, Api::OpenaiCompletions).file("schema.json", SCHEMA);
    let models = std::fs::read_to_string(workspace.configuration().join("models.json")).unwrap();
    let mut models: Value = serde_json::from_str(&models).unwrap();
    for provider in models["providers"].as_object_mut().unwrap().values_mut() {
        provider["models"][0]["compat"] = json!({"supportsOutputSchema": true});
    }
    let workspace = workspace.models(models);
    server.reply(Reply::text("{\"files\":[]}"));
    let finished = once(&workspace, &["-p", "list", "--output-schema", "schema.json"]);
    assert_eq!(parts(&finished), (0, "{\"files\":[]}\n", ""));
    let body = server.requests().pop().unwrap().body;
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(body["response_format"]["json_schema"]["schema"], schema);
    assert!(!body["tools"].as_array().unwrap().is_empty());
}

#[test]
fn client_gets_the_value_at_the_end_of_the_run_and_pi_could_open_the_session() {
    let (server, workspace) = Workspace::with_server();
    let mut agent = Launch::rpc(&workspace).model("mock/m1").start();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    agent.send(json!({"id": "1", "type": "prompt", "message": "x", "outputRetries": 1}));
    let response = agent.response("1");
    assert!(
        response["error"]
            .as_str()
            .unwrap()
            .contains("\"outputRetries\" cannot be given without \"outputSchema\""),
        "{response}"
    );
    agent.send(json!({"id": "2", "type": "prompt", "message": "x", "outputSchema": {"type": "thing"}}));
    let response = agent.response("2");
    assert!(
        response["error"].as_str().unwrap().contains("at /type: there is no type \"thing\""),
        "{response}"
    );
    server.reply(Reply::text("no"));
    server.reply(Reply::text("{\"files\":[\"b\"]}"));
    agent.send(json!({"id": "3", "type": "prompt", "message": "go", "outputSchema": schema}));
    let records = agent.collect_until_settled();
    assert_eq!(records.last().unwrap()["output"], json!({"files": ["b"]}));
    assert_eq!(of_type(&records, "output_checked").len(), 2);
    agent.close_stdin();
    agent.wait();
    // Only entries that pi knows, in one unbroken chain.
    let text = std::fs::read_to_string(&workspace.session_files()[0]).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let correction = entries.iter().find(|entry| entry["customType"] == "output-correction").unwrap();
    assert_eq!((&correction["type"], &correction["display"]), (&json!("custom_message"), &json!(false)));
    for pair in entries[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"], "{}", pair[1]);
    }
}

#[test]
fn schema_file_is_neither_waited_for_nor_trusted() {
    let (server, workspace) = with_schema();
    let work = workspace.work();
    let status = std::process::Command::new("mkfifo").arg(work.join("fifo")).status().unwrap();
    assert!(status.success());
    std::fs::File::create(work.join("large")).unwrap().set_len(5 << 30).unwrap();
    std::os::unix::fs::symlink("schema.json", work.join("link")).unwrap();
    let nested = format!("{}1{}", "{\"not\":".repeat(3000), "}".repeat(3000));
    std::fs::write(work.join("nested"), nested).unwrap();
    for (name, expected) in [
        ("fifo", "is a FIFO"),
        ("large", "is larger than"),
        ("/dev/zero", "is a device"),
        (".", "is a folder"),
        ("nested", "recursion limit"),
    ] {
        let finished = once(&workspace, &["-p", "hi", "--output-schema", name]);
        assert_eq!((finished.code, finished.stdout.as_str()), (1, ""), "{}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{expected}: {}", finished.stderr);
    }
    assert_eq!(server.requests().len(), 0);
    server.reply(Reply::text("{\"files\":[]}"));
    let finished = once(&workspace, &["-p", "hi", "--output-schema", "link"]);
    assert_eq!(parts(&finished), (0, "{\"files\":[]}\n", ""));
}

#[test]
fn answers_of_a_megabyte_are_read_and_larger_ones_are_not() {
    let (server, workspace) = with_schema();
    let answer = |length: usize| json!({ "files": ["x".repeat(length)] }).to_string();
    server.reply(Reply::text(&answer(1_000_000)));
    let finished = once(&workspace, &["-p", "list", "--output-schema", "schema.json"]);
    assert_eq!((finished.code, finished.stdout.len()), (0, 1_000_015), "{}", finished.stderr);
    server.reply(Reply::text(&answer(1_100_000)));
    let arguments = ["-p", "list", "--output-schema", "schema.json", "--output-retries", "0"];
    let finished = once(&workspace, &arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""));
    assert!(finished.stderr.contains("at most 1048576 are read"), "{}", finished.stderr);
}

#[test]
fn scripted_model_takes_part() {
    let script = r#"{"steps":[{"text":"{\"files\":[\"c\"]}"}]}"#;
    let workspace = Workspace::empty().file("schema.json", SCHEMA).file("script.json", script);
    let finished = Launch::bowline(&workspace)
        .model("scripted/script.json")
        .arguments(&["-p", "list", "--output-schema", "schema.json"])
        .run();
    assert_eq!(parts(&finished), (0, "{\"files\":[\"c\"]}\n", ""));
}

#[test]
fn recording_replays_the_correction_too() {
    let (server, workspace) = with_schema();
    server.reply(Reply::text("no"));
    server.reply(Reply::text("{\"files\":[\"d\"]}"));
    let finished =
        once(&workspace, &["-p", "list", "--output-schema", "schema.json", "--record", "run.jsonl"]);
    assert_eq!(parts(&finished), (0, "{\"files\":[\"d\"]}\n", ""));
    let replayed = Launch::bowline(&workspace)
        .model("replay/run.jsonl")
        .arguments(&["-p", "list", "--output-schema", "schema.json"])
        .run();
    assert_eq!(parts(&replayed), (0, "{\"files\":[\"d\"]}\n", ""));
    assert_eq!(server.requests().len(), 2);
}
