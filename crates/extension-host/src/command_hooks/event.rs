//! The events that hooks are configured for, by Claude Code's names.

use bowline_core::hook::HookKind;

/// Defines the events with the hooks of a session that they come from.
macro_rules! events {
    ($($event:ident <= $($hook:ident)|*, $ability:ident;)*) => {
        /// An event that hooks are configured for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum HookEventName {
            $($event,)*
        }

        impl HookEventName {
            pub const ALL: &[Self] = &[$(Self::$event,)*];

            /// Returns the name in the settings and on stdin.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$event => stringify!($event),)*
                }
            }

            /// Tells whether the event can come from a hook of the session.
            pub fn comes_from(self, hook: HookKind) -> bool {
                match self {
                    $(Self::$event => matches!(hook, $(HookKind::$hook)|*),)*
                }
            }

            /// Returns what an answer can do.
            pub fn ability(self) -> Ability {
                match self {
                    $(Self::$event => Ability::$ability,)*
                }
            }
        }
    };
}

events! {
    PreToolUse <= ToolCall, Decides;
    PostToolUse <= ToolResult, Decides;
    PostToolUseFailure <= ToolResult, Decides;
    UserPromptSubmit <= Input, Decides;
    Stop <= AgentBeforeSettle, Decides;
    SessionStart <= SessionStart | SessionCompact, AddsContext;
    SessionEnd <= SessionShutdown, Nothing;
    PreCompact <= SessionBeforeCompact, Nothing;
    Notification <= UiNotify | UiPromptStart, Nothing;
}

/// What an answer to an event can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ability {
    /// It can prevent what is about to happen, or send the model back to work.
    Decides,
    AddsContext,
    Nothing,
}

/// Events of Claude Code that bowline does not have.
pub(super) const OTHER_EVENTS: &[&str] = &[
    "SubagentStart",
    "SubagentStop",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolBatch",
    "PostCompact",
    "StopFailure",
    "UserPromptExpansion",
    "Setup",
    "ConfigChange",
    "CwdChanged",
    "FileChanged",
    "InstructionsLoaded",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "MessageDisplay",
    "PreModelSwitch",
    "PostModelSwitch",
];

impl HookEventName {
    /// Returns the event of this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == name)
    }

    /// Tells whether plain text on stdout is for the model.
    pub fn takes_text(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit)
    }

    /// Tells whether there is something that matchers can look at. Those of other events are ignored, as in Claude Code.
    pub fn has_matchers(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }

    /// Tells whether its matchers are about tools.
    pub fn is_of_tool(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_every_event_comes_from_a_hook() {
        for event in HookEventName::ALL {
            assert_eq!(HookEventName::parse(event.as_str()), Some(*event));
            assert!(HookKind::ALL.iter().any(|hook| event.comes_from(*hook)), "{event:?}");
        }
        for name in OTHER_EVENTS {
            assert_eq!(HookEventName::parse(name), None);
        }
    }
}
