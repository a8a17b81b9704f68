//! The mistakes that newcomers make most: what each says, word for word, and that docs/troubleshooting.md explains it.

use std::fs;
use std::path::Path;

use bowline_testkit::{Launch, Workspace};
use serde_json::json;

/// A command line that somebody types, and what comes of it.
struct Mistake {
    words: &'static [&'static str],
    /// What is on stdin.
    input: &'static str,
    code: i32,
    /// What is shown: stdout, then stderr. HOME and WORK stand for the folders of the test.
    shown: &'static str,
}

/// Prepares a folder with what the mistakes need.
fn workspace() -> Workspace {
    let workspace = Workspace::empty().settings(json!({ "retry": { "enabled": false } })).models(json!({ "providers": {
        "mine": { "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "models": [{ "id": "coder-large" }] },
        "locked": { "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "$NOWHERE",
            "models": [{ "id": "small" }] },
    } }));
    workspace.file("gate.ts", "export default function (pi) {}\n")
}

#[track_caller]
fn check(workspace: &Workspace, mistake: &Mistake) {
    let mut launch = Launch::bowline(workspace).arguments(mistake.words).environment("PATH", "/nowhere");
    // A model server that happens to run here would be mentioned.
    for name in ["OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL"] {
        launch = launch.environment(name, "http://127.0.0.1:9");
    }
    let finished = launch.run_with_input(mistake.input);
    let shown = (finished.stdout + &finished.stderr)
        .replace(&*workspace.work().to_string_lossy(), "WORK")
        .replace(&*workspace.home().to_string_lossy(), "HOME");
    assert_eq!((finished.code, shown.as_str()), (mistake.code, mistake.shown), "{:?}", mistake.words);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = fs::read_to_string(page).unwrap();
    let is_explained = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .any(|(text, _)| holds(&shown, text.trim_matches('`').trim()));
    assert!(is_explained, "docs/troubleshooting.md has no row for: {shown}");
}

/// Tells whether a text has a pattern in it, in which … stands for anything.
fn holds(text: &str, pattern: &str) -> bool {
    let parts = pattern.split('…').filter(|part| !part.trim().is_empty());
    let mut rest = text;
    let mut has_any = false;
    for part in parts {
        has_any = true;
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    has_any
}

#[test]
fn no_model_says_how_to_get_one() {
    let mistake = Mistake {
        words: &["-p", "hi"],
        input: "",
        code: 1,
        shown: "bowline: No model selected. Set a provider's key (for example ANTHROPIC_API_KEY, or: bowline auth set \
            --provider anthropic), or use a model server on this machine (bowline --list-models --local), or try --model \
            scripted/demo, which needs neither a key nor a network. --model provider/id or set_model chooses a model; \
            bowline doctor says what is missing.\n",
    };
    check(&Workspace::empty(), &mistake);
}

#[test]
fn broken_settings_name_the_place() {
    for (text, shown) in [
        (
            "{\"defaultModel\": \"x\",}",
            "bowline: HOME/.bowline/settings.json: this is not JSON: trailing comma at line 1 column 22 (comments and commas \
             before a closing bracket are not allowed)\n",
        ),
        (
            "{\"maxTurns\": \"many\"}",
            "bowline: HOME/.bowline/settings.json: maxTurns must be a whole number from 0 to 1000000, not \"many\"; for \
             example: {\"maxTurns\": 100}\n",
        ),
        (
            "{\"sandbox\": {\"mod\": \"read-only\"}}",
            "bowline: HOME/.bowline/settings.json: \"sandbox.mod\" is not a setting; did you mean \"sandbox.mode\"? (unknown \
             keys are ignored elsewhere, but not where they could limit what the agent may do; bowline help settings lists \
             the settings)\n",
        ),
    ] {
        let workspace = Workspace::empty().home_file(".bowline/settings.json", text);
        check(&workspace, &Mistake { words: &["-p", "hi"], input: "", code: 1, shown });
    }
}

#[test]
fn project_that_is_not_trusted_is_named() {
    let workspace = workspace().file(".pi/extensions/gate.ts", "export default function (pi) {}\n");
    let mistake = Mistake {
        words: &["-p", "hi", "--no-session", "--model", "mine/coder-large"],
        input: "",
        code: 1,
        shown: "bowline: not used, because this project is not trusted: .pi/extensions. Pass --approve to use them this time, \
            or run: bowline trust WORK\nbowline: 127.0.0.1:9 refused the connection. Check that the server is running and that the base URL \
            is right.\n",
    };
    check(&workspace, &mistake);
}

#[test]
fn command_lines_that_do_not_work_say_what_to_type() {
    let workspace = workspace();
    for mistake in MISTAKES {
        check(&workspace, mistake);
    }
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        words: &["-p", "hi", "--model", "anthropic/claude-sonnet-5"],
        input: "",
        code: 1,
        shown: "bowline: There is no API key for the provider \"anthropic\". Set the variable ANTHROPIC_API_KEY, or store a \
            key in auth.json: bowline auth set --provider anthropic.\n",
    },
    Mistake {
        words: &["-p", "hi", "--model", "locked/small"],
        input: "",
        code: 1,
        shown: "bowline: The key of the provider \"locked\" in models.json cannot be used: the variable NOWHERE is not set.\n",
    },
    Mistake {
        words: &["-p", "hi", "--model", "claude-sonet-5x"],
        input: "",
        code: 1,
        shown: "bowline: Model \"claude-sonet-5x\" not found. Use --list-models to see available models. Did you mean \
            anthropic/claude-sonnet-5 or openrouter/anthropic/claude-sonnet-5 or cloudflare-ai-gateway/claude-sonnet-5 or \
            amazon-bedrock/anthropic.claude-sonnet-5 or openrouter/anthropic/claude-sonnet-5:batch?\n",
    },
    Mistake {
        words: &["-p", "hi", "--model", "anthropik/claude-sonnet-5"],
        input: "",
        code: 1,
        shown: "bowline: Model \"anthropik/claude-sonnet-5\" not found. Use --list-models to see available models. Did you mean \
            anthropic/claude-sonnet-5 or openrouter/anthropic/claude-sonnet-5 or openrouter/anthropic/claude-sonnet-5:batch \
            or vercel-ai-gateway/anthropic/claude-sonnet-5 or anthropic/claude-sonnet-4-5?\n",
    },
    // A misspelt model of a provider that is known, whose server is down.
    Mistake {
        words: &["-p", "hi", "--no-session", "--model", "mine/coder-lrage"],
        input: "",
        code: 1,
        shown: "bowline: Model \"coder-lrage\" not found for provider \"mine\". Using custom model id. Did you mean \
            coder-large?\nbowline: 127.0.0.1:9 refused the connection. Check that the server is running and that the base URL \
            is right.\n",
    },
    Mistake {
        words: &["-p", "hi", "--modle", "mine/coder-large"],
        input: "",
        code: 1,
        shown: "bowline: Unknown option: --modle; did you mean --model? (see bowline help)\n",
    },
    Mistake {
        words: &["sesions", "list"],
        input: "",
        code: 2,
        shown: "bowline: unknown subcommand \"sesions\"; did you mean sessions? (see bowline help)\n",
    },
    Mistake {
        words: &["What is here?"],
        input: "",
        code: 2,
        shown: "bowline: to run a message, add -p (see bowline help)\n",
    },
    Mistake {
        words: &["explain", "this", "code"],
        input: "",
        code: 2,
        shown: "bowline: unknown subcommand \"explain\"; to run a message, add -p (see bowline help)\n",
    },
    Mistake {
        words: &["-p"],
        input: "",
        code: 1,
        shown: "bowline: there is no message: neither arguments nor stdin have one; for example: bowline -p \"Which files are \
            here?\"\n",
    },
    Mistake {
        words: &["--mode", "rpc", "--no-session"],
        input: "Which files are here?\n",
        code: 0,
        shown: "{\"type\":\"response\",\"command\":\"parse\",\"success\":false,\"error\":\"Failed to parse command: expected \
            value at line 1 column 1; each line must be one JSON object\",\"code\":\"parse_error\"}\n",
    },
    Mistake {
        words: &["--mode", "rpc", "--no-session"],
        input: "{\"type\":\"promt\",\"message\":\"hi\"}\n",
        code: 0,
        shown: "{\"type\":\"response\",\"command\":\"promt\",\"success\":false,\"error\":\"Unknown command: \
            promt\",\"code\":\"unknown_command\"}\n",
    },
    Mistake {
        words: &["-p", "hi", "--cwd", "/no/such/folder"],
        input: "",
        code: 1,
        shown: "bowline: --cwd: \"/no/such/folder\" does not exist; name a folder that does\n",
    },
    Mistake {
        words: &["-p", "hi", "--session", "0199"],
        input: "",
        code: 1,
        shown: "bowline: No session matches '0199'; give a session file, a session id or the beginning of one (bowline \
            sessions list --all shows them)\n",
    },
    Mistake {
        words: &["-p", "hi", "--no-session", "--model", "mine/coder-large", "--extension", "gate.ts"],
        input: "",
        code: 1,
        shown: "Extension error (WORK/gate.ts): pi extensions need Node 22.15 or later, or Bun, and neither is in PATH. Install \
            one of them, or name it with: bowline config set nodePath /path/to/node\nbowline: 127.0.0.1:9 refused the connection. Check that the server is running and that the base URL \
            is right.\n",
    },
    Mistake {
        words: &["-p", "hi", "--tools", "raed"],
        input: "",
        code: 1,
        shown: "bowline: There is no tool named `raed`. Did you mean `read`? The tools are: read, bash, edit, write, grep, \
            find, ls, todo, task.\n",
    },
    Mistake {
        words: &["-p", "hi", "--sandbox", "on"],
        input: "",
        code: 2,
        shown: "bowline: --sandbox: \"on\" is not a sandbox mode; there are read-only, workspace-write, external, \
            full-access\n",
    },
    Mistake {
        words: &["config", "set", "maxTurn", "5"],
        input: "",
        code: 1,
        shown: "bowline: \"maxTurn\" is not a setting; did you mean \"maxTurns\"? (bowline help settings lists the settings)\n",
    },
    Mistake {
        words: &["mcp", "test", "time"],
        input: "",
        code: 1,
        shown: "bowline: there is no MCP server named \"time\" (bowline mcp list shows them)\n",
    },
];
