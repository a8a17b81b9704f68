//! What the arguments of a call mean to a built-in tool, for those who judge a call before it runs.

use std::path::{Component, Path, PathBuf};

use bowline_core::message::Arguments;
use serde_json::Value;

use crate::builtin::Builtin;
use crate::parameters;
use crate::paths;

/// Returns the arguments in the form that the tool declares, its path absolute. What they mean must not depend on how the
/// model writes them, or a guard that knows one way is passed by another. Looks at the file system.
pub(crate) fn effective(
    builtin: &Builtin,
    mut arguments: Arguments,
    working_directory: &Path,
    home: Option<&Path>,
) -> Arguments {
    (builtin.prepare)(&mut arguments);
    // A number where a text is wanted is a text to the tool. What is not declared stays, for whoever knows it.
    if let Ok(checked) = parameters::check(builtin.traits.name, builtin.parameters, arguments.clone()) {
        arguments.extend(checked);
    }
    if let Some(name) = builtin.traits.path_argument
        && let Some(Value::String(given)) = arguments.get_mut(name)
    {
        *given = absolute(working_directory, home, given).to_string_lossy().into_owned();
    }
    arguments
}

/// Returns the path that is opened. Only what goes up is followed through links, so that paths in the working directory
/// begin as it does.
fn absolute(working_directory: &Path, home: Option<&Path>, given: &str) -> PathBuf {
    let path = paths::resolve(working_directory, home, given);
    if !path.components().any(|part| part == Component::ParentDir) {
        // Collecting the parts drops those that mean nothing.
        return path.components().collect();
    }
    let real = bowline_files::canonical(&path);
    match real.strip_prefix(bowline_files::canonical(working_directory)) {
        Ok(rest) => working_directory.join(rest),
        Err(_) => real,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tempfile::tempdir;

    use crate::toolbox::effective_arguments;

    fn check(tool: &str, given: &Value, expected: &Value) {
        let root = tempdir().unwrap();
        let project = root.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        let arguments = given.as_object().unwrap().clone();
        let home = root.path().join("home");
        let found = effective_arguments(tool, &arguments, &project, Some(&home));
        let expected = expected.to_string().replace("ROOT", &project.parent().unwrap().to_string_lossy());
        assert_eq!(Value::from(found.unwrap()).to_string(), expected, "{given}");
    }

    #[test]
    fn paths_are_absolute_however_they_are_written() {
        for given in ["a", "./a", "@a", "src/../a", "src/./../a"] {
            check("read", &json!({"path": given}), &json!({"path": "ROOT/project/a"}));
        }
        check("read", &json!({"file_path": "../a"}), &json!({"path": "ROOT/a"}));
        check("read", &json!({"path": "src/../../project/a"}), &json!({"path": "ROOT/project/a"}));
        check("write", &json!({"path": "/etc/../x"}), &json!({"path": "/x"}));
        check("ls", &json!({}), &json!({}));
        check("ls", &json!({"path": 1}), &json!({"path": "ROOT/project/1"}));
        check("ls", &json!({"path": [1], "x": 2}), &json!({"path": [1], "x": 2}));
    }

    #[test]
    fn values_are_those_that_the_tool_gets() {
        check(
            "write",
            &json!({"path": 7, "content": true, "x": 1}),
            &json!({"path": "ROOT/project/7", "content": "true", "x": 1}),
        );
        check("bash", &json!({"command": 5}), &json!({"command": "5"}));
        check("bash", &json!({"command": ["ls"]}), &json!({"command": ["ls"]}));
    }

    #[test]
    fn other_forms_of_arguments_are_those_that_the_tool_declares() {
        check(
            "edit",
            &json!({"path": "/a", "old_string": "x", "new_string": "y"}),
            &json!({"path": "/a", "edits": [{"oldText": "x", "newText": "y"}]}),
        );
        let arguments = json!({"x": 1}).as_object().unwrap().clone();
        assert_eq!(effective_arguments("mcp__a__b", &arguments, "/".as_ref(), None), None);
    }
}
