//! The tool `bash` with one more parameter, by which a model asks that a command runs outside of the sandbox. Whether it
//! does is decided by whoever calls the tool: without their grant, the command does not run.

use std::sync::Arc;

use bowline_core::message::Arguments;
use bowline_core::tool::{ToolDefinition, ToolTraits};
use serde_json::{Value, json};

use crate::tool::{BoxFuture, CallContext, Outcome, Tool};
use crate::toolbox::Toolbox;

/// The name of the parameter.
pub const UNSANDBOXED: &str = "unsandboxed";

/// The tool that has it.
const BASH: &str = "bash";

/// What the model reads of the parameter.
const ABOUT: &str = "Only if the command fails because of the sandbox and is needed all the same: why it must run outside. The \
    user is asked first.";

/// What the model reads of a command that was not granted it.
const REFUSED: &str = "This command was not allowed to run outside of the sandbox, so it did not run.";

/// Tells whether a call asks to run outside of the sandbox.
pub fn wants_unsandboxed(arguments: &Arguments) -> bool {
    arguments.get(UNSANDBOXED).is_some_and(|reason| !reason.is_null())
}

/// Returns the tools with the parameter added to the built-in `bash`, if it is among them.
pub fn with_unsandboxed_commands(toolbox: &Toolbox) -> Toolbox {
    let Some(bash) = toolbox.get(BASH).filter(|tool| tool.traits().is_some()) else { return toolbox.clone() };
    let mut definition = bash.definition().clone();
    definition.parameters["properties"][UNSANDBOXED] = json!({ "type": "string", "description": ABOUT });
    toolbox.with_tool(Arc::new(Escapable { bash, definition }))
}

struct Escapable {
    bash: Arc<dyn Tool>,
    definition: ToolDefinition,
}

impl Tool for Escapable {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn traits(&self) -> Option<&'static ToolTraits> {
        self.bash.traits()
    }

    fn runs_alone(&self) -> bool {
        self.bash.runs_alone()
    }

    fn refuse_arguments(&self, arguments: &Arguments) -> Option<String> {
        self.bash.refuse_arguments(arguments)
    }

    fn call(&self, context: CallContext, mut arguments: Arguments) -> BoxFuture<'static, Outcome> {
        let wanted = arguments.shift_remove(UNSANDBOXED).unwrap_or(Value::Null);
        if !wanted.is_null() && !context.grants.unsandboxed {
            return Box::pin(std::future::ready(Outcome::error(REFUSED)));
        }
        self.bash.call(context, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Workshop;
    use crate::toolbox::Options;

    #[tokio::test]
    async fn command_leaves_the_sandbox_only_with_a_grant() {
        let workshop = Workshop::new();
        let toolbox = with_unsandboxed_commands(&Toolbox::builtin(&Options::default()));
        let bash = toolbox.get(BASH).unwrap();
        assert_eq!(bash.definition().parameters["properties"][UNSANDBOXED]["type"], "string");
        assert!(bash.traits().is_some_and(|traits| traits.mutates));
        for (arguments, is_granted, runs) in [
            (json!({ "command": "echo hi" }), false, true),
            (json!({ "command": "echo hi", UNSANDBOXED: null }), false, true),
            (json!({ "command": "echo hi", UNSANDBOXED: "why" }), false, false),
            (json!({ "command": "echo hi", UNSANDBOXED: "" }), false, false),
            (json!({ "command": "echo hi", UNSANDBOXED: "why" }), true, true),
        ] {
            let mut context = workshop.context();
            context.grants.unsandboxed = is_granted;
            let arguments = arguments.as_object().cloned().unwrap();
            assert_eq!(
                wants_unsandboxed(&arguments),
                arguments.get(UNSANDBOXED).is_some_and(|why| !why.is_null())
            );
            let outcome = bash.call(context, arguments).await;
            assert_eq!(!outcome.is_error, runs, "{outcome:?}");
        }
        let without = Toolbox::builtin(&Options::default()).without(BASH);
        assert!(with_unsandboxed_commands(&without).get(BASH).is_none());
    }
}
