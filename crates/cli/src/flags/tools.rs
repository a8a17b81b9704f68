//! Flags that choose the tools, and when the user is asked.

use bowline_core::sandbox::AskMode;

use super::Group::Tools;
use super::Takes::{Nothing, Value};
use super::{Flag, flag, list, set};

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Tools,
        "--tools",
        Some("-t"),
        Value("A,B"),
        "Only these tools: read, bash, edit, write, grep, find, ls, todo, or mcp__server__tool",
        |arguments, value| {
            let names = list(&value);
            if names.is_empty() {
                arguments.warnings.push("--tools names no tool, so there are none".to_owned());
            }
            set(&mut arguments.tools, names)
        },
    ),
    flag(Tools, "--exclude-tools", Some("-xt"), Value("A,B"), "All but these tools", |arguments, value| {
        arguments.exclude_tools.extend(list(&value));
        Ok(())
    }),
    flag(
        Tools,
        "--allow-mutating",
        None,
        Nothing,
        "In the dialect opi: also enable the tools that modify things",
        |arguments, _| {
            arguments.allow_mutating = true;
            Ok(())
        },
    ),
    flag(Tools, "--no-tools", Some("-nt"), Nothing, "No tools at all", |arguments, _| {
        arguments.no_tools = true;
        Ok(())
    }),
    flag(Tools, "--no-builtin-tools", Some("-nbt"), Nothing, "Disable the built-in tools", |arguments, _| {
        arguments.no_builtin_tools = true;
        Ok(())
    }),
    flag(Tools, "--no-mcp", None, Nothing, "Use no MCP servers", |arguments, _| {
        arguments.no_mcp = true;
        Ok(())
    }),
    flag(
        Tools,
        "--ask",
        None,
        Value("never|on-request|untrusted"),
        "When the user is asked about tool calls (default: never)",
        |arguments, value| match AskMode::parse(&value) {
            Some(mode) => set(&mut arguments.ask, mode),
            None => Err(format!("it must be never, on-request or untrusted, not \"{value}\"")),
        },
    ),
];
