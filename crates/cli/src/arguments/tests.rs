//! What command lines mean.

use super::*;

fn parse(line: &str) -> Result<Arguments, String> {
    Arguments::parse(line.split_whitespace().map(ToOwned::to_owned).collect(), "pi", &[], false)
        .map_err(|failure| failure.to_string())
}

#[track_caller]
fn refused(line: &str) -> String {
    parse(line).unwrap_err()
}

#[test]
fn every_flag_of_pi_clients_is_accepted() {
    let arguments = parse(
        "--mode rpc --provider mock --model m1:high --models a,b --thinking low --api-key k --system-prompt s \
         --append-system-prompt x --append-system-prompt y --session-dir d --name n --tools read,bash -xt bash \
         --no-extensions --no-skills --no-context-files --no-prompt-templates --no-themes --offline --approve \
         --no-approve --extension e --skill s --prompt-template p --theme t -nt -nbt -ne -ns -np -nc --verbose \
         --no-session",
    )
    .unwrap();
    assert_eq!(arguments.action, Action::Rpc);
    assert_eq!(arguments.append_system_prompt, ["x", "y"]);
    assert_eq!(arguments.tools.unwrap(), ["read", "bash"]);
    assert!(
        arguments.warnings.iter().all(|warning| warning.contains(" is ignored: ")),
        "{:?}",
        arguments.warnings
    );
}

#[test]
fn search_text_is_optional() {
    for (line, search) in [
        ("--list-models", ""),
        ("--list-models opus", "opus"),
        ("--list-models=opus", "opus"),
        ("--list-models --json", ""),
    ] {
        let arguments = parse(line).unwrap();
        assert_eq!((arguments.action, arguments.search.as_str()), (Action::ListModels, search), "{line}");
    }
    assert_eq!(parse("--mode rpc --local").unwrap_err(), "--local is for --list-models, install and remove");
}

#[test]
fn words_after_a_subcommand_belong_to_it() {
    let arguments = parse("auth check --provider groq --json").unwrap();
    assert_eq!((arguments.action, arguments.words), (Action::Auth, vec!["check".to_owned()]));
}

#[test]
fn an_unknown_long_flag_warns_and_swallows_nothing() {
    let arguments = parse("--planet --modle=x --mode rpc").unwrap();
    assert_eq!(arguments.action, Action::Rpc);
    assert_eq!(arguments.warnings, [""; 0]);
    assert_eq!(
        arguments.unknown_flag_warnings(),
        ["unknown option --planet is ignored", "unknown option --modle is ignored; did you mean --model?"]
    );
}

#[test]
fn unknown_long_flags_are_kept_with_what_may_be_their_values() {
    let arguments = parse("--mode rpc --map file --fast --depth=3 word -nt").unwrap();
    let given = |name: &str, attached: Option<&str>, next: Option<&str>| GivenFlag {
        name: name.to_owned(),
        attached: attached.map(ToOwned::to_owned),
        next_word: next.map(ToOwned::to_owned),
        if_unknown: IfUnknown::Reported,
    };
    assert_eq!(
        arguments.unknown_flags(),
        [given("map", None, Some("file")), given("fast", None, None), given("depth", Some("3"), None)]
    );
    assert_eq!(arguments.warnings.len(), 1, "the other word: {:?}", arguments.warnings);
}

#[test]
fn an_export_has_a_file_and_may_have_another() {
    let arguments = parse("export a.jsonl --out b.html").unwrap();
    assert_eq!(arguments.action, Action::Export);
    assert_eq!(
        (&arguments.words[..], arguments.out.as_deref()),
        (&["a.jsonl".to_owned()][..], Some("b.html"))
    );
}

#[test]
fn bad_arguments_are_refused() {
    assert_eq!(refused("-Z"), "Unknown option: -Z (see bowline --help)");
    assert_eq!(refused("--mode xml"), "--mode: \"xml\" is not a mode; there are rpc, text and json");
    assert_eq!(refused("--mode rpc --model"), "--model needs a value: --model PROVIDER/ID[:LEVEL]");
    assert!(refused("--mode rpc @file.txt").starts_with("@file arguments are not supported in RPC mode"));
    assert_eq!(refused("--session a --continue"), "--session and --continue cannot be used together");
}

#[test]
fn only_serving_a_client_tolerates_what_is_unknown() {
    assert_eq!(refused("dmeo"), "unknown subcommand \"dmeo\"; did you mean demo? (see bowline help)");
    assert_eq!(refused("--modle x"), "Unknown option: --modle; did you mean --model? (see bowline help)");
    assert_eq!(
        refused("sessions list --al"),
        "Unknown option: --al; did you mean --all? (see bowline help sessions)"
    );
    assert_eq!(
        refused("export a --repair"),
        "--repair is not an option of bowline export (see bowline help export)"
    );
    assert_eq!(refused("demo --mode rpc"), "--mode is not an option of bowline demo (see bowline help demo)");
    assert_eq!(refused("demo x"), "bowline demo takes no arguments (see bowline help demo)");
    assert_eq!(
        refused("--no-session sk-secret"),
        "an argument is neither an option nor a subcommand; to run a message, add -p (see bowline help)"
    );
    assert_eq!(parse("--mode rpc demo").unwrap().action, Action::Rpc);
}

#[test]
fn messages_are_the_words_of_a_one_shot_mode() {
    for (line, messages, files) in [
        ("-p one two @a @b/c", &["one", "two"][..], &["a", "b/c"][..]),
        ("one -p --no-session two", &["one", "two"], &[]),
        ("--mode json -p -- -x @f", &["-x"], &["f"]),
        ("-p --- --print", &["---"], &[]),
        ("--output json --planet earth one", &["one"], &[]),
        ("--mode text demo", &["demo"], &[]),
    ] {
        let arguments = parse(line).unwrap();
        assert_eq!(arguments.action, Action::OneShot, "{line}");
        assert_eq!(
            (&arguments.messages[..], &arguments.file_arguments[..]),
            (&owned(messages)[..], &owned(files)[..]),
            "{line}"
        );
    }
    assert_eq!(parse("-p one --mode rpc").unwrap().action, Action::Rpc);
    assert_eq!(refused("@file"), "to run a message, add -p (see bowline help)");
}

#[test]
fn started_as_pi_words_are_messages() {
    let parse = |line: &str| {
        let words = line.split_whitespace().map(ToOwned::to_owned).collect();
        Arguments::parse(words, "pi", &[], true).map_err(|failure| failure.to_string())
    };
    let arguments = parse("--no-session sessions").unwrap();
    assert_eq!((arguments.action, arguments.is_one_shot), (Action::OneShot, false));
    assert_eq!(arguments.messages, ["sessions"]);
    assert_eq!(parse("sessions list").unwrap().action, Action::Sessions);
    assert_eq!(parse("").unwrap().action, Action::OneShot);
    assert_eq!(parse("-z x").unwrap_err(), "Unknown option: -z");
    let export = parse("--export a.jsonl b.html").unwrap();
    assert_eq!(
        (export.action, &export.words[..], export.out.as_deref()),
        (Action::Export, &owned(&["a.jsonl"])[..], Some("b.html"))
    );
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn help_and_version_take_precedence() {
    for line in ["--help", "sessions --help", "-h --mode rpc --unheard-of", "help", "help sessions"] {
        assert_eq!(parse(line).unwrap().action, Action::Help, "{line}");
    }
    for line in ["--version", "-v", "-V", "--mode rpc --version", "--version --mode rpc"] {
        assert_eq!(parse(line).unwrap().action, Action::Version, "{line}");
    }
}

#[test]
fn repeated_and_empty_values_are_warned_about() {
    let arguments = parse("--mode rpc --model a --model b --provider= -xt a -xt b").unwrap();
    assert_eq!((arguments.model.as_deref(), arguments.provider.as_deref()), (Some("b"), None));
    assert_eq!(
        arguments.warnings,
        ["--model is given more than once; the last one counts", "--provider is ignored: its value is empty"]
    );
}
