//! The tool `find`: the files and directories that match a glob.

use bowline_core::tool::{ToolDisplay, ToolTraits};
use tokio_util::sync::CancellationToken;

use crate::builtin::{Builtin, Call, described, search, unprepared};
use crate::error::Error;
use crate::glob::Glob;
use crate::listing::{MAX_LIMIT, Omitted, listing};
use crate::parameters::{Kind, Parameter, integer, text};
use crate::paths;
use crate::tool::Outcome;
use crate::walk::Walk;

const DEFAULT_LIMIT: usize = 1000;

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "find",
        mutates: false,
        path_argument: Some("path"),
        display: ToolDisplay::Search,
    },
    description: "Find files and directories by glob. Skips what .gitignore excludes.",
    parameters: &[
        Parameter::required("pattern", Kind::Text, "Glob such as *.ts or src/**/*.spec.ts"),
        Parameter::optional("path", Kind::Text, "Directory (default: .)"),
        Parameter::optional("limit", Kind::Integer, "Most results (default: 1000)"),
    ],
    enabled_by_default: false,
    describe: described,
    prepare: unprepared,
    run: |call| Box::pin(search(call, find)),
};

fn find(call: &Call, cancel: &CancellationToken) -> Result<Outcome, Error> {
    let arguments = &call.arguments;
    let glob = Glob::new(text(arguments, "pattern").unwrap_or_default())?;
    let given = text(arguments, "path").unwrap_or(".");
    let root = call.resolve(given)?;
    let limit = integer(arguments, "limit").unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    if !root.exists() {
        return Err(paths::not_found(&root));
    }
    if !root.is_dir() {
        return Err(Error::NotDirectory { path: given.to_owned() });
    }
    let mut found = Vec::new();
    let mut limit_reached = false;
    let mut walk = Walk::new(call, TOOL.traits.name, root.clone(), cancel);
    for entry in &mut walk {
        let below = entry.path.strip_prefix(&root).unwrap_or(&entry.path);
        if !glob.matches(below) {
            continue;
        }
        if found.len() == limit {
            limit_reached = true;
            break;
        }
        let path = paths::relative(&call.context.working_directory, &entry.path);
        let slash = if entry.kind.is_dir() { "/" } else { "" };
        found.push(format!("{}{slash}", paths::shown(path)));
    }
    if cancel.is_cancelled() {
        return Err(Error::Aborted);
    }
    if found.is_empty() {
        found.push("No files found.".to_owned());
    }
    let omitted = Omitted {
        limit: limit_reached.then_some(limit),
        limit_key: "resultLimitReached",
        alternative: "narrow the pattern",
        names: walk.left_out_names(),
        closed: walk.closed(),
    };
    Ok(listing(&found.join("\n"), omitted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{Workshop, text};

    #[tokio::test]
    async fn paths_are_sorted_without_ignored_files() {
        let workshop = Workshop::with(&[
            ("b.rs", ""),
            ("a/c.rs", ""),
            ("a/nested.rs/d.txt", ""),
            (".config/e.rs", ""),
            (".gitignore", "target\n"),
            ("target/f.rs", ""),
            (".git/g.rs", ""),
        ]);
        let found = workshop.succeed("find", json!({"pattern": "*.rs"})).await;
        assert_eq!(found, ".config/e.rs\na/c.rs\na/nested.rs/\nb.rs");
        let found = workshop.succeed("find", json!({"pattern": "nested.rs/*", "path": "a"})).await;
        assert_eq!(found, "a/nested.rs/d.txt");
        assert_eq!(workshop.succeed("find", json!({"pattern": "*.go"})).await, "No files found.");
    }

    #[tokio::test]
    async fn limit_is_noted_only_when_exceeded() {
        let workshop = Workshop::with(&[("1", ""), ("2", ""), ("3", "")]);
        let outcome = workshop.call("find", json!({"pattern": "*", "limit": 2})).await;
        assert!(text(&outcome).starts_with("1\n2\n\n[Only the first 2 are listed. Set limit=4"));
        assert_eq!(outcome.details, Some(json!({"resultLimitReached": 2})));
        let outcome = workshop.call("find", json!({"pattern": "*", "limit": 3})).await;
        assert_eq!((text(&outcome).as_str(), outcome.details), ("1\n2\n3", None));
    }

    #[tokio::test]
    async fn non_directory_is_refused() {
        let workshop = Workshop::with(&[("file", "")]);
        let find = |path: &str| workshop.fail("find", json!({"pattern": "*", "path": path}));
        assert!(find("file").await.contains("is a file"));
        assert!(find("flie").await.contains("file?"));
    }
}
