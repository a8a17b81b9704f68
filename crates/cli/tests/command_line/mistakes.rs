//! Mistyped command lines, and the help that they point to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use bowline_testkit::{Finished, Launch, Workspace, bowline};

#[track_caller]
fn run(workspace: &Workspace, arguments: &[&str]) -> Finished {
    Launch::bowline(workspace).arguments(arguments).run()
}

/// Checks that a command line is refused on stderr only, in these words.
#[track_caller]
fn check_refused(arguments: &[&str], expected: &str) {
    let finished = run(&Workspace::empty(), arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (2, ""), "{arguments:?}");
    assert_eq!(finished.stderr, format!("bowline: {expected}\n"), "{arguments:?}");
}

#[test]
fn unknown_words_and_flags_are_refused_with_a_suggestion() {
    check_refused(&["dmeo"], "unknown subcommand \"dmeo\"; did you mean demo? (see bowline help)");
    check_refused(&["frobnicate"], "unknown subcommand \"frobnicate\" (see bowline help)");
    check_refused(&["--hlep"], "Unknown option: --hlep; did you mean --help? (see bowline help)");
    check_refused(&["--mdoe", "rpc"], "Unknown option: --mdoe; did you mean --mode? (see bowline help)");
    check_refused(&["-x"], "Unknown option: -x (see bowline --help)");
    check_refused(
        &["sessions", "list", "--serch", "x"],
        "Unknown option: --serch; did you mean --search? (see bowline help sessions)",
    );
    check_refused(
        &["--list-models", "--jsno"],
        "Unknown option: --jsno; did you mean --json? (see bowline help)",
    );
    check_refused(
        &["demo", "--model", "x/y"],
        "--model is not an option of bowline demo (see bowline help demo)",
    );
    check_refused(&["demo", "now"], "bowline demo takes no arguments (see bowline help demo)");
    for (arguments, known) in [
        (["sessions", "lits"], "list, show, rm, undo, fsck"),
        (["auth", "lits"], "list, set, remove, check"),
        (["mcp", "lits"], "list, test, call"),
        (["extension", "lits"], "new, check, list"),
    ] {
        let [name, word] = arguments;
        let text = format!("unknown subcommand \"{word}\" of {name}; did you mean list? (there are {known})");
        check_refused(&arguments, &text);
    }
    // What is nothing like a known word may be a key.
    check_refused(
        &["auth", "sk-secret"],
        "unknown subcommand of auth (there are list, set, login, remove, check)",
    );
    check_refused(
        &["auth", "list", "--session", "x"],
        "--session is not an option of bowline auth (see bowline help auth)",
    );
}

#[test]
fn what_has_no_effect_on_a_subcommand_is_refused() {
    for (arguments, what) in [
        (
            &["sandbox", "explain", "--level", "full"][..],
            "--level is not an option of bowline sandbox explain",
        ),
        (
            &["sandbox", "check", "--sandbox", "read-only"],
            "--sandbox is not an option of bowline sandbox check",
        ),
        (&["sandbox", "explain", "--", "rm"], "bowline sandbox explain takes no command"),
        (&["sandbox", "explain", "now"], "bowline sandbox explain takes no arguments"),
        (&["sessions", "list", "--run", "1"], "--run is not an option of bowline sessions list"),
        (&["auth", "list", "--online"], "--online is not an option of bowline auth list"),
        (&["mcp", "list", "s"], "bowline mcp list takes no arguments"),
        (&["mcp", "call", "s", "t", "{}", "x"], "bowline mcp call takes at most 3 arguments"),
        (&["extension", "new", "x", "--verbose"], "--verbose is not an option of bowline extension new"),
    ] {
        check_refused(arguments, &format!("{what} (see bowline help {})", arguments[0]));
    }
    check_refused(&["sessions", "undo", "x", "--run", "0"], "--run: it must be a number of at least 1");
}

#[test]
fn word_that_may_be_a_key_is_not_repeated() {
    let finished = run(&Workspace::empty(), &["--no-session", "sk-secret"]);
    assert_eq!(finished.code, 2);
    assert!(!finished.stderr.contains("sk-secret"), "{}", finished.stderr);
}

#[test]
fn every_subcommand_has_help_with_examples() {
    let workspace = Workspace::empty();
    for name in ["demo", "sessions", "auth", "export", "schema", "help"] {
        let asked = run(&workspace, &["help", name]).succeeded();
        for arguments in [&[name, "--help"][..], &[name, "-h"], &["--help", name]] {
            assert_eq!(run(&workspace, arguments).succeeded(), asked, "{arguments:?}");
        }
        assert!(asked.starts_with(&format!("bowline {name}")), "{asked}");
        assert!(asked.contains("\nOptions:\n") && asked.contains("\nExamples:\n  bowline "), "{asked}");
    }
    assert_eq!(run(&workspace, &["help"]).succeeded(), run(&workspace, &["--help"]).succeeded());
    let finished = run(&workspace, &["help", "sesions"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (1, ""));
    assert!(finished.stderr.contains("did you mean sessions?"), "{}", finished.stderr);
}

#[test]
fn examples_of_the_help_are_command_lines() {
    let workspace = Workspace::empty();
    let help = ["demo", "sessions", "auth", "export", "schema", "help"]
        .map(|name| run(&workspace, &["help", name]).succeeded())
        .concat();
    let examples = help.lines().filter_map(|line| line.strip_prefix("  bowline "));
    let mut count = 0;
    for example in examples {
        let words = example.split(['<', '>']).next().unwrap_or_default().replace("\"What we did\"", "x");
        let mut words: Vec<_> = words.split_whitespace().collect();
        // Whether it is accepted is all that matters, so it need not run.
        words.push("--help");
        assert_eq!(run(&workspace, &words).code, 0, "{example}");
        words.pop();
        words.push("--frob");
        let finished = run(&workspace, &words);
        assert!(finished.stderr.contains("Unknown option: --frob"), "{example}: {}", finished.stderr);
        count += 1;
    }
    assert!(count >= 9, "{help}");
}

#[test]
fn flag_without_an_action_says_what_is_missing() {
    let finished = run(&Workspace::empty(), &["--model", "scripted/demo"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (2, ""));
    assert!(
        finished
            .stderr
            .starts_with("bowline: --model alone does nothing; to serve a client, add --mode rpc\n"),
        "{}",
        finished.stderr
    );
}

#[test]
fn argument_that_is_not_text_is_refused_by_its_number() {
    let workspace = Workspace::empty();
    let output = Command::new(bowline())
        .args(["--mode", "rpc", "--session-dir"])
        .arg(OsStr::from_bytes(b"/tmp/\xff"))
        .env("HOME", workspace.home())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "bowline: argument 4 is not UTF-8 text\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"fatal\":true"));
}

#[test]
fn instructions_that_name_a_missing_file_prevent_the_start() {
    let workspace = Workspace::empty();
    fs::write(workspace.work().join("rules.md"), "Rhyme.").unwrap();
    for (arguments, missing) in [
        (&["--system", "none"][..], "none"),
        (&["--dialect", "opi", "-s", "none"], "none"),
        (&["--system-prompt", "prompts/none"], "prompts/none"),
        (&["--append-system-prompt", "rulse.md"], "rulse.md"),
        (&["--append-system-prompt", "~/none.txt"], "none.txt"),
    ] {
        let finished = run(&workspace, &[&["--mode", "rpc"], arguments].concat());
        assert_ne!(finished.code, 0, "{arguments:?}");
        assert!(
            finished.stderr.contains(&format!("{missing} cannot be read: No such file")),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
    for arguments in [
        &["--system", "rules.md"][..],
        &["--system-prompt", "rules.md"],
        &["--system-prompt", "Answer in French."],
        &["--system-prompt", "Never write to src/generated.md"],
        &["--append-system-prompt", "Rhyme"],
    ] {
        let finished = run(&workspace, &[&["--mode", "rpc"], arguments].concat());
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn bad_values_are_named_at_the_start() {
    let workspace = Workspace::empty();
    for (arguments, code, expected) in [
        (&["--model", "anthropic/"][..], 1, "Model \"anthropic/\" not found"),
        (&["--model", "scripted/"], 1, "Model \"scripted/\" not found"),
        (&["--provider", "antropic"], 1, "Did you mean anthropic?"),
        (&["--session-dir", "/dev/null"], 1, "--session-dir: /dev/null is not a folder"),
        (&["--line-limit", "0"], 1, "it must be a whole number from 1"),
        (&["--exclude-tools", "bsah"], 0, "there is no tool named bsah; did you mean bash?"),
        (&["--tools", ""], 0, "--tools names no tool, so there are none"),
        (&["--model", ""], 0, "--model is ignored: its value is empty"),
        (&["--json"], 0, "--json has no effect in RPC mode"),
    ] {
        let finished = run(&workspace, &[&["--mode", "rpc"], arguments].concat());
        assert_eq!(finished.code, code, "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
    }
    for (arguments, expected) in [
        (&["sessions", "show"][..], "which session? bowline sessions show PATH|ID"),
        (&["sessions", "undo", "a", "b"], "undo takes one session at a time: bowline sessions undo PATH|ID"),
        (&["--list-models", "--provider", "nobody"], "no model of a provider \"nobody\" is known"),
    ] {
        let finished = run(&workspace, arguments);
        assert_eq!((finished.code, finished.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(finished.stderr.contains(expected), "{arguments:?}: {}", finished.stderr);
    }
}

#[test]
fn serving_on_a_terminal_says_what_to_type() {
    let workspace = Workspace::empty();
    // Runs a program on a terminal of its own and ends its input.
    let script = "import os, pty, sys\n\
        pid, terminal = pty.fork()\n\
        if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
        os.write(terminal, b'\\x04')\n\
        try:\n\
        \x20while chunk := os.read(terminal, 65536): sys.stdout.buffer.write(chunk)\n\
        except OSError: pass\n\
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(bowline())
        .args(["--mode", "rpc", "--no-session"])
        .env("HOME", workspace.home())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("type one JSON object per line"), "{shown}");
}
