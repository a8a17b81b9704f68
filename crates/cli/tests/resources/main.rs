//! Skills, prompt templates, instructions in files, and trust.

#![expect(clippy::unwrap_used, reason = "helpers report failures by panicking")]

mod commands;
mod expansion;
mod instructions;
mod trust;

use bowline_testkit::Workspace;

/// A skill with a description.
fn skill(description: &str, body: &str) -> String {
    format!("---\ndescription: {description}\n---\n{body}\n")
}

/// Adds to a workspace what pi's recording of discovery has: files of the user and of a project.
fn with_resources(workspace: Workspace) -> Workspace {
    workspace
        .file(
            ".pi/prompts/tpl.md",
            "---\ndescription: T\n---\nDo $1 and $@ and ${2:-two} and ${@:2} and ${@:1:1} $ARGUMENTS $9.\n",
        )
        .home_file(".bowline/prompts/tpl.md", "user tpl\n")
        .home_file(
            ".bowline/prompts/nodesc.md",
            "First line of the body that is quite long indeed, more than sixty characters.\n",
        )
        .file(".pi/skills/ps/SKILL.md", &skill("project skill", "x"))
        .home_file(".bowline/skills/bad/SKILL.md", "---\nname: Bad_Name\ndescription: d\n---\nx\n")
        .home_file(".bowline/skills/loose.md", &skill("loose file", "x"))
        .home_file(".bowline/skills/myskill/SKILL.md", &skill("A <skill> & more", "BODY of skill"))
        .home_file(".agents/skills/ag/SKILL.md", &skill("agents one", "x"))
}
