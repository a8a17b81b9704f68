//! The built-in tools under the names that Claude Code gives to its own, so that hooks written for it work unchanged.

use std::path::{Path, PathBuf};

use bowline_core::message::{Arguments, Content};
use serde_json::{Map, Value, json};

/// Our tools with the names of Claude Code's.
const NAMES: &[(&str, &[&str])] = &[
    ("bash", &["Bash"]),
    ("read", &["Read"]),
    ("write", &["Write"]),
    ("edit", &["Edit", "MultiEdit"]),
    ("grep", &["Grep"]),
    ("find", &["Glob"]),
    ("ls", &["LS"]),
    ("task", &["Task", "Agent"]),
];

/// Returns the names that matchers can mean a tool by.
pub(super) fn names_of(tool: &str) -> Vec<&str> {
    let others = NAMES.iter().find(|(own, _)| *own == tool).map_or(&[][..], |(_, names)| names);
    others.iter().copied().chain([tool]).collect()
}

/// A call as hooks see it.
#[derive(Debug, Clone)]
pub(super) struct ForeignCall {
    pub name: String,
    pub input: Map<String, Value>,
    /// The path as the model wrote it, and as hooks see it.
    path: Option<(Value, Value)>,
}

/// Where paths begin.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub directory: PathBuf,
    pub home: Option<PathBuf>,
}

impl ForeignCall {
    /// Returns a call in Claude Code's form. Looks at the file system, to find out what a path means.
    pub fn new(tool: &str, arguments: &Arguments, place: &Place) -> Self {
        let home = place.home.as_deref();
        let Some(effective) = bowline_tools::effective_arguments(tool, arguments, &place.directory, home)
        else {
            return Self { name: foreign_name(tool), input: arguments.clone(), path: None };
        };
        let given = arguments.get("path").or_else(|| arguments.get("file_path"));
        let path = given.cloned().zip(effective.get("path").cloned());
        let mut name = foreign_name(tool);
        let mut input = Map::new();
        for (key, value) in effective {
            match (tool, key.as_str()) {
                ("read" | "write" | "edit", "path") => put(&mut input, "file_path", value),
                ("edit", "edits") => match value {
                    Value::Array(edits) => match <[Value; 1]>::try_from(edits) {
                        Ok([edit]) => put_edit(&mut input, edit),
                        Err(edits) => {
                            "MultiEdit".clone_into(&mut name);
                            put(&mut input, "edits", edits.into_iter().map(foreign_edit).collect());
                        }
                    },
                    other => put(&mut input, "edits", other),
                },
                ("bash", "timeout") => put(&mut input, "timeout", scaled(value, 1000.0)),
                ("grep", "ignoreCase") => put(&mut input, "-i", value),
                ("grep", "context") => put(&mut input, "-C", value),
                ("grep", "limit") => put(&mut input, "head_limit", value),
                _ => put(&mut input, &key, value),
            }
        }
        if tool == "grep" {
            put(&mut input, "output_mode", "content".into());
        }
        Self { name, input, path }
    }

    /// Returns our arguments for those that a hook wants instead.
    pub fn own_arguments(&self, tool: &str, wanted: Map<String, Value>) -> Arguments {
        let mut arguments = Map::new();
        for (key, value) in wanted {
            match (tool, key.as_str()) {
                ("read" | "write" | "edit", "file_path") | ("grep" | "find" | "ls", "path") => {
                    // What was not changed stays as the model wrote it.
                    let unchanged = self.path.as_ref().filter(|(_, shown)| *shown == value);
                    put(&mut arguments, "path", unchanged.map_or(value, |(given, _)| given.clone()));
                }
                ("edit", "edits") => {
                    let edits = if let Value::Array(edits) = value {
                        edits.into_iter().map(own_edit).collect()
                    } else {
                        value
                    };
                    put(&mut arguments, "edits", edits);
                }
                ("edit", "replace_all") if value == Value::Bool(false) => {}
                ("bash", "timeout") => put(&mut arguments, "timeout", scaled(value, 0.001)),
                // These are for the people who watch, and for a way to run that bowline's tool does not have.
                ("bash", "description") => {}
                ("bash", "run_in_background") if value == Value::Bool(false) => {}
                ("grep", "-i") => put(&mut arguments, "ignoreCase", value),
                ("grep", "-C") => put(&mut arguments, "context", value),
                ("grep", "head_limit") => put(&mut arguments, "limit", value),
                ("grep", "output_mode") if value == "content" => {}
                _ => put(&mut arguments, &key, value),
            }
        }
        if tool == "edit"
            && let (Some(old), Some(new)) =
                (arguments.shift_remove("old_string"), arguments.shift_remove("new_string"))
        {
            put(&mut arguments, "edits", json!([{"oldText": old, "newText": new}]));
        }
        arguments
    }

    /// Returns a result in the form of Claude Code's tool.
    pub fn response(&self, tool: &str, content: &[Content]) -> Value {
        let text = text_of(content);
        let field = |name: &str| self.input.get(name).cloned().unwrap_or_default();
        match tool {
            "bash" => json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}),
            "read" => json!({"type": "text", "file": {"filePath": field("file_path"), "content": text}}),
            "write" => {
                json!({"filePath": field("file_path"), "content": field("content"), "success": true})
            }
            "edit" if self.input.contains_key("edits") => {
                json!({"filePath": field("file_path"), "edits": field("edits"), "success": true})
            }
            "edit" => json!({
                "filePath": field("file_path"),
                "oldString": field("old_string"),
                "newString": field("new_string"),
                "success": true,
            }),
            "find" => json!({"filenames": text.lines().collect::<Vec<_>>()}),
            "grep" | "ls" => json!({"content": text}),
            _ => json!(content),
        }
    }

    /// Returns the file that the call is about.
    pub fn path(&self) -> Option<&Path> {
        ["file_path", "path"].iter().find_map(|name| self.input.get(*name)?.as_str()).map(Path::new)
    }
}

/// Returns the text of a result.
pub(super) fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn foreign_name(tool: &str) -> String {
    names_of(tool).first().copied().unwrap_or(tool).to_owned()
}

fn put(object: &mut Map<String, Value>, name: &str, value: Value) {
    object.insert(name.to_owned(), value);
}

fn put_edit(input: &mut Map<String, Value>, edit: Value) {
    match foreign_edit(edit) {
        Value::Object(edit) => input.extend(edit),
        other => put(input, "edits", Value::Array(vec![other])),
    }
}

fn foreign_edit(edit: Value) -> Value {
    let Value::Object(mut edit) = edit else { return edit };
    rename(&mut edit, "oldText", "old_string");
    rename(&mut edit, "newText", "new_string");
    put(&mut edit, "replace_all", false.into());
    edit.into()
}

fn own_edit(edit: Value) -> Value {
    let Value::Object(mut edit) = edit else { return edit };
    rename(&mut edit, "old_string", "oldText");
    rename(&mut edit, "new_string", "newText");
    if edit.get("replace_all") == Some(&Value::Bool(false)) {
        edit.shift_remove("replace_all");
    }
    edit.into()
}

fn rename(object: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = object.shift_remove(from) {
        put(object, to, value);
    }
}

/// Returns a number in another unit; whole if it can be.
fn scaled(value: Value, factor: f64) -> Value {
    let Some(number) = value.as_f64().map(|number| number * factor) else { return value };
    // Beyond this, whole numbers are not exact.
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < LARGEST {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        let whole = number as i64;
        return whole.into();
    }
    number.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, arguments: &Value) -> ForeignCall {
        let place = Place { directory: "/project".into(), home: None };
        ForeignCall::new(tool, arguments.as_object().unwrap(), &place)
    }

    /// Checks that a call has the expected form for hooks, and that what hooks return unchanged means the same call.
    #[track_caller]
    fn check(tool: &str, own: &Value, name: &str, input: &Value) {
        let foreign = call(tool, own);
        assert_eq!((foreign.name.as_str(), &Value::from(foreign.input.clone())), (name, input));
        assert_eq!(Value::from(foreign.own_arguments(tool, foreign.input.clone())), *own);
    }

    #[test]
    fn calls_have_the_names_and_arguments_of_claude_code_and_come_back_as_they_were() {
        check("bash", &json!({"command": "ls"}), "Bash", &json!({"command": "ls"}));
        check(
            "bash",
            &json!({"command": "ls", "timeout": 5}),
            "Bash",
            &json!({"command": "ls", "timeout": 5000}),
        );
        check(
            "read",
            &json!({"path": "a.rs", "offset": 2, "limit": 3}),
            "Read",
            &json!({"file_path": "/project/a.rs", "offset": 2, "limit": 3}),
        );
        check(
            "write",
            &json!({"path": "/x/a.rs", "content": "y"}),
            "Write",
            &json!({"file_path": "/x/a.rs", "content": "y"}),
        );
        check(
            "edit",
            &json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}),
            "Edit",
            &json!({"file_path": "/project/a", "old_string": "x", "new_string": "y", "replace_all": false}),
        );
        check(
            "edit",
            &json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "1", "newText": "2"}]}),
            "MultiEdit",
            &json!({"file_path": "/project/a", "edits": [
                {"old_string": "x", "new_string": "y", "replace_all": false},
                {"old_string": "1", "new_string": "2", "replace_all": false},
            ]}),
        );
        check(
            "grep",
            &json!({"pattern": "x", "path": "src", "ignoreCase": true, "context": 2, "limit": 5, "glob": "*.rs"}),
            "Grep",
            &json!({
                "pattern": "x", "path": "/project/src", "-i": true, "-C": 2, "head_limit": 5, "glob": "*.rs",
                "output_mode": "content",
            }),
        );
        check("find", &json!({"pattern": "*.rs"}), "Glob", &json!({"pattern": "*.rs"}));
        check("ls", &json!({"path": "src"}), "LS", &json!({"path": "/project/src"}));
        check("mcp__a__b", &json!({"path": "src"}), "mcp__a__b", &json!({"path": "src"}));
    }

    #[test]
    fn other_ways_to_write_a_call_look_the_same_to_hooks() {
        let foreign = call("edit", &json!({"file_path": "./src/../a", "old_string": "x", "new_string": "y"}));
        assert_eq!(
            Value::from(foreign.input),
            json!({"file_path": "/project/a", "old_string": "x", "new_string": "y", "replace_all": false})
        );
    }

    #[test]
    fn malformed_calls_are_shown_as_they_are() {
        for own in [json!({"path": 1, "edits": "x"}), json!({"edits": [1]}), json!({})] {
            let foreign = call("edit", &own);
            assert_eq!(foreign.name, "Edit");
            foreign.response("edit", &[]);
        }
    }

    #[test]
    fn changed_arguments_become_those_of_our_tool() {
        let foreign = call("bash", &json!({"command": "ls", "timeout": 1.5}));
        let wanted = json!({"command": "ls -l", "timeout": 2500, "description": "List"});
        let own = foreign.own_arguments("bash", wanted.as_object().unwrap().clone());
        assert_eq!(Value::from(own), json!({"command": "ls -l", "timeout": 2.5}));
    }

    #[test]
    fn responses_have_the_fields_that_hooks_read() {
        let content = [Content::Text { text: "one\ntwo".to_owned() }];
        let bash = call("bash", &json!({"command": "ls"})).response("bash", &content);
        assert_eq!(bash["stdout"], "one\ntwo");
        let write = call("write", &json!({"path": "a", "content": "x"})).response("write", &content);
        assert_eq!((&write["filePath"], &write["success"]), (&json!("/project/a"), &json!(true)));
        let other = call("mcp__a__b", &json!({})).response("mcp__a__b", &content);
        assert_eq!(other, json!([{"type": "text", "text": "one\ntwo"}]));
    }
}
