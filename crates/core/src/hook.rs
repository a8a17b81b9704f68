//! The moments of a session at which extensions are called, and what they may change.
//!
//! The names and the meaning of hooks, events and results are those of pi's extension API, so that its documentation
//! applies. The types here are what the engine speaks; whoever talks to an extension gives them their form.

mod event;
mod result;

use std::time::Duration;

pub use event::*;
pub use result::*;

/// Defines the hooks with their names and what they can do in one table.
macro_rules! hooks {
    ($($(#[$about:meta])* $hook:ident => $name:literal, $role:ident;)*) => {
        /// A moment at which extensions are called.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HookKind {
            $($(#[$about])* $hook,)*
        }

        impl HookKind {
            /// Every hook.
            pub const ALL: &[Self] = &[$(Self::$hook,)*];

            /// Returns the hook's name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$hook => $name,)*
                }
            }

            /// Returns what an extension can do in the hook.
            pub fn role(self) -> HookRole {
                match self {
                    $(Self::$hook => HookRole::$role,)*
                }
            }
        }
    };
}

hooks! {
    /// A project has resources that need trust. Only extensions of the user are asked.
    ProjectTrust => "project_trust", Decides;
    /// A session was started or reloaded: further resources can be named.
    ResourcesDiscover => "resources_discover", Decides;
    SessionStart => "session_start", Observes;
    SessionInfoChanged => "session_info_changed", Observes;
    /// The client is about to start or open another session.
    SessionBeforeSwitch => "session_before_switch", Decides;
    SessionBeforeFork => "session_before_fork", Decides;
    SessionBeforeCompact => "session_before_compact", Decides;
    SessionCompact => "session_compact", Observes;
    SessionCompactFailed => "session_compact_failed", Observes;
    SessionBeforeTree => "session_before_tree", Decides;
    SessionTree => "session_tree", Observes;
    SessionShutdown => "session_shutdown", Observes;
    /// A message of the user arrived, before templates and skills are expanded.
    Input => "input", Decides;
    /// A prompt is about to start a run.
    BeforeAgentStart => "before_agent_start", Decides;
    AgentStart => "agent_start", Observes;
    AgentEnd => "agent_end", Observes;
    TurnStart => "turn_start", Observes;
    TurnEnd => "turn_end", Decides;
    /// A run is about to end, unless it was aborted.
    AgentBeforeSettle => "agent_before_settle", Decides;
    AgentSettled => "agent_settled", Observes;
    MessageStart => "message_start", Observes;
    MessageUpdate => "message_update", Streams;
    MessageEnd => "message_end", Decides;
    /// The conversation as it is sent to the model.
    Context => "context", Decides;
    ContextWithSystem => "context_with_system", Decides;
    BeforeProviderHeaders => "before_provider_headers", Decides;
    BeforeProviderRequest => "before_provider_request", Decides;
    AfterProviderResponse => "after_provider_response", Observes;
    /// A provider sent an event of its answer.
    ProviderStreamEvent => "provider_stream_event", Streams;
    ToolExecutionStart => "tool_execution_start", Observes;
    ToolExecutionUpdate => "tool_execution_update", Streams;
    ToolExecutionEnd => "tool_execution_end", Observes;
    /// A tool is about to run. A failure of the hook blocks the call.
    ToolCall => "tool_call", Decides;
    /// A tool has run; its result is not recorded yet.
    ToolResult => "tool_result", Decides;
    /// The user runs a shell command.
    UserBash => "user_bash", Decides;
    ModelSelect => "model_select", Observes;
    ThinkingLevelSelect => "thinking_level_select", Observes;
    UiPromptStart => "ui_prompt_start", Streams;
    UiPromptEnd => "ui_prompt_end", Streams;
    /// An extension notifies the user of something. Not in pi.
    UiNotify => "ui_notify", Streams;
}

/// What an extension can do in a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookRole {
    /// It may return a result that changes what happens.
    Decides,
    /// It may hold up what follows, but not change it.
    Observes,
    /// It is only told, never waited for.
    Streams,
}

impl HookKind {
    /// Returns the hook with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|hook| hook.as_str() == name)
    }

    /// Returns how long an extension may take, not counting the time that it waits for the user or a model.
    pub fn limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::ProjectTrust | Self::SessionStart | Self::ResourcesDiscover => 10,
            Self::SessionShutdown => 3,
            // It may run the command itself, which takes as long as it takes.
            Self::UserBash => 24 * 60 * 60,
            _ => 30,
        })
    }
}

/// How an extension takes part in a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subscription {
    #[default]
    None,
    /// It is told and not waited for.
    Told,
    /// It is called, and what follows waits for its answer.
    Awaited,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hooks_are_distinct_and_parse() {
        for hook in HookKind::ALL {
            assert_eq!(HookKind::parse(hook.as_str()), Some(*hook));
        }
        assert_eq!(HookKind::parse("session_switch"), None);
    }
}
