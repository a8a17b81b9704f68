//! The tool `ls`: the names in a directory.

use std::fs;
use std::path::Path;

use bowline_core::tool::{ToolDisplay, ToolTraits};
use tokio_util::sync::CancellationToken;

use crate::builtin::{Builtin, Call, described, search, unprepared};
use crate::closed_paths::Closed;
use crate::error::Error;
use crate::listing::{MAX_LIMIT, Omitted, listing};
use crate::parameters::{Kind, Parameter, integer, text};
use crate::paths;
use crate::tool::Outcome;
use crate::walk::MAX_NAMES;

const DEFAULT_LIMIT: usize = 500;

pub(crate) static TOOL: Builtin = Builtin {
    traits: ToolTraits {
        name: "ls",
        mutates: false,
        path_argument: Some("path"),
        display: ToolDisplay::Search,
    },
    description: "List a directory, hidden files included. Directories end in /.",
    parameters: &[
        Parameter::optional("path", Kind::Text, "Directory (default: .)"),
        Parameter::optional("limit", Kind::Integer, "Most entries (default: 500)"),
    ],
    enabled_by_default: false,
    describe: described,
    prepare: unprepared,
    run: |call| Box::pin(search(call, ls)),
};

fn ls(call: &Call, cancel: &CancellationToken) -> Result<Outcome, Error> {
    let arguments = &call.arguments;
    let given = text(arguments, "path").unwrap_or(".");
    let path = call.resolve(given)?;
    let limit = integer(arguments, "limit").unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    if !path.exists() {
        return Err(paths::not_found(&path));
    }
    if !path.is_dir() {
        return Err(Error::NotDirectory { path: given.to_owned() });
    }
    let mut names = Vec::new();
    let mut left_out_names = false;
    let mut closed = Closed::below(call, TOOL.traits.name, &path);
    for entry in fs::read_dir(&path).map_err(Error::file("list", given))? {
        if cancel.is_cancelled() {
            return Err(Error::Aborted);
        }
        if names.len() == MAX_NAMES {
            left_out_names = true;
            break;
        }
        let name = entry.map_err(Error::file("list", given))?.file_name();
        if !closed.leave_out(&path.join(&name)) {
            names.push(name);
        }
    }
    if names.is_empty() && closed.count == 0 {
        return Ok(Outcome::text("(the directory is empty)"));
    }
    names.sort_by_cached_key(|name| (name.to_string_lossy().to_lowercase(), name.clone()));
    let limit_reached = names.len() > limit;
    names.truncate(limit);
    let lines: Vec<_> = names
        .iter()
        // A link to a directory counts as one: it can be listed.
        .map(|name| {
            format!("{}{}", paths::shown(Path::new(name)), if path.join(name).is_dir() { "/" } else { "" })
        })
        .collect();
    let omitted = Omitted {
        limit: limit_reached.then_some(limit),
        limit_key: "entryLimitReached",
        alternative: "use find with a pattern",
        names: left_out_names,
        closed: closed.count,
    };
    let lines =
        if lines.is_empty() { "(nothing else is in the directory)".to_owned() } else { lines.join("\n") };
    Ok(listing(&lines, omitted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{Workshop, text};

    #[tokio::test]
    async fn names_are_sorted_regardless_of_case() {
        let workshop = Workshop::with(&[("b", ""), ("A/x", ""), ("C", ""), (".d", "")]);
        assert_eq!(workshop.succeed("ls", json!({})).await, ".d\nA/\nb\nC");
        assert_eq!(workshop.succeed("ls", json!({"path": "A", "limit": null})).await, "x");
        std::fs::create_dir(workshop.path().join("empty")).unwrap();
        assert_eq!(workshop.succeed("ls", json!({"path": "empty"})).await, "(the directory is empty)");
    }

    #[tokio::test]
    async fn limit_is_noted_and_reported() {
        let workshop = Workshop::with(&[("a", ""), ("b", "")]);
        let outcome = workshop.call("ls", json!({"limit": 1})).await;
        assert!(text(&outcome).starts_with("a\n\n[Only the first 1 are listed."));
        assert_eq!(outcome.details, Some(json!({"entryLimitReached": 1})));
    }

    #[tokio::test]
    async fn non_directory_is_refused() {
        let workshop = Workshop::with(&[("file", "")]);
        assert!(workshop.fail("ls", json!({"path": "file"})).await.contains("is a file"));
        assert!(workshop.fail("ls", json!({"path": "/no/such"})).await.contains("does not exist"));
    }
}
