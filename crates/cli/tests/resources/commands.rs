//! `get_commands` and its like: what a prompt can name.

use bowline_testkit::{Launch, Workspace};
use serde_json::{Value, json};

use crate::with_resources;

/// Returns the names that `get_commands` lists.
#[track_caller]
fn names(workspace: &Workspace, arguments: &[&str]) -> Vec<String> {
    let mut agent = Launch::rpc(workspace).arguments(arguments).start();
    let commands = agent.get("get_commands")["commands"].take();
    commands.as_array().unwrap().iter().map(|command| command["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn commands_have_the_form_that_pi_gives_them() {
    let workspace = with_resources(Workspace::empty());
    let mut agent = Launch::rpc(&workspace).arguments(&["--approve"]).start();
    let (home, work) = (workspace.home().display(), workspace.work());
    let work = work.display();
    let own = format!("{home}/.bowline");
    let info = |path: String, scope: &str, base: String| json!({ "path": path, "source": "auto", "scope": scope, "origin": "top-level", "baseDir": base });
    let command = |name: &str, description: &str, source: &str, info: Value| json!({ "name": name, "description": description, "source": source, "sourceInfo": info });
    let long = "First line of the body that is quite long indeed, more than ...";
    let expected = json!([
        command(
            "tpl",
            "T",
            "prompt",
            info(format!("{work}/.pi/prompts/tpl.md"), "project", format!("{work}/.pi"))
        ),
        command("nodesc", long, "prompt", info(format!("{own}/prompts/nodesc.md"), "user", own.clone())),
        command(
            "skill:ps",
            "project skill",
            "skill",
            info(format!("{work}/.pi/skills/ps/SKILL.md"), "project", format!("{work}/.pi"))
        ),
        command(
            "skill:Bad_Name",
            "d",
            "skill",
            info(format!("{own}/skills/bad/SKILL.md"), "user", own.clone())
        ),
        command(
            "skill:skills",
            "loose file",
            "skill",
            info(format!("{own}/skills/loose.md"), "user", own.clone())
        ),
        command(
            "skill:myskill",
            "A <skill> & more",
            "skill",
            info(format!("{own}/skills/myskill/SKILL.md"), "user", own)
        ),
        command(
            "skill:ag",
            "agents one",
            "skill",
            info(format!("{home}/.agents/skills/ag/SKILL.md"), "user", format!("{home}/.agents"))
        ),
    ]);
    assert_eq!(agent.get("get_commands")["commands"], expected);
    agent.wait_for_stderr("its name \"Bad_Name\" has other characters");
}

#[test]
fn commands_of_omp_name_what_provides_them() {
    let workspace = with_resources(Workspace::empty())
        .home_file(".bowline/prompts/hinted.md", "---\ndescription: h\nargument-hint: <file>\n---\nx");
    let mut agent =
        Launch::rpc(&workspace).dialect("omp").arguments(&["--skills=myskill,a*"]).start_greeted();
    let commands = agent.get("get_available_commands")["commands"].take();
    let commands: Vec<_> =
        commands.as_array().unwrap().iter().filter(|command| command["source"] != "builtin").collect();
    let expected = [
        json!({ "name": "skill:myskill", "description": "A <skill> & more", "input": { "hint": "arguments" }, "source": "skill" }),
        json!({ "name": "skill:ag", "description": "agents one", "input": { "hint": "arguments" }, "source": "skill" }),
        json!({ "name": "hinted", "description": "h", "input": { "hint": "<file>" }, "source": "file" }),
        json!({ "name": "nodesc", "description": "First line of the body that is quite long indeed, more than ...", "source": "file" }),
        json!({ "name": "tpl", "description": "user tpl", "source": "file" }),
    ];
    assert_eq!(commands, expected.iter().collect::<Vec<_>>());
}

#[test]
fn flags_turn_kinds_off_and_name_further_files() {
    let workspace = with_resources(Workspace::empty())
        .file("extra.md", "x")
        .file("given/SKILL.md", &crate::skill("d", "x"));
    assert_eq!(names(&workspace, &["--no-skills"]), ["nodesc", "tpl"]);
    assert_eq!(names(&workspace, &["-ns", "-np"]), [""; 0]);
    let given = ["-ns", "-np", "--skill", "given", "--prompt-template", "extra.md"];
    assert_eq!(names(&workspace, &given), ["extra", "skill:given"]);
    assert_eq!(names(&workspace, &["-np", "--skills", "ag"]), ["skill:ag"]);
    let mut agent = Launch::rpc(&workspace).arguments(&given).start();
    let info = &agent.get("get_commands")["commands"][0]["sourceInfo"];
    let path = workspace.work().join("extra.md");
    assert_eq!(*info, json!({ "path": path, "source": "cli", "scope": "temporary", "origin": "top-level" }));
}

#[test]
fn settings_name_further_files_and_leave_some_out() {
    let settings = json!({
        "prompts": ["~/shared", "-prompts/tpl.md"],
        "skills": ["!skills/*", "+skills/bad"],
        "themes": ["x"],
    });
    let workspace = with_resources(Workspace::empty())
        .settings(settings.clone())
        .home_file("shared/mine.md", "x")
        .file("a", "");
    assert_eq!(names(&workspace, &[]), ["mine", "nodesc", "skill:Bad_Name", "skill:ag"]);
    let mut off = settings;
    off["enableSkillCommands"] = json!(false);
    assert_eq!(names(&workspace.settings(off), &[]), ["mine", "nodesc"]);
}

#[test]
fn missing_files_are_reported_and_stop_nothing() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).arguments(&["--skill", "nowhere"]).start();
    assert_eq!(agent.get("get_commands")["commands"], json!([]));
    agent.wait_for_stderr("nowhere is neither a file nor a folder");
}

#[test]
fn changes_take_effect_at_once() {
    let workspace = Workspace::empty();
    let mut agent = Launch::rpc(&workspace).start();
    assert_eq!(agent.get("get_commands")["commands"], json!([]));
    let workspace = workspace.home_file(".bowline/prompts/late.md", "x");
    assert_eq!(agent.get("get_commands")["commands"][0]["name"], "late");
    drop(workspace);
}
