//! Flags that choose the model.

use bowline_core::ThinkingLevel;

use super::Group::Model;
use super::Takes::{Nothing, Value};
use super::{Flag, flag, set};

/// The flags, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Model,
        "--model",
        None,
        Value("PROVIDER/ID[:LEVEL]"),
        "The model, by name or a part of it; scripted/demo needs no key",
        |arguments, value| set(&mut arguments.model, value),
    ),
    flag(Model, "--provider", None, Value("NAME"), "The provider of --model", |arguments, value| {
        set(&mut arguments.provider, value)
    }),
    flag(
        Model,
        "--models",
        None,
        Value("A,B"),
        "The models for cycle_model; * and ? are wildcards",
        |arguments, value| set(&mut arguments.models, value),
    ),
    flag(
        Model,
        "--thinking",
        None,
        Value("LEVEL"),
        "off, minimal, low, medium, high, xhigh or max",
        |arguments, value| {
            match ThinkingLevel::parse(&value) {
                Some(level) => arguments.thinking = Some(level),
                // As in pi, an unknown level does not prevent the start.
                None => arguments.warnings.push(format!(
                    "--thinking {value} is ignored: the levels are off, minimal, low, medium, high, xhigh and max"
                )),
            }
            Ok(())
        },
    ),
    flag(
        Model,
        "--api-key",
        None,
        Value("KEY"),
        "The key of the model's provider; other users of this machine can see it",
        |arguments, value| set(&mut arguments.api_key, value),
    ),
    flag(
        Model,
        "--record",
        None,
        Value("FILE"),
        "Record every exchange with the provider in a file, without keys",
        |arguments, value| set(&mut arguments.record, value),
    ),
    flag(
        Model,
        "--replay-loose",
        None,
        Nothing,
        "With --model replay/FILE: also answer requests that differ from the recorded ones",
        |arguments, _| {
            arguments.replay_loose = true;
            Ok(())
        },
    ),
];
