//! Flags, help, fatal errors at start, and the demo.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use bowline_testkit::{Finished, Launch, Workspace, bowline};
use serde_json::{Value, json};

/// Runs bowline with nothing on stdin.
#[track_caller]
fn run(workspace: &Workspace, arguments: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(arguments).run()
}

/// Checks that bowline fails to start, and returns the error text from stdout.
#[track_caller]
fn refused(workspace: &Workspace, arguments: &[&str]) -> String {
    let finished = run(workspace, arguments);
    assert_eq!(finished.code, 1, "{arguments:?}: {}", finished.stderr);
    let record: Value =
        serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.stdout));
    let error = record["error"].as_str().unwrap().to_owned();
    assert_eq!(record, json!({ "type": "error", "error": error, "fatal": true }));
    assert!(finished.stdout.ends_with("}\n") && finished.stdout.lines().count() == 1, "{}", finished.stdout);
    assert_eq!(finished.stderr, format!("bowline: {error}\n"));
    error
}

/// Returns the long flags in the help.
fn flags_of_help() -> Vec<String> {
    let help = run(&Workspace::empty(), &["--help"]).stdout;
    let words = help.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let mut flags: Vec<String> =
        words.filter(|word| word.starts_with("--") && word.len() > 2).map(ToOwned::to_owned).collect();
    flags.sort();
    flags.dedup();
    flags
}

#[test]
fn version_prints_three_numbers_only() {
    let workspace = Workspace::empty();
    for flag in ["--version", "-v", "-V"] {
        let finished = run(&workspace, &[flag]);
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
        let version = finished.stdout.strip_suffix('\n').unwrap();
        let numbers: Vec<_> = version.split('.').map(|part| part.parse::<u32>().unwrap()).collect();
        assert_eq!(numbers.len(), 3, "{version}");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn help_lists_every_accepted_flag() {
    let workspace = Workspace::empty();
    for flag in ["--help", "-h"] {
        let finished = run(&workspace, &[flag]);
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""));
        assert!(finished.stdout.starts_with("bowline is a headless coding agent"), "{}", finished.stdout);
        assert!(finished.stdout.contains("bowline demo") && finished.stdout.contains("bowline --mode rpc"));
    }
    let flags = flags_of_help();
    for flag in [
        "--mode",
        "--provider",
        "--model",
        "--models",
        "--thinking",
        "--api-key",
        "--system-prompt",
        "--append-system-prompt",
        "--session",
        "--session-id",
        "--session-dir",
        "--continue",
        "--no-session",
        "--name",
        "--tools",
        "--exclude-tools",
        "--no-tools",
        "--no-builtin-tools",
        "--no-context-files",
        "--extension",
        "--no-extensions",
        "--skill",
        "--no-skills",
        "--prompt-template",
        "--no-prompt-templates",
        "--theme",
        "--no-themes",
        "--approve",
        "--no-approve",
        "--offline",
        "--verbose",
        "--dialect",
        "--line-limit",
        "--help",
        "--version",
    ] {
        assert!(flags.iter().any(|known| known == flag), "{flag} is not in the help");
    }
    // And every flag in the help is known, at least to the dialect of the agent that it comes from.
    for flag in &flags {
        let is_known = |dialect: &&str| {
            let finished = run(&workspace, &[flag, "x", "--mode", "rpc", "--dialect", dialect]);
            !finished.stderr.contains("unknown option")
        };
        assert!(["pi", "omp", "opi"].iter().any(is_known), "{flag}");
    }
}

#[test]
fn no_arguments_prints_usage() {
    let finished = run(&Workspace::empty(), &[]);
    assert_eq!((finished.code, finished.stdout.as_str()), (2, ""));
    assert!(
        finished.stderr.contains("bowline demo") && finished.stderr.contains("bowline --mode rpc"),
        "{}",
        finished.stderr
    );
}

#[test]
fn invalid_arguments_are_fatal() {
    let workspace = Workspace::empty();
    for (arguments, expected) in [
        (&["--mode", "rpc", "-Z"][..], "Unknown option: -Z"),
        (&["--mode", "jsonl"], "\"jsonl\" is not a mode"),
        (&["--mode"], "--mode needs a value"),
        (&["--mode", "rpc", "--model"], "--model needs a value"),
        (&["--mode", "rpc", "--no-session=yes"], "--no-session takes no value"),
        (&["--mode", "rpc", "@notes.txt"], "@file arguments are not supported in RPC mode"),
        (&["--mode", "rpc", "--dialect", "klingon"], "unknown dialect \"klingon\"; the dialects are: pi"),
        (&["--mode", "rpc", "--line-limit", "much"], "\"much\" is not a number of bytes"),
        (
            &["--mode", "rpc", "--session", "a", "--continue"],
            "--session and --continue cannot be used together",
        ),
        (
            &["--mode", "rpc", "--session-id", "a", "-c"],
            "--continue and --session-id cannot be used together",
        ),
        (&["--mode", "rpc", "--no-session", "-c"], "--no-session and --continue cannot be used together"),
        (&["--mode", "rpc", "--api-key", "k"], "--api-key needs --model or --provider"),
        (&["--mode", "rpc", "--model", "nothing-like-it"], "Model \"nothing-like-it\" not found"),
        (&["--mode", "rpc", "--provider", "nobody", "--model", "m"], "Unknown provider \"nobody\""),
        (&["--mode", "rpc", "--provider", "nobody"], "Unknown provider \"nobody\""),
        (&["--mode", "rpc", "--tools", "hammer"], "hammer"),
    ] {
        let error = refused(&workspace, arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn broken_user_file_is_a_fatal_error_that_names_it() {
    for (file, content, expected) in [
        ("models.json", "{ \"providers\": ", "line 1"),
        ("models.json", "{ \"providers\": { \"mine\": { \"models\": [{ \"id\": \"m\" }] } } }", "baseUrl"),
        ("settings.json", "{,}", "line 1"),
        ("settings.json", "{ \"steeringMode\": \"weird\" }", "\"one-at-a-time\" or \"all\", not \"weird\""),
        (
            "settings.json",
            "{ \"retry\": { \"maxRetries\": \"three\" } }",
            "retry.maxRetries must be a whole number from 0 to 1000, not \"three\"; for example: {\"retry\": {\"maxRetries\": 5}}",
        ),
        (
            "settings.json",
            "{ \"retry\": [] }",
            "retry must be an object, not a list; for example: {\"retry\": {",
        ),
        ("auth.json", "not json", "line 1"),
    ] {
        let workspace = Workspace::empty().home_file(&format!(".bowline/{file}"), content);
        let error = refused(&workspace, &["--mode", "rpc"]);
        let path = workspace.configuration().join(file);
        assert!(error.contains(path.to_str().unwrap()), "{file}: {error}");
        assert!(error.contains(expected), "{file} {content}: {error}");
    }
}

#[test]
fn user_file_that_never_ends_does_not_hold_up_the_start() {
    for file in ["settings.json", "models.json", "auth.json"] {
        let workspace = Workspace::empty();
        let path = workspace.configuration().join(file);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = refused(&workspace, &["--mode", "rpc"]);
        assert_eq!(error, format!("{} is a FIFO, not a regular file", path.display()));
    }
}

#[test]
fn mistyped_setting_is_warned_about_and_those_of_pi_are_not() {
    let settings = json!({ "theme": "dark", "retries": {}, "retry": { "maxRetry": 1 }, "packages": [] });
    let workspace = Workspace::empty().home_file(".bowline/settings.json", &settings.to_string());
    let path = workspace.configuration().join("settings.json").display().to_string();
    let finished = run(&workspace, &["--mode", "rpc"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{}", finished.stderr);
    let expected = format!(
        "bowline: {path}: \"retries\" is not a setting and is ignored; did you mean \"retry\"?\n\
         bowline: {path}: \"retry.maxRetry\" is not a setting and is ignored; did you mean \"retry.maxRetries\"?\n"
    );
    assert_eq!(finished.stderr, expected);
}

#[test]
fn files_may_have_a_byte_order_mark_and_models_json_comments() {
    let models = "\u{feff}// mine\n{ \"providers\": { \"mine\": { \"baseUrl\": \"http://127.0.0.1:9\", /* local */\n\
        \"api\": \"openai-completions\", \"models\": [{ \"id\": \"m\" },], }, } }";
    let workspace = Workspace::empty()
        .home_file(".bowline/models.json", models)
        .home_file(".bowline/settings.json", "\u{feff}{ \"followUpMode\": \"all\", \"unknown\": 1 }");
    let mut agent = Launch::rpc(&workspace).start();
    let state = agent.get("get_state");
    assert_eq!((&state["model"]["id"], &state["followUpMode"]), (&json!("m"), &json!("all")));
}

#[test]
fn ineffective_flags_only_warn_on_stderr() {
    let workspace = Workspace::empty();
    for (arguments, expected) in [
        (&["--no-themes"][..], "--no-themes is ignored: bowline has no terminal interface"),
        (&["--remove"], "--remove has no effect in RPC mode"),
        (&["--thinking", "hard"], "--thinking hard is ignored"),
        (&["--plan-mode"], "unknown option --plan-mode is ignored"),
        (&["--modle=x"], "did you mean --model?"),
        (&["hello there"], "messages are sent over stdin"),
    ] {
        let finished = run(&workspace, &[&["--mode", "rpc"], arguments].concat());
        assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{arguments:?}");
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
    }
    let finished = run(&workspace, &["--mode", "rpc", "--offline", "--no-session"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "nothing to report");
}

#[test]
fn unknown_flag_does_not_consume_the_next_flag() {
    let workspace = Workspace::empty();
    let mut agent =
        Launch::rpc(&workspace).arguments(&["--unheard-of", "--no-session", "--tools=read"]).start();
    let state = agent.get("get_state");
    assert_eq!((state.get("sessionFile"), &state["tools"]), (None, &json!(["read"])));
}

#[test]
fn configuration_folder_can_be_moved() {
    let models = |id: &str| {
        json!({ "providers": { "mine": { "baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
            "models": [{ "id": id }] } } })
        .to_string()
    };
    let workspace = Workspace::empty()
        .home_file(".bowline/models.json", &models("usual"))
        .home_file("of-pi/models.json", &models("of-pi"))
        .home_file("moved/models.json", &models("moved"));
    let place = |name: &str| workspace.home().join(name).display().to_string();
    for (variables, expected) in [
        (vec![], "usual"),
        (vec![("PI_CODING_AGENT_DIR", place("of-pi"))], "of-pi"),
        (vec![("PI_CODING_AGENT_DIR", place("of-pi")), ("BOWLINE_HOME", place("moved"))], "moved"),
        (vec![("BOWLINE_HOME", "../moved".to_owned())], "moved"),
        (vec![("BOWLINE_HOME", String::new())], "usual"),
    ] {
        let mut launch = Launch::rpc(&workspace);
        for (name, value) in &variables {
            launch = launch.environment(name, value);
        }
        let mut agent = launch.start();
        assert_eq!(agent.get("get_state")["model"]["id"], expected, "{variables:?}");
    }
}

#[test]
fn start_and_exit_create_no_files() {
    let workspace = Workspace::empty();
    let finished = run(&workspace, &["--mode", "rpc"]);
    assert_eq!((finished.code, finished.stdout.as_str(), finished.stderr.as_str()), (0, "", ""));
    assert_eq!(fs::read_dir(workspace.configuration()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(workspace.work()).unwrap().count(), 0);
}

#[test]
fn demo_shows_both_directions_and_that_its_model_is_a_script() {
    let workspace = Workspace::empty();
    let temporary = workspace.home().join("temporary");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o700)).unwrap();
    let output = Command::new(bowline())
        .arg("demo")
        .current_dir(workspace.work())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    // Lines that do not fit go on below the beginning of their text.
    let unbroken = stdout.replace(&format!("\n{}", " ".repeat(12)), "");
    for expected in [
        "The model is a script",
        "→ {\"id\":3,\"type\":\"steer\"",
        "{\"id\":3,\"type\":\"response\",\"command\":\"steer\",\"success\":true",
        "→ {\"id\":5,\"type\":\"abort\"}",
        "← {\"type\":\"agent_settled\",\"aborted\":true",
        "\"stopReason\":\"aborted\"",
        "\"toolCalls\":5",
        "→ {\"id\":1,\"type\":\"get_state\"}",
        "← {\"id\":1,\"type\":\"response\",\"command\":\"get_state\",\"success\":true",
        "\"type\":\"prompt\"",
        "← {\"type\":\"agent_settled\",\"aborted\":false}",
        "tool_execution_end",
        "exit code 0",
    ] {
        assert!(unbroken.contains(expected), "the demo does not show {expected}:\n{stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "colours are for terminals");
    let longest = stdout.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(100), "a line has {longest:?} columns:\n{stdout}");
    assert_eq!(fs::read_dir(workspace.work()).unwrap().count(), 0, "it uses a temporary folder");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "and removes that folder");
}
