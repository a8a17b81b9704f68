"""The records of the protocol and what they consist of, as they are on the wire.

Generated from schema/pi.json: python3 clients/generator
"""

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

StreamingBehavior = Literal["steer", "followUp"]

QueueMode = Literal["all", "one-at-a-time"]

TreeFormat = Literal["nested", "flat"]

SessionScope = Literal["project", "all"]

SubagentSubscriptionLevel = Literal["off", "progress", "events"]

ApprovalStyle = Literal["dialog", "record"]

ErrorCode = Literal[
    "parse_error",
    "unknown_command",
    "unsupported",
    "busy",
    "compacting",
    "nothing_to_do",
    "cancelled",
    "no_model",
    "no_credentials",
    "model_not_found",
    "invalid_argument",
    "session_unavailable",
    "session_busy",
    "stale_cursor",
    "storage_failed",
    "forbidden",
    "sandbox_unavailable",
    "model_failed",
    "budget",
    "shutting_down",
    "internal",
]

ProtectedPathChange = Literal["created", "changed", "removed"]

CompactionReason = Literal["manual", "threshold", "overflow"]

SummarySource = Literal["compaction", "branchSummary"]

HostUriOperation = Literal["read", "write"]

ApprovalKind = Literal["command", "file", "network", "tool"]

ApprovalDecision = Literal["once", "session", "project", "deny"]

ApprovalDecider = Literal["client", "timeout", "abort"]

Disposition = Literal["started", "queued", "handled"]

InputKind = Literal["text", "image"]
"""A kind of input that a model accepts."""

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""A thinking level, in ascending order."""

SandboxMode = Literal["read-only", "workspace-write", "external", "full-access"]
"""What tools may do to the machine. The order is that of strictness.

`read-only`: They write nothing but the private `/tmp`.

`workspace-write`: They write the working folder and what the settings add to it.

`external`: They have all rights of the user, because something else confines the process.

`full-access`: They have all rights of the user.
"""

SandboxLevel = Literal["none", "external", "landlock", "full"]
"""How much of the design is in force.

`none`: Nothing is.

`external`: Something else confines the process.

`landlock`: Landlock and seccomp, where namespaces are unavailable.

`full`: Namespaces, Landlock and seccomp.
"""

AskMode = Literal["never", "on-request", "untrusted"]
"""When the user is asked about a call. The order is that of strictness, the strictest last.

`never`: Never: what would have to be asked about is refused.

`on-request`: When a rule says so, and when a call wants more than the sandbox allows.

`untrusted`: Also about every call that may change something, unless a rule allows it.
"""

SandboxNetwork = Literal["none", "allow-list", "full"]
"""What confined tools reach of the network. The order is that of strictness.

`none`: Only what other tools of the session serve on localhost.

`allow-list`: The same, and the hosts of a list through a proxy.

`full`: Everything that the user reaches.
"""

SandboxWorkspace = Literal["direct", "overlay"]
"""Where what confined tools change in the working folder goes.

`direct`: Into the folder itself.

`overlay`: To a copy of what changed, until the client accepts it.
"""

ExtensionStatus = Literal["starting", "running", "restarting", "failed", "not_loaded"]

SourceInfoScope = Literal["user", "project", "temporary"]

SourceInfoOrigin = Literal["top-level", "package"]

StopReason = Literal[
    "stop",
    "toolUse",
    "error",
    "aborted",
    "pending",
    "length",
    "deferred",
]
"""Why a model response ended.

`pending`: The response is still being streamed.

`length`: The output limit was reached.

`deferred`: Written by some other agents for a response that is to be continued.
"""

ErrorKind = Literal[
    "auth",
    "not_found",
    "rate_limit",
    "overloaded",
    "quota",
    "network",
    "timeout",
    "context",
    "refused",
    "bad_answer",
    "answer_too_large",
    "answer_too_slow",
    "too_many_turns",
    "budget",
    "invalid_output",
    "no_conversation",
    "aborted",
    "storage",
    "internal",
]
"""Why a run or an answer failed. The names on the wire are stable.

`auth`: There are no usable credentials, or the provider refused them.

`not_found`: The provider does not know the model or the address.

`rate_limit`: Too many requests for now.

`overloaded`: The provider is overloaded or had an internal error.

`quota`: The account has run out of quota, budget or credit.

`network`: The provider could not be reached, or the connection broke.

`timeout`: The provider went silent.

`context`: The conversation is larger than the model's window.

`refused`: The provider refused the request or the rest of the answer.

`bad_answer`: The provider sent something that its API does not allow.

`answer_too_large`: The answer exceeded a limit on its size.

`answer_too_slow`: The answer took longer than an answer may take in all.

`too_many_turns`: The run reached the limit on its turns.

`budget`: A limit of the user on what a run or a session may spend was reached.

`invalid_output`: The last answer was not the output that the prompt asked for.

`no_conversation`: There was no conversation to continue.

`aborted`: The user, or the end of the process, stopped it.

`storage`: A session or a recording could not be written.

`internal`: bowline itself failed.
"""

SlashCommandSource = Literal["extension", "prompt", "skill"]

PromiseState = Literal["proved", "assumed", "absent"]
"""How sure a promise is.

`proved`: A probe tried it inside of this very sandbox and was refused.

`assumed`: The mechanism is in force, but no probe has tried.

`absent`: It does not hold.
"""

AgentSource = Literal["bundled", "user", "project"]
"""Where the definition of an agent comes from.

`bundled`: It is part of the program.

`user`: The user's own folder.

`project`: The project's folder.
"""

SubagentStatus = Literal["running", "completed", "failed", "aborted", "pending"]
"""How far a subagent is.

`pending`: It waits for others to end.
"""

FileChangeKind = Literal["created", "modified", "deleted", "mode"]
"""What happened to a file, a folder or a link.

`mode`: Only the permissions changed.
"""

FileKind = Literal["file", "folder", "link"]
"""What a path stands for."""

PendingKind = Literal["file", "folder", "link", "special"]
"""What a changed path stands for.

`special`: A FIFO, a socket or a device.
"""

PendingObstacle = Literal["conflict", "protected", "unsupported"]
"""Why a change is not applied.

`conflict`: The path has changed in the real workspace since.

`protected`: Other programs of the user follow what is at the path, such as a git hook.

`unsupported`: It is something that is not applied, such as a device or a file with several names.
"""

StreamRuleInterruptMode = Literal["always", "prose-only", "tool-only", "never"]

RuleSourceLevel = Literal["user", "project"]

TodoStatus = Literal[
    "pending",
    "in_progress",
    "completed",
    "abandoned",
    "blocked",
]
"""How far a task is.

`abandoned`: It will not be done.

`blocked`: It cannot go on for now.
"""

LimitScope = Literal["run", "session"]
"""What a limit is for.

`run`: Everything from a prompt to the end of its run.

`session`: All runs of a session, also those before it was opened again.
"""

Limited = Literal["toolCalls", "cost", "tokens", "turns", "seconds"]
"""Something that can be limited.

`cost`: US dollars, by the prices of the models.

`tokens`: Tokens of all kinds.

`turns`: Answers of the model.

`seconds`: The time that runs take, without that in which the user is asked something.
"""

SubagentLifecycleStatus = Literal["started", "completed", "failed", "aborted"]

ApprovalReasonCode = Literal[
    "extension",
    "rule",
    "untrusted",
    "path",
    "hard-link",
    "unsandboxed",
    "network",
]

NotifyType = Literal["info", "warning", "error"]

WidgetPlacement = Literal["aboveEditor", "belowEditor"]

class _PromptCommand(TypedDict):
    type: Literal["prompt"]
    message: str
    """The text of the user message."""


class PromptCommand(_PromptCommand, total=False):
    """Starts a run with a user message. The message is in the session file before the response is sent."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    images: "Optional[List[ImageInput]]"
    """The images of the user message."""
    attachments: "Optional[List[AttachmentInput]]"
    """Images, which the model sees, and documents, whose text it reads. They are kept on the message."""
    streamingBehavior: "Optional[StreamingBehavior]"
    """The queue for the message if a run is in progress; without it, the prompt is refused in that case."""
    outputSchema: Optional[Dict[str, Any]]
    """A JSON Schema. The run ends with a JSON value that satisfies it, or fails with the error kind
    `invalid_output`.
    """
    outputRetries: Optional[int]
    """How often the model is asked again if its output is wrong (default: 2); only with `outputSchema`."""

class _ImageInput(TypedDict):
    data: str
    """The image in base64, or as a `data:` URL."""
    mimeType: str
    """The media type, such as `image/png`."""


class ImageInput(_ImageInput, total=False):
    type: Literal["image"]

class _AttachmentInput(TypedDict):
    type: Literal["image", "document"]


class AttachmentInput(_AttachmentInput, total=False):
    id: Optional[str]
    """Returned on the message."""
    fileName: Optional[str]
    """The name of a document."""
    mimeType: Optional[str]
    """The media type, such as `image/png`. For a document, it decides whether the content is text."""
    preview: Optional[str]
    """Returned on the message."""
    size: Optional[int]
    """Returned on the message."""
    content: Optional[str]
    """The image or the document, in base64."""
    extractedText: Optional[str]
    """The text of a document; takes precedence over `content`."""

class _SteerCommand(TypedDict):
    type: Literal["steer"]
    message: str
    """The text of the user message."""


class SteerCommand(_SteerCommand, total=False):
    """Queues a message that the run takes up after the tool calls of the current turn."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    images: "Optional[List[ImageInput]]"
    """The images of the user message."""
    attachments: "Optional[List[AttachmentInput]]"
    """Images, which the model sees, and documents, whose text it reads. They are kept on the message."""

class _FollowUpCommand(TypedDict):
    type: Literal["follow_up"]
    message: str
    """The text of the user message."""


class FollowUpCommand(_FollowUpCommand, total=False):
    """Queues a message that the run takes up when it would otherwise end."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    images: "Optional[List[ImageInput]]"
    """The images of the user message."""
    attachments: "Optional[List[AttachmentInput]]"
    """Images, which the model sees, and documents, whose text it reads. They are kept on the message."""

class _AbortCommand(TypedDict):
    type: Literal["abort"]


class AbortCommand(_AbortCommand, total=False):
    """Aborts the run: cancels the model request, kills running tools and gives up a pending retry."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _ClearQueueCommand(TypedDict):
    type: Literal["clear_queue"]


class ClearQueueCommand(_ClearQueueCommand, total=False):
    """Removes all messages from both queues."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetStateCommand(TypedDict):
    type: Literal["get_state"]


class GetStateCommand(_GetStateCommand, total=False):
    """Returns the state of the agent."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetMessagesCommand(TypedDict):
    type: Literal["get_messages"]


class GetMessagesCommand(_GetMessagesCommand, total=False):
    """Returns the messages in the context."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetCommandsCommand(TypedDict):
    type: Literal["get_commands"]


class GetCommandsCommand(_GetCommandsCommand, total=False):
    """Returns the commands that a prompt can invoke with a leading slash."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetCompletionsCommand(TypedDict):
    type: Literal["get_completions"]
    command: str
    """The name of the command."""


class GetCompletionsCommand(_GetCompletionsCommand, total=False):
    """Returns what can follow the name of a slash command of an extension. Only commands with
    `hasCompletion` have any; for others, and if the extension does not answer within a second, the list
    is empty.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    prefix: Optional[str]
    """What the user has typed after the name so far."""

class _GetProtocolInfoCommand(TypedDict):
    type: Literal["get_protocol_info"]


class GetProtocolInfoCommand(_GetProtocolInfoCommand, total=False):
    """Returns what this protocol supports, for clients that work with several versions or dialects."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetSandboxCommand(TypedDict):
    type: Literal["get_sandbox"]


class GetSandboxCommand(_GetSandboxCommand, total=False):
    """Returns what the tools may do, what of it was tried in the sandbox of this session, and what is not
    enforced. The sandbox is made first, if there is to be one and no tool has needed it yet. Fails with
    `sandbox_unavailable` if it cannot be made; then no tool runs either.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    connections: Optional[bool]
    """Also returns the last connections through the proxy: host, port, bytes and decision."""

class _SetSandboxCommand(TypedDict):
    type: Literal["set_sandbox"]


class SetSandboxCommand(_SetSandboxCommand, total=False):
    """Changes what the tools may do, from the next call on; calls in progress go on as they began. Fails
    with `forbidden` if that is less strict than it is now, unless bowline was started with
    `--client-may-widen`, and with `invalid_argument` if a network other than `full` is asked for
    without a mode that confines.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    mode: "Optional[SandboxMode]"
    """What tools may do to the machine; without it, as before."""
    network: "Optional[SandboxNetwork]"
    """What they reach of the network; without it, as before."""

class _SetModelCommand(TypedDict):
    type: Literal["set_model"]
    provider: str
    """The exact name of the provider."""
    modelId: str
    """The exact id of the model."""


class SetModelCommand(_SetModelCommand, total=False):
    """Sets the model, effective from the next request."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _CycleModelCommand(TypedDict):
    type: Literal["cycle_model"]


class CycleModelCommand(_CycleModelCommand, total=False):
    """Switches to the next available model. `data` is `null` if there is no other."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetAvailableModelsCommand(TypedDict):
    type: Literal["get_available_models"]


class GetAvailableModelsCommand(_GetAvailableModelsCommand, total=False):
    """Returns the available models."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetLoginProvidersCommand(TypedDict):
    type: Literal["get_login_providers"]


class GetLoginProvidersCommand(_GetLoginProvidersCommand, total=False):
    """Returns the providers that a user may log in to, and whether there is a key for each."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _LoginCommand(TypedDict):
    type: Literal["login"]
    providerId: str
    """The `id` of a provider."""


class LoginCommand(_LoginCommand, total=False):
    """Logs the user in to a provider. If an extension carries out its logins, the extension shows and asks
    what it needs; otherwise the user is asked for the API key with an `input`, after they were shown
    the page where keys are made, if that is known. What comes of it is stored in `auth.json` and used
    from the next request on. Fails with `cancelled` if the user enters nothing, on `abort` and when the
    session changes. Other commands are carried out meanwhile.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetThinkingLevelCommand(TypedDict):
    type: Literal["set_thinking_level"]
    level: "ThinkingLevel"
    """The level. If the model does not have it, the next higher one is used, or else the highest it has."""


class SetThinkingLevelCommand(_SetThinkingLevelCommand, total=False):
    """Sets the thinking level, effective from the next request."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _CycleThinkingLevelCommand(TypedDict):
    type: Literal["cycle_thinking_level"]


class CycleThinkingLevelCommand(_CycleThinkingLevelCommand, total=False):
    """Switches to the model's next thinking level. `data` is `null` if the model has only one."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetAvailableThinkingLevelsCommand(TypedDict):
    type: Literal["get_available_thinking_levels"]


class GetAvailableThinkingLevelsCommand(_GetAvailableThinkingLevelsCommand, total=False):
    """Returns the thinking levels of the current model."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetSteeringModeCommand(TypedDict):
    type: Literal["set_steering_mode"]
    mode: "QueueMode"
    """One message, or all queued messages."""


class SetSteeringModeCommand(_SetSteeringModeCommand, total=False):
    """Sets how many messages are taken from the steering queue at a time."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetFollowUpModeCommand(TypedDict):
    type: Literal["set_follow_up_mode"]
    mode: "QueueMode"
    """One message, or all queued messages."""


class SetFollowUpModeCommand(_SetFollowUpModeCommand, total=False):
    """Sets how many messages are taken from the follow-up queue at a time."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _CompactCommand(TypedDict):
    type: Literal["compact"]


class CompactCommand(_CompactCommand, total=False):
    """Replaces all but the newest messages with a summary. A run in progress is aborted first."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    customInstructions: Optional[str]
    """What the summary should focus on."""

class _SetAutoCompactionCommand(TypedDict):
    type: Literal["set_auto_compaction"]
    enabled: bool
    """Applies until the process ends."""


class SetAutoCompactionCommand(_SetAutoCompactionCommand, total=False):
    """Enables or disables automatic compaction when the context window is nearly full."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetAutoRetryCommand(TypedDict):
    type: Literal["set_auto_retry"]
    enabled: bool
    """Applies until the process ends."""


class SetAutoRetryCommand(_SetAutoRetryCommand, total=False):
    """Enables or disables automatic retries after transient errors."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _AbortRetryCommand(TypedDict):
    type: Literal["abort_retry"]


class AbortRetryCommand(_AbortRetryCommand, total=False):
    """Gives up a pending retry and ends the run. Otherwise it does nothing."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _BashCommand(TypedDict):
    type: Literal["bash"]
    command: str
    """The shell command."""


class BashCommand(_BashCommand, total=False):
    """Runs a shell command, concurrently with a run. The response is sent when the command has finished."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    excludeFromContext: Optional[bool]
    """Keeps the command and its output out of the context."""

class _AbortBashCommand(TypedDict):
    type: Literal["abort_bash"]


class AbortBashCommand(_AbortBashCommand, total=False):
    """Kills all commands started with `bash`, including their descendant processes."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _NewSessionCommand(TypedDict):
    type: Literal["new_session"]


class NewSessionCommand(_NewSessionCommand, total=False):
    """Starts an empty session. A run in progress is aborted first."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    parentSession: Optional[str]
    """The session file that the new session records as its parent."""

class _SwitchSessionCommand(TypedDict):
    type: Literal["switch_session"]
    sessionPath: str
    """The session file."""


class SwitchSessionCommand(_SwitchSessionCommand, total=False):
    """Opens another session. A run in progress is aborted first."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _ForkCommand(TypedDict):
    type: Literal["fork"]
    entryId: str
    """The entry of the message, one of `get_fork_messages`."""


class ForkCommand(_ForkCommand, total=False):
    """Starts a session with the conversation before an earlier user message. A run in progress is aborted
    first.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _CloneCommand(TypedDict):
    type: Literal["clone"]


class CloneCommand(_CloneCommand, total=False):
    """Starts a session with a copy of the whole conversation. A run in progress is aborted first."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetForkMessagesCommand(TypedDict):
    type: Literal["get_fork_messages"]


class GetForkMessagesCommand(_GetForkMessagesCommand, total=False):
    """Returns the user messages that the session can be forked at."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetEntriesCommand(TypedDict):
    type: Literal["get_entries"]


class GetEntriesCommand(_GetEntriesCommand, total=False):
    """Returns the entries of the session file."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    since: Optional[str]
    """An entry id; only the entries after it in the file are returned."""

class _GetTreeCommand(TypedDict):
    type: Literal["get_tree"]


class GetTreeCommand(_GetTreeCommand, total=False):
    """Returns the entries of the session file as a tree."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    format: "Optional[TreeFormat]"
    """`nested`, the default, for nodes within nodes; `flat` for a list, which has the same depth however
    long the session is.
    """

class _NavigateTreeCommand(TypedDict):
    type: Literal["navigate_tree"]
    entryId: str
    """The entry. For a user message, the conversation continues before it, so that it can be edited."""


class NavigateTreeCommand(_NavigateTreeCommand, total=False):
    """Continues from another entry of the session. A run in progress is aborted first."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    summarize: Optional[bool]
    """Adds a summary of the abandoned branch."""
    customInstructions: Optional[str]
    """What the summary should focus on; only with `summarize`."""

class _SetLabelCommand(TypedDict):
    type: Literal["set_label"]
    entryId: str
    """The entry."""


class SetLabelCommand(_SetLabelCommand, total=False):
    """Sets or removes the label of an entry."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    label: Optional[str]
    """The label; without it, the entry's label is removed."""

class _ListSessionsCommand(TypedDict):
    type: Literal["list_sessions"]


class ListSessionsCommand(_ListSessionsCommand, total=False):
    """Lists sessions, most recently modified first."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    scope: "Optional[SessionScope]"
    """`project` lists the sessions of the working directory (the default), `all` lists every session."""
    search: Optional[str]
    """Text to find in the name, the id or the first message."""
    limit: Optional[int]
    """The maximum number of sessions."""
    cursor: Optional[str]
    """The `nextCursor` of an earlier response: continues after it."""

class _DeleteSessionCommand(TypedDict):
    type: Literal["delete_session"]
    sessionPath: str
    """The session file."""


class DeleteSessionCommand(_DeleteSessionCommand, total=False):
    """Deletes a session that is not in use."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetSessionStatsCommand(TypedDict):
    type: Literal["get_session_stats"]


class GetSessionStatsCommand(_GetSessionStatsCommand, total=False):
    """Returns statistics of the session over all its branches."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _ExportHtmlCommand(TypedDict):
    type: Literal["export_html"]


class ExportHtmlCommand(_ExportHtmlCommand, total=False):
    """Exports the session as an HTML page."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    outputPath: Optional[str]
    """The output file; by default, a generated name in the working directory."""

class _GetLastAssistantTextCommand(TypedDict):
    type: Literal["get_last_assistant_text"]


class GetLastAssistantTextCommand(_GetLastAssistantTextCommand, total=False):
    """Returns the text of the newest model response that has any."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetSessionNameCommand(TypedDict):
    type: Literal["set_session_name"]
    name: str
    """The name that session lists show. It is trimmed and must not be empty."""


class SetSessionNameCommand(_SetSessionNameCommand, total=False):
    """Sets the name of the session."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetLimitsCommand(TypedDict):
    type: Literal["get_limits"]


class GetLimitsCommand(_GetLimitsCommand, total=False):
    """Returns what runs and the session may spend, and what they have spent."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetLimitsCommand(TypedDict):
    type: Literal["set_limits"]


class SetLimitsCommand(_SetLimitsCommand, total=False):
    """Sets what runs and the session may spend, from now on, also for the run in progress. Limits that the
    user has set can only be made stricter unless bowline was started with `--client-may-widen`; else it
    fails with `forbidden`. All of the limits are set, or none if one is refused.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    run: "Optional[LimitSettings]"
    """The limits of each run. What is absent stays; 0 means unlimited."""
    session: "Optional[LimitSettings]"
    """The limits of the session. What is absent stays; 0 means unlimited."""

class LimitSettings(TypedDict, total=False):
    cost: float
    """US dollars."""
    tokens: int
    turns: int
    """How often the model answers; in a run, for one message of the user."""
    toolCalls: int
    seconds: float
    """The time that runs take, without that in which the user is asked something."""

class _SetSubagentSubscriptionCommand(TypedDict):
    type: Literal["set_subagent_subscription"]
    level: "SubagentSubscriptionLevel"
    """`progress` for `subagent_lifecycle` and `subagent_progress`, `events` for `subagent_event` too,
    `off` for none.
    """


class SetSubagentSubscriptionCommand(_SetSubagentSubscriptionCommand, total=False):
    """Sets which records about subagents are sent, also about those that are running. Without it there are
    none: the tool `task` only reports its progress, as every tool does.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetSubagentsCommand(TypedDict):
    type: Literal["get_subagents"]


class GetSubagentsCommand(_GetSubagentsCommand, total=False):
    """Returns the subagents that are running, subagents of subagents among them."""
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _GetSubagentMessagesCommand(TypedDict):
    type: Literal["get_subagent_messages"]


class GetSubagentMessagesCommand(_GetSubagentMessagesCommand, total=False):
    """Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It works
    while the subagent is running and for the last 256 that have ended.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    subagentId: Optional[str]
    """The subagent."""
    sessionFile: Optional[str]
    """Its session file, in place of the id."""
    fromByte: Optional[float]
    """Where to begin: `nextByte` of the response before (default: 0)."""

class _GetChangesCommand(TypedDict):
    type: Literal["get_changes"]


class GetChangesCommand(_GetChangesCommand, total=False):
    """Returns what runs changed in files: those of the file tools `write` and `edit`, and those of
    commands.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    run: Optional[int]
    """Only this run."""
    entryId: Optional[str]
    """Only runs that changed files after this entry."""
    diff: Optional[bool]
    """Adds a unified diff of each run."""

class _UndoCommand(TypedDict):
    type: Literal["undo"]


class UndoCommand(_UndoCommand, total=False):
    """Restores files that runs changed; without `run` and `to`, those of the last run that is not undone.
    A file that has changed since is a conflict and left alone; new files are moved away. The
    conversation stays. Refused during a run.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    run: Optional[int]
    """Only this run, whatever followed it."""
    to: "Optional[UndoTarget]"
    """How far back: everything from this run or turn on, or everything after this entry."""
    dryRun: Optional[bool]
    """Only returns what would be done."""

class UndoTarget(TypedDict, total=False):
    run: int
    """Everything from this run on."""
    turn: int
    """With `run`: everything from this turn of it on."""
    entryId: str
    """Everything after this entry of the session."""

class _RedoCommand(TypedDict):
    type: Literal["redo"]


class RedoCommand(_RedoCommand, total=False):
    """Changes files again that the last `undo` restored, with the same checks. Refused during a run."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    dryRun: Optional[bool]
    """Only returns what would be done."""

class _GetPendingChangesCommand(TypedDict):
    type: Literal["get_pending_changes"]


class GetPendingChangesCommand(_GetPendingChangesCommand, total=False):
    """Returns what the session changed and nobody has accepted, if bowline was started with `--workspace
    overlay`.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    paths: Optional[List[str]]
    """Only these paths, relative to the working directory, and what is below them."""
    diff: Optional[bool]
    """Adds a unified diff against the real workspace."""

class _AcceptChangesCommand(TypedDict):
    type: Literal["accept_changes"]


class AcceptChangesCommand(_AcceptChangesCommand, total=False):
    """Applies pending changes to the real workspace. A path that has changed there since is a conflict;
    it, and what is protected or not supported, is left alone and stays pending. Refused with `busy`
    during a run, and while processes that tools started are running.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    paths: Optional[List[str]]
    """Only these paths, relative to the working directory, and what is below them."""
    force: Optional[bool]
    """Ends processes that tools left running."""

class _DiscardChangesCommand(TypedDict):
    type: Literal["discard_changes"]


class DiscardChangesCommand(_DiscardChangesCommand, total=False):
    """Throws pending changes away. The model is told. Refused with `busy` during a run, and while
    processes that tools started are running.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    paths: Optional[List[str]]
    """Only these paths, relative to the working directory, and what is below them."""
    force: Optional[bool]
    """Ends processes that tools left running."""

class _SetHostToolsCommand(TypedDict):
    type: Literal["set_host_tools"]
    tools: "List[HostTool]"
    """The tools; none removes all."""


class SetHostToolsCommand(_SetHostToolsCommand, total=False):
    """Replaces the tools that the client supplies. The model can call them from its next turn on, in this
    session and in those that follow it. Each call is a `host_tool_call`.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _HostTool(TypedDict):
    name: str
    """The name that the model calls: up to 128 letters, digits, `_`, `-` and `.`."""
    description: str
    """What the tool does and when to use it, for the model."""
    parameters: Dict[str, Any]
    """The arguments, as JSON Schema."""


class HostTool(_HostTool, total=False):
    label: Optional[str]
    """A title for people. Nothing shows it here."""
    hidden: Optional[bool]
    """Whether the model is told of the tool only if an extension enables it."""

class _SetHostUriSchemesCommand(TypedDict):
    type: Literal["set_host_uri_schemes"]
    schemes: "List[HostUriScheme]"
    """The schemes; none removes all."""


class SetHostUriSchemesCommand(_SetHostUriSchemesCommand, total=False):
    """Replaces the schemes of the addresses that the client serves. When the model reads or writes
    `scheme://…`, the client is sent a `host_uri_request`.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _HostUriScheme(TypedDict):
    scheme: str
    """What precedes `://`: a letter, then letters, digits, `+`, `.` and `-`."""


class HostUriScheme(_HostUriScheme, total=False):
    description: Optional[str]
    """What is found there, for the model."""
    writable: Optional[bool]
    """Whether the model may write there."""

class _SetApprovalsCommand(TypedDict):
    type: Literal["set_approvals"]
    ask: "AskMode"
    """`never`: what would have to be asked about is refused. `on-request`: when a rule says so, and when a
    call wants more than the sandbox allows. `untrusted`: also about every call that may change
    something, unless a rule allows it.
    """


class SetApprovalsCommand(_SetApprovalsCommand, total=False):
    """Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than it
    is now, unless bowline was started with `--client-may-widen`.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""

class _SetClientCapabilitiesCommand(TypedDict):
    type: Literal["set_client_capabilities"]


class SetClientCapabilitiesCommand(_SetClientCapabilitiesCommand, total=False):
    """Says what the client can do. What is absent stays as it is."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    approvals: "Optional[ApprovalStyle]"
    """How the client wants to be asked about tool calls: with a dialog (the default), or with
    `approval_request`.
    """
    changes: Optional[bool]
    """Whether the client gets a `run_changes` record for each run that changed files."""
    render: Optional[bool]
    """Whether the client shows components of pi's extensions: as `setWidget` with `takesKeys`, whose keys
    it passes on with `widget_input`. Sent again when the size changes.
    """
    columns: Optional[int]
    """The width for components in characters, by default 80."""
    rows: Optional[int]
    """The height for components in lines, by default 24."""

class _WidgetInputCommand(TypedDict):
    type: Literal["widget_input"]
    widgetKey: str
    """The `widgetKey` of the component."""


class WidgetInputCommand(_WidgetInputCommand, total=False):
    """Passes on what the user does with a component of an extension."""
    id: Union[str, float]
    """Returned in the response, unchanged."""
    data: Optional[str]
    """Keys as a terminal sends them, such as `\\u001b[A` for the arrow up."""
    close: Optional[bool]
    """`true` if the user closes the component; `data` is ignored then."""

class _ApprovalResponseCommand(TypedDict):
    type: Literal["approval_response"]
    approvalId: str
    """The id of the request."""


class ApprovalResponseCommand(_ApprovalResponseCommand, total=False):
    """Answers an `approval_request`. It overtakes every other command. Fails if the approval is not open,
    and if the decision is none of the options, in which case the call is denied.
    """
    id: Union[str, float]
    """Returned in the response, unchanged."""
    decision: Optional[str]
    """One of the `options` of the request. Whatever else is sent, also nothing, is a no."""
    message: Optional[str]
    """What the model reads if the call is denied."""

class _ExtensionUiResponseAnswer(TypedDict):
    type: Literal["extension_ui_response"]
    id: str
    """The id of the request."""


class ExtensionUiResponseAnswer(_ExtensionUiResponseAnswer, total=False):
    """Answers a dialog: `select`, `input` and `editor` with `value`, `confirm` with `confirmed`. Any other
    answer, like `cancelled`, means that the user gave none. An answer to a request that is unknown or
    no longer open is ignored.
    """
    value: Optional[str]
    """The text, or the chosen option. One that was not offered is passed on."""
    confirmed: Optional[bool]
    """Whether the user agreed."""
    cancelled: Optional[bool]
    """`true` if the user closed the dialog; other fields are ignored then."""
    timedOut: Optional[bool]
    """Whether it was closed because its time was up. Only with `cancelled`."""

class _HostToolResultAnswer(TypedDict):
    type: Literal["host_tool_result"]
    id: str
    """The id of the `host_tool_call`."""
    result: "HostToolOutput"
    """The output of the tool."""


class HostToolResultAnswer(_HostToolResultAnswer, total=False):
    """Ends a call of one of the client's tools. One for a call that is unknown or over is ignored."""
    isError: Optional[bool]
    """Whether the call failed."""

class _HostToolOutput(TypedDict):
    content: "List[HostToolContent]"
    """The output for the model."""


class HostToolOutput(_HostToolOutput, total=False):
    details: Any
    """Details for clients that the model does not see."""

class _HostToolContent(TypedDict):
    type: Literal["text", "image"]


class HostToolContent(_HostToolContent, total=False):
    text: str
    """Of a text."""
    data: str
    """Of an image: it, in base64."""
    mimeType: str
    """Of an image: the media type, such as `image/png`."""

class HostToolUpdateAnswer(TypedDict):
    """Reports the output of a running tool so far. It replaces that of earlier updates, and the time limit
    of the call starts again.
    """
    type: Literal["host_tool_update"]
    id: str
    """The id of the `host_tool_call`."""
    partialResult: "HostToolOutput"
    """The output so far."""

class _HostUriResultAnswer(TypedDict):
    type: Literal["host_uri_result"]
    id: str
    """The id of the `host_uri_request`."""


class HostUriResultAnswer(_HostUriResultAnswer, total=False):
    """Answers a `host_uri_request`. One for a request that is unknown or over is ignored."""
    content: Optional[str]
    """What was read, or how writing went."""
    notes: Optional[List[str]]
    """Remarks for the model."""
    isError: Optional[bool]
    """Whether the request failed."""
    error: Optional[str]
    """Why it failed."""

class _FailureResponse(TypedDict):
    type: Literal["response"]
    success: Literal[False]
    error: str
    """The error, as a sentence for people."""
    code: "ErrorCode"
    """A stable name of the error, for programs."""


class FailureResponse(_FailureResponse, total=False):
    """The response to a command that failed."""
    id: Union[str, float]
    """The command's id, unchanged; absent if it had none."""
    command: str
    """The command's type; `parse` for an unreadable line, absent for a line without a type."""

class AgentStartRecord(TypedDict):
    """A run starts, or an attempt after a retry, a compaction or a queued message."""
    type: Literal["agent_start"]

class TurnStartRecord(TypedDict):
    """A turn starts: one model response and the tool calls in it."""
    type: Literal["turn_start"]

class TurnEndRecord(TypedDict):
    """A turn ended."""
    type: Literal["turn_end"]
    message: "Message"
    """The model's response."""
    toolResults: "List[Message]"
    """The results of the tool calls, in the order of the calls."""

class MessageStartRecord(TypedDict):
    """A message starts. A model response is empty at this point, or has only its first block."""
    type: Literal["message_start"]
    message: "Message"

class _MessageEndRecord(TypedDict):
    type: Literal["message_end"]
    message: "Message"


class MessageEndRecord(_MessageEndRecord, total=False):
    """A message is complete and in the session file."""
    entryId: str
    """The message's entry in the session file; absent if the session is in memory only."""

class ToolExecutionStartRecord(TypedDict):
    """A tool starts."""
    type: Literal["tool_execution_start"]
    toolCallId: str
    toolName: str
    args: Dict[str, Any]
    """The arguments of the call."""

class ToolExecutionUpdateRecord(TypedDict):
    """A running tool has new output."""
    type: Literal["tool_execution_update"]
    toolCallId: str
    toolName: str
    args: Dict[str, Any]
    """The arguments of the call."""
    partialResult: "ToolReport"
    """The output so far. It replaces that of earlier updates."""

class ToolExecutionEndRecord(TypedDict):
    """A tool finished."""
    type: Literal["tool_execution_end"]
    toolCallId: str
    toolName: str
    result: "ToolReport"
    isError: bool
    durationMs: int

class AutoRetryStartRecord(TypedDict):
    """A request failed with a transient error and will be retried."""
    type: Literal["auto_retry_start"]
    attempt: int
    """The number of the retry, starting at 1."""
    maxAttempts: int
    delayMs: int
    """The delay before the retry."""
    errorMessage: str
    """Why the request failed."""

class TtsrTriggeredRecord(TypedDict):
    """What the model writes breaks stream rules: the response is interrupted and requested again, or the
    result of the tool call that breaks them mentions them.
    """
    type: Literal["ttsr_triggered"]
    rules: "List[StreamRule]"

class TodoReminderRecord(TypedDict):
    """The model stopped although tasks of its todo list are left. It is reminded of them and goes on."""
    type: Literal["todo_reminder"]
    todos: "List[TodoTask]"
    """The tasks that are left."""
    attempt: int
    """The number of the reminder since the user's prompt, starting at 1."""
    maxAttempts: int

class LimitWarningRecord(TypedDict):
    """A run has spent 80 % of a limit, or the session has; the run ends with the error kind `budget` when
    it would go on beyond it. Emitted once per limit and run.
    """
    type: Literal["limit_warning"]
    scope: "LimitScope"
    limit: "Limited"
    """What is limited."""
    used: float
    """What has been spent."""
    max: float
    """The limit."""

class _RunChangesRecord(TypedDict):
    type: Literal["run_changes"]
    run: int
    """The number of the run among those of the session that may have changed files, from 1."""
    started: int
    """When the run started, in milliseconds since 1970."""
    files: "List[FileChange]"
    turns: "List[TurnChanges]"
    """The turns that changed files, with the names of the files."""
    added: int
    """The lines of text that were added."""
    removed: int
    """The lines of text that were removed."""


class RunChangesRecord(_RunChangesRecord, total=False):
    """What the run changed in files; before `agent_settled`, but after it if the run was aborted. Only for
    clients that asked for it with `set_client_capabilities`.
    """
    entryId: str
    """The entry with the prompt that started the run."""
    omittedFiles: int
    """How many files are left out of `files`."""
    diff: str
    """The changes of text files as a unified diff."""
    diffTruncated: bool
    """Whether the diff leaves out something, because it would be too long."""
    recovered: bool
    """Whether the process ended during the run, so that everything that changed until the session was
    opened again counts as the run's.
    """
    undone: bool
    """Whether all of it was restored."""

class _FilesRestoredRecord(TypedDict):
    type: Literal["files_restored"]
    redo: bool
    """Whether they were changed again."""
    runs: List[int]
    """The runs that it was about."""
    restored: List[str]
    """The paths that are as they were."""
    conflicts: "List[LeftAlone]"
    """The paths that were left alone, because they have changed since."""
    notCovered: "List[LeftAlone]"
    """The paths that were left alone, because their former content is not known."""
    quarantined: "List[Quarantined]"
    """New files that were moved away."""


class FilesRestoredRecord(_FilesRestoredRecord, total=False):
    """Files were restored, or changed again, by `undo` or `redo`."""
    dryRun: bool
    """Whether nothing was done but to look."""

class _PendingChangesRecord(TypedDict):
    type: Literal["pending_changes"]
    enabled: bool
    """Whether the workspace is an overlay."""
    changes: "List[PendingChange]"
    """The changes, by path."""


class PendingChangesRecord(_PendingChangesRecord, total=False):
    """What is pending after a run that may have changed something, if bowline was started with
    `--workspace overlay`: before `agent_settled`, but after it if the run was aborted.
    """
    reason: str
    """Why it is not."""
    omitted: int
    """How many changes are left out of `changes`."""
    diff: str
    """The changes of text files as a unified diff against the real workspace."""
    diffTruncated: bool
    """Whether the diff leaves out something, because it would be too long."""

class _AutoRetryEndRecord(TypedDict):
    type: Literal["auto_retry_end"]
    success: bool
    attempt: int
    """The number of retries."""


class AutoRetryEndRecord(_AutoRetryEndRecord, total=False):
    """Retrying ended."""
    finalError: str
    """Why the last retry failed; absent on success."""

class ExtensionErrorRecord(TypedDict):
    """An extension failed. The run goes on, but for a tool call that the extension was to decide on."""
    type: Literal["extension_error"]
    extensionPath: str
    """The extension's path, or what stands for it: `command:NAME`, `hook:EVENT`, `<runtime>`."""
    event: str
    """What the extension was doing: the name of a hook, `command`, `load`, `process`."""
    error: str

class _ProtectedPathChangedRecord(TypedDict):
    type: Literal["protected_path_changed"]
    path: str
    change: "ProtectedPathChange"
    """What the command had done to it."""


class ProtectedPathChangedRecord(_ProtectedPathChangedRecord, total=False):
    """A command in the sandbox changed a path of the workspace that is protected, such as a git hook. The
    path was restored as it was.
    """
    toolCallId: str
    """The call that ran the command; absent for the command `bash`."""
    quarantine: str
    """Where what the command had left there is now; absent if it had left nothing."""

class AgentEndRecord(TypedDict):
    """An attempt of the run ended. `agent_settled` ends the run."""
    type: Literal["agent_end"]
    messages: "List[Message]"
    """The messages that this attempt added to the conversation."""
    willRetry: bool
    """Whether the model is called again automatically: after a transient error, a compaction, a broken
    stream rule, with a reminder of its tasks or because its output is not what the prompt asked for.
    """

class _AgentSettledRecord(TypedDict):
    type: Literal["agent_settled"]
    aborted: bool
    """Whether the run was aborted."""


class AgentSettledRecord(_AgentSettledRecord, total=False):
    """The run ended and nothing follows automatically. Emitted exactly once per run, whatever happened in
    it.
    """
    error: str
    """Why the run failed; absent if it did not."""
    errorKind: "ErrorKind"
    """The same for programs; `aborted` if the run was aborted."""
    output: Any
    """The JSON value that the last prompt of the run asked for with `outputSchema`; absent if it asked for
    none, or if the run was aborted or failed.
    """

class _OutputCheckedRecord(TypedDict):
    type: Literal["output_checked"]
    valid: bool
    attempt: int
    """The number of the answer, starting at 1."""
    maxAttempts: int
    """How many answers the prompt allows."""


class OutputCheckedRecord(_OutputCheckedRecord, total=False):
    """The answer to a prompt with `outputSchema` was checked. If it is wrong and attempts are left, the
    model is told of the problems and goes on.
    """
    output: Any
    """The JSON value, if it is valid."""
    problems: "List[OutputProblem]"
    """What is wrong with the answer, if it is not."""

class MessageUpdateRecord(TypedDict):
    """More of a model response has arrived."""
    type: Literal["message_update"]
    usage: "Usage"
    """The usage of the response so far."""
    assistantMessageEvent: "Step"
    """What is new."""

class QueueUpdateRecord(TypedDict):
    """The queues changed."""
    type: Literal["queue_update"]
    steering: List[str]
    """The texts in the steering queue."""
    followUp: List[str]
    """The texts in the follow-up queue."""

class CompactionStartRecord(TypedDict):
    """A compaction starts."""
    type: Literal["compaction_start"]
    reason: "CompactionReason"
    """`manual` if a command requested it, `threshold` if the context window is nearly full, `overflow` if
    the conversation exceeded it.
    """

class _CompactionEndRecord(TypedDict):
    type: Literal["compaction_end"]
    reason: "CompactionReason"
    """The same as in `compaction_start`."""
    aborted: bool
    willRetry: bool
    """Whether the request that exceeded the context window is retried."""


class CompactionEndRecord(_CompactionEndRecord, total=False):
    """A compaction ended."""
    result: "Compaction"
    """Absent if the compaction was aborted or failed."""
    errorMessage: str
    """Why the compaction failed; absent if it did not."""

class SummarizationRetryScheduledRecord(TypedDict):
    """The request for a summary failed with a transient error and will be retried."""
    type: Literal["summarization_retry_scheduled"]
    attempt: int
    """The number of the retry, starting at 1."""
    maxAttempts: int
    delayMs: int
    """The delay before the retry."""
    errorMessage: str
    """Why the request failed."""

class _SummarizationRetryAttemptStartRecord(TypedDict):
    type: Literal["summarization_retry_attempt_start"]
    source: "SummarySource"
    """What is summarised."""


class SummarizationRetryAttemptStartRecord(_SummarizationRetryAttemptStartRecord, total=False):
    """The retry of a request for a summary starts."""
    reason: "CompactionReason"
    """The reason for the compaction; absent for a branch."""

class SummarizationRetryFinishedRecord(TypedDict):
    """Retrying the request for a summary ended, successfully or not."""
    type: Literal["summarization_retry_finished"]

class EntryAppendedRecord(TypedDict):
    """An entry that changes the context was appended to the session file, and no other record reports it."""
    type: Literal["entry_appended"]
    entry: "Entry"
    """The entry, as in the file."""

class _ThinkingLevelChangedRecord(TypedDict):
    type: Literal["thinking_level_changed"]
    level: "ThinkingLevel"


class ThinkingLevelChangedRecord(_ThinkingLevelChangedRecord, total=False):
    """The thinking level changed."""
    entryId: str
    """The entry that records the change; absent if it follows from the model alone."""

class _SessionInfoChangedRecord(TypedDict):
    type: Literal["session_info_changed"]
    name: str


class SessionInfoChangedRecord(_SessionInfoChangedRecord, total=False):
    """The session was renamed."""
    entryId: str
    """The entry that records the change; absent if the session is in memory only."""

class _BashExecutionUpdateRecord(TypedDict):
    type: Literal["bash_execution_update"]
    delta: str
    """The new output. The deltas of one command add up to its whole output."""


class BashExecutionUpdateRecord(_BashExecutionUpdateRecord, total=False):
    """A command started with `bash` has new output."""
    id: Union[str, float]
    """The id of the `bash` command; absent if it had none."""

class HostToolCallRecord(TypedDict):
    """The model calls one of the client's tools. The client answers with `host_tool_result`."""
    type: Literal["host_tool_call"]
    id: str
    toolCallId: str
    """The id of the call in the model response."""
    toolName: str
    arguments: Dict[str, Any]

class HostToolCancelRecord(TypedDict):
    """A call of one of the client's tools is to stop: it was aborted, or its time is up. No answer is
    expected.
    """
    type: Literal["host_tool_cancel"]
    id: str
    targetId: str
    """The id of the `host_tool_call`."""

class _HostUriRequestRecord(TypedDict):
    type: Literal["host_uri_request"]
    id: str
    operation: "HostUriOperation"
    url: str


class HostUriRequestRecord(_HostUriRequestRecord, total=False):
    """The model reads or writes one of the client's addresses. The client answers with `host_uri_result`."""
    content: str
    """What to write; absent for `read`."""

class HostUriCancelRecord(TypedDict):
    """A request for one of the client's addresses is to stop: it was aborted, or its time is up. No answer
    is expected.
    """
    type: Literal["host_uri_cancel"]
    id: str
    targetId: str
    """The id of the `host_uri_request`."""

class SubagentLifecycleRecord(TypedDict):
    """A subagent started or ended. Only sent to clients that asked for it: see
    `set_subagent_subscription`.
    """
    type: Literal["subagent_lifecycle"]
    payload: "SubagentLifecycle"

class SubagentProgressRecord(TypedDict):
    """A subagent has made progress. Only sent to clients that asked for it: see
    `set_subagent_subscription`.
    """
    type: Literal["subagent_progress"]
    payload: "SubagentProgressReport"

class SubagentEventRecord(TypedDict):
    """Something happened in the session of a subagent. Only sent to clients that asked for it: see
    `set_subagent_subscription`.
    """
    type: Literal["subagent_event"]
    payload: "SubagentEventReport"

class _ApprovalRequestRecord(TypedDict):
    type: Literal["approval_request"]
    id: str
    kind: "ApprovalKind"
    tool: str
    cwd: str
    """The folder that the call runs in."""
    reason: "ApprovalReason"
    options: "List[ApprovalDecision]"
    """What `approval_response` can decide."""
    digest: str
    """A hash of the tool, the arguments, the folder and the grants: what was shown is what runs."""
    default: Literal["deny"]
    """The answer if there is none."""


class ApprovalRequestRecord(_ApprovalRequestRecord, total=False):
    """A tool call needs the user's consent. Sent to clients that declared it with
    `set_client_capabilities`, instead of a dialog. One is open at a time.
    """
    toolCallId: str
    """Absent if it is about a host and several calls are running."""
    command: str
    """The whole command of a call of kind `command` or `network`."""
    arguments: Dict[str, Any]
    """The arguments of any other call."""
    grants: "Grants"
    """What the call gets beyond the sandbox; absent if nothing."""
    rule: Any
    """The rule that `session` and `project` remember. Without one, `session` remembers this very call."""
    timeoutMs: int
    """After this many milliseconds the answer is no; absent if never."""

class ApprovalResolvedRecord(TypedDict):
    """An `approval_request` is decided."""
    type: Literal["approval_resolved"]
    id: str
    decision: "ApprovalDecision"
    by: "ApprovalDecider"
    """Who decided: the client, the end of its time, or an abort."""

class _ErrorRecord(TypedDict):
    type: Literal["error"]
    error: str
    """The error, as a sentence for people."""


class ErrorRecord(_ErrorRecord, total=False):
    """An error that is not the response to a command."""
    fatal: bool
    """`true` if the process ends; otherwise absent."""

class Accepted(TypedDict):
    """What happened to a message."""
    disposition: "Disposition"
    """`started` if it started a run, `queued` if it is in a queue, `handled` if an extension dealt with it
    and nothing follows.
    """

class Queues(TypedDict):
    """The messages that were removed from the queues."""
    steering: List[str]
    """The texts from the steering queue."""
    followUp: List[str]
    """The texts from the follow-up queue."""

class _State(TypedDict):
    thinkingLevel: "ThinkingLevel"
    """The current thinking level."""
    isStreaming: bool
    """Whether a run is in progress, including retries."""
    isCompacting: bool
    """Whether a compaction is in progress."""
    steeringMode: "QueueMode"
    """How many messages are taken from the steering queue at a time."""
    followUpMode: "QueueMode"
    """How many messages are taken from the follow-up queue at a time."""
    sessionId: str
    autoCompactionEnabled: bool
    messageCount: int
    """The number of messages in the context."""
    pendingMessageCount: int
    """The number of messages in both queues."""
    autoRetryEnabled: bool
    tools: List[str]
    """The tools available to the model."""
    cwd: str
    """The working directory of the tools."""


class State(_State, total=False):
    """The state of the agent."""
    model: "Model"
    """Absent if no model is selected."""
    sessionFile: str
    """Absent if the session is in memory only. The file may not exist yet."""
    sessionName: str
    """Absent if the session has no name."""
    sessionDamage: "SessionDamage"
    """What could not be read of the session's file. Absent if the file is undamaged."""
    contextUsage: "ContextUsage"
    """Absent if no model is selected."""
    sandbox: "SandboxSummary"
    """What confines the tools; `get_sandbox` says more."""
    extensions: "List[Extension]"
    """The extensions of the session, including those that have failed. Absent if there are none."""
    approvals: "Approvals"
    """How the user is asked about tool calls. Absent if `ask` is `never` and the client has not failed to
    answer.
    """

class _Model(TypedDict):
    id: str
    name: str
    """The display name."""
    api: str
    """The provider API, such as `anthropic-messages`."""
    provider: str
    baseUrl: str
    reasoning: bool
    """Whether the model can think."""
    input: "List[InputKind]"
    cost: "Price"
    contextWindow: int
    """The maximum number of tokens of a conversation, including the response."""
    maxTokens: int
    """The maximum number of tokens of a response."""


class Model(_Model, total=False):
    """A model of a provider."""
    thinkingLevelMap: Dict[str, Optional[str]]
    """The thinking levels that the model has in addition to the usual ones (a string), or does not have
    (`null`).
    """
    compat: Any
    """Compatibility flags of the server, as in `models.json`."""

class Price(TypedDict):
    """Prices in US dollars per million tokens."""
    input: float
    output: float
    cacheRead: float
    cacheWrite: float

class SessionDamage(TypedDict):
    """What could not be read of a session's file. `bowline sessions fsck --repair` mends the file."""
    unreadableLines: int
    """The number of lines that cannot be read. They are left out."""
    relinkedEntries: int
    """The number of entries whose predecessor is missing. They follow the entry before the missing one."""
    unreadableMessages: int
    """The number of messages of the conversation whose content cannot be read. They are left out."""

class ContextUsage(TypedDict):
    """How much of the context window is used."""
    tokens: Optional[int]
    """`null` until a model has reported its usage, and directly after a compaction."""
    contextWindow: int
    percent: Optional[float]
    """`tokens` as a percentage of the context window."""

class _SandboxSummary(TypedDict):
    mode: "SandboxMode"
    level: "SandboxLevel"
    ask: "AskMode"
    network: "SandboxNetwork"


class SandboxSummary(_SandboxSummary, total=False):
    """What holds, in short."""
    workspace: "SandboxWorkspace"
    """`overlay` if nothing is written to the working folder until `accept_changes`; absent if tools write
    it directly.
    """

class _Extension(TypedDict):
    name: str
    path: str
    """The file or folder. `extensionPath` of `extension_error` is the same."""
    status: "ExtensionStatus"
    """How it is doing. `restarting`: it has exited and is started again. `failed`: it is not started
    again. `not_loaded`: it is there, but not to be used.
    """
    sourceInfo: "SourceInfo"
    tools: List[str]
    """The names of its tools."""
    commands: List[str]
    """The names of its slash commands."""
    providers: List[str]
    """The names of its providers of models."""
    hooks: List[str]
    """The hooks that it takes part in."""


class Extension(_Extension, total=False):
    """An extension of the session."""
    version: str
    description: str
    reason: str
    """Why it is not running. Absent if it is, or is starting."""

class _SourceInfo(TypedDict):
    path: str
    """The file."""
    source: str
    """How it was found: `auto` in a folder that is always searched, `local` by a path in the settings,
    `cli` by a flag, the name of a package, or `extension:` and the name of the extension that named it.
    """
    scope: "SourceInfoScope"
    """Whom it belongs to; `temporary` if it is there for this process only."""
    origin: "SourceInfoOrigin"
    """Whether it is part of a package."""


class SourceInfo(_SourceInfo, total=False):
    """Where a command or an extension comes from."""
    baseDir: str
    """The folder that it belongs to; absent if it was named by a path."""

class Approvals(TypedDict):
    """How the user is asked about tool calls."""
    ask: "AskMode"
    """When the user is asked."""
    clientAnswers: bool
    """`false` if the client let a question time out and never answered one. It is not asked again until it
    does, or sends `set_client_capabilities`.
    """

class Messages(TypedDict):
    """The messages in the context."""
    messages: "List[Message]"
    """The messages, as they are sent to the model."""

class _Attachment(TypedDict):
    type: Literal["image", "document"]


class Attachment(_Attachment, total=False):
    """A file that a client sent with a prompt."""
    id: str
    fileName: str
    mimeType: str
    size: int
    """In bytes."""
    content: str
    """The file in base64."""
    extractedText: str
    """The text of a document."""
    preview: str
    """A small image of the file in base64."""

class _UserMessage(TypedDict):
    role: Literal["user"]
    content: "List[Content]"
    timestamp: int
    """Milliseconds since the Unix epoch."""


class UserMessage(_UserMessage, total=False):
    """A user message."""
    attachments: "List[Attachment]"
    """The attachments of the prompt, as the client sent them. What the model sees of them is in `content`."""
    source: str
    """Where the message came from, as the client said."""

class _TextBlock(TypedDict):
    type: Literal["text"]
    text: str


class TextBlock(_TextBlock, total=False):
    """Text of a model response."""
    textSignature: str

class _ThinkingBlock(TypedDict):
    type: Literal["thinking"]
    thinking: str


class ThinkingBlock(_ThinkingBlock, total=False):
    """Thinking of a model, with the signature that some providers require when it is sent back."""
    thinkingSignature: str
    redacted: bool
    """Set if the provider encrypted the thinking, so that only the signature is available."""

class _ToolCall(TypedDict):
    type: Literal["toolCall"]
    id: str
    name: str
    arguments: Dict[str, Any]


class ToolCall(_ToolCall, total=False):
    """A tool call."""
    thoughtSignature: str

class _Usage(TypedDict):
    input: int
    """Input tokens that were not read from the cache."""
    output: int
    """Output tokens, including thinking."""
    cacheRead: int
    """Input tokens that were read from the cache."""
    cacheWrite: int
    """Input tokens that were written to the cache."""
    totalTokens: int
    """The sum of all kinds of tokens."""
    cost: "Cost"


class Usage(_Usage, total=False):
    """The tokens of one or more model responses, with their cost."""
    reasoning: int
    """The part of `output` that was spent on thinking, if the provider reports it."""

class Cost(TypedDict):
    """The cost in US dollars by kind of token."""
    input: float
    output: float
    cacheRead: float
    cacheWrite: float
    total: float

class _AssistantMessage(TypedDict):
    role: Literal["assistant"]
    content: "List[AssistantContent]"
    api: str
    """The provider API of the request."""
    provider: str
    model: str
    usage: "Usage"
    stopReason: "StopReason"
    timestamp: int
    """When the response started, in milliseconds since the Unix epoch."""


class AssistantMessage(_AssistantMessage, total=False):
    """A model response."""
    thinkingLevel: "ThinkingLevel"
    """The thinking level of the request, if a virtual model chose the model and the level."""
    responseId: str
    """The provider's id of the response."""
    rawStopReason: str
    """The stop reason as the provider sent it."""
    errorMessage: str
    """Why the response failed or was aborted."""
    errorKind: "ErrorKind"
    """The same for programs."""
    duration: int
    """The time from the request to the end of the response, in milliseconds."""
    ttft: int
    """The time from the request to the first delta of the response, in milliseconds."""
    completedAt: int
    """When the response was complete, in milliseconds since the Unix epoch."""

class _ToolResultMessage(TypedDict):
    role: Literal["toolResult"]
    toolCallId: str
    toolName: str
    content: "List[Content]"
    isError: bool
    timestamp: int
    """Milliseconds since the Unix epoch."""


class ToolResultMessage(_ToolResultMessage, total=False):
    """The result of a tool call."""
    details: Any
    """Details for the client that the model does not see."""
    usage: "Usage"
    """What the tool spent on models of its own."""

class _BashExecutionMessage(TypedDict):
    role: Literal["bashExecution"]
    command: str
    output: str
    cancelled: bool
    truncated: bool
    """Whether `output` is only the end of the whole output."""
    timestamp: int
    """Milliseconds since the Unix epoch."""


class BashExecutionMessage(_BashExecutionMessage, total=False):
    """A user-initiated shell command with its output."""
    exitCode: int
    """Absent if the command was cancelled or killed by a signal."""
    fullOutputPath: str
    """The file with the whole output, if it was truncated."""
    excludeFromContext: bool
    """Whether the command and its output are kept out of the context."""

class _CustomMessage(TypedDict):
    role: Literal["custom"]
    customType: str
    content: "CustomContent"
    display: bool
    timestamp: int


class CustomMessage(_CustomMessage, total=False):
    """A message that an extension added to the conversation."""
    details: Any

class BranchSummaryMessage(TypedDict):
    """The summary of an abandoned branch."""
    role: Literal["branchSummary"]
    summary: str
    fromId: str
    timestamp: int

class CompactionSummaryMessage(TypedDict):
    """The summary that replaces all earlier messages."""
    role: Literal["compactionSummary"]
    summary: str
    tokensBefore: int
    timestamp: int

class SlashCommands(TypedDict):
    """The commands that a prompt can invoke with a leading slash."""
    commands: "List[SlashCommand]"

class _SlashCommand(TypedDict):
    name: str
    source: "SlashCommandSource"
    """What provides the command."""
    sourceInfo: "SourceInfo"


class SlashCommand(_SlashCommand, total=False):
    """A command that a prompt can invoke with a leading slash."""
    description: str
    hasCompletion: bool
    """`true` if `get_completions` completes what follows the name."""

class Completions(TypedDict):
    """What can follow the name of a slash command."""
    completions: "List[Completion]"

class _Completion(TypedDict):
    value: str
    """What takes the place of the text after the command's name."""


class Completion(_Completion, total=False):
    """A completion."""
    label: str
    """What to show instead of the value."""
    description: str

class _ProtocolInfo(TypedDict):
    name: str
    """The name of the program: `bowline`."""
    version: str
    """The version of the program."""
    dialect: str
    commands: List[str]
    """The types of the supported commands."""
    unsupported: List[str]
    """The types of the commands that the emulated agent has and bowline refuses."""
    events: List[str]
    """The types of the records that are not responses."""
    capabilities: List[str]
    """What bowline adds to the protocol that the dialect is named after."""


class ProtocolInfo(_ProtocolInfo, total=False):
    """What a dialect supports."""
    emulates: "Emulated"
    """The agent that is emulated; absent if its clients ask for no version."""

class Emulated(TypedDict):
    """An agent that is emulated."""
    name: str
    version: str
    """The version that `--version` reports if bowline is started under the agent's name."""

class _SandboxReport(TypedDict):
    mode: "SandboxMode"
    level: "SandboxLevel"
    ask: "AskMode"
    network: "SandboxNetwork"
    kernel: str
    """The version of the kernel."""
    landlockAbi: int
    """The version of Landlock that the kernel has; 0 if none."""
    mechanisms: List[str]
    """The mechanisms in force: `userns`, `mountns`, `pidns`, `netns`, `ipcns`, `landlock`, `seccomp`,
    `nonewprivs`, `nocaps`.
    """
    writable: List[str]
    """What tools may write."""
    readOnlyInside: List[str]
    """What stays read-only within that."""
    masked: List[str]
    """What tools cannot read."""
    home: str
    """The home folder: `read-only`, `overlay` or `writable`."""
    tools: str
    """Where the built-in tools run: `confined` or `unconfined`."""
    promises: "List[Promise]"
    notEnforced: "List[NotEnforced]"
    environment: "ReportedEnvironment"
    checks: "ReportedChecks"


class SandboxReport(_SandboxReport, total=False):
    """What holds for the tools of a session."""
    workspace: "SandboxWorkspace"
    """`overlay` if nothing is written to the working folder until `accept_changes`; absent if tools write
    it directly.
    """
    hosts: List[str]
    """The hosts that can be reached, if the network is a list."""
    granted: "Grants"
    """What was granted beyond that for the rest of the session."""
    keeper: "ReportedKeeper"
    """The process that confines the tools, once it has been started."""
    connections: "List[ReportedConnection]"
    """The last connections through the proxy, the oldest first, if they were asked for."""

class Grants(TypedDict, total=False):
    """What a call, or a session, may do beyond the sandbox, because the user or a rule of the user allowed
    it.
    """
    unsandboxed: bool
    """Whether it runs outside of the sandbox."""
    paths: List[str]
    """Files and folders, absolute and canonical, that it may also write."""
    hosts: List[str]
    """Hosts that it may also reach, as `host:port`."""

class _Promise(TypedDict):
    id: str
    """A stable name, such as `file.write`."""
    state: "PromiseState"
    text: str
    """What is promised, in a sentence."""


class Promise(_Promise, total=False):
    """Something that the sandbox promises."""
    at: int
    """When it was proved, in milliseconds since 1970."""

class NotEnforced(TypedDict):
    """Something that the sandbox does not prevent."""
    id: str
    """A stable name, such as `file.hardlink`."""
    why: str
    """What is possible, in plain words."""

class ReportedEnvironment(TypedDict):
    """What commands get of the environment."""
    dropped: List[str]
    """The names of the variables that they do not get."""

class ReportedKeeper(TypedDict):
    """The process that confines the tools."""
    pid: int
    startedMs: int
    """How long its start took, in milliseconds."""

class ReportedChecks(TypedDict):
    """How many probes were tried."""
    passed: int
    failed: int

class ReportedConnection(TypedDict):
    """A connection through the proxy. What was sent and which paths were asked for is not kept."""
    host: str
    port: int
    decision: str
    """Why it was made or refused: `listed`, `approved`, `denied`, `unlisted`, `declined`, `bad-address` or
    `unreachable`.
    """
    sent: int
    """Bytes that went to the host."""
    received: int
    """Bytes that came from the host."""

class CycledModel(TypedDict):
    """The model that was switched to."""
    model: "Model"
    thinkingLevel: "ThinkingLevel"
    isScoped: bool
    """Whether the user restricted the models to cycle through."""

class Models(TypedDict):
    """The available models."""
    models: "List[Model]"
    """The models with credentials, and the current model."""

class LoginProviders(TypedDict):
    """The providers that a user may log in to."""
    providers: "List[LoginProvider]"

class LoginProvider(TypedDict):
    """A provider that a user may log in to."""
    id: str
    name: str
    """The name for people."""
    available: bool
    """Whether the user can log in to it with `login`."""
    authenticated: bool
    """Whether there is a key for it, or it needs none."""

class LoggedIn(TypedDict):
    """The provider that the user has logged in to."""
    providerId: str

class Level(TypedDict):
    """The thinking level that was switched to."""
    level: "ThinkingLevel"

class Levels(TypedDict):
    """The thinking levels of the current model."""
    levels: "List[ThinkingLevel]"
    """The levels, in ascending order."""

class Compaction(TypedDict):
    """The result of a compaction."""
    summary: str
    """The summary that replaces the messages before the first kept entry."""
    firstKeptEntryId: str
    """The first entry that stays in the context unchanged."""
    tokensBefore: int
    """The size of the context, as reported by the model or estimated."""
    estimatedTokensAfter: int
    usage: "Usage"
    """The usage of the request for the summary."""
    details: "TouchedFiles"
    entryId: str
    """The entry that holds the summary."""

class TouchedFiles(TypedDict):
    """The files that tools read and modified in the summarised messages."""
    readFiles: List[str]
    modifiedFiles: List[str]

class _ShellResult(TypedDict):
    output: str
    """The end of stdout and stderr combined, without control characters."""
    cancelled: bool
    truncated: bool
    """Whether `output` is only the end of the whole output."""


class ShellResult(_ShellResult, total=False):
    """The result of a shell command."""
    exitCode: int
    """Absent if the command was cancelled or killed by a signal."""
    fullOutputPath: str
    """The file with the whole output, if it was truncated."""

class Switched(TypedDict):
    """The session was switched."""
    cancelled: bool
    """Always `false`: nothing can cancel this yet."""

class Forked(TypedDict):
    """A session that was forked before an earlier message."""
    text: str
    """The text of that message, for editing and resending."""
    cancelled: bool
    """Always `false`: nothing can cancel this yet."""

class ForkMessages(TypedDict):
    """The messages that the session can be forked at."""
    messages: "List[ForkMessage]"

class ForkMessage(TypedDict):
    """A message that the session can be forked at."""
    entryId: str
    text: str

class Entries(TypedDict):
    """Entries of the session file."""
    entries: "List[Entry]"
    """The entries, as in the file and in its order."""
    leafId: Optional[str]
    """The current entry of the conversation; `null` before the first entry."""

class Entry(TypedDict):
    """An entry of the session file. Its other fields depend on its type."""
    type: str
    """Such as `message`, `compaction`, `model_change` or `label`."""
    id: str
    parentId: Optional[str]
    """The entry that this one follows; `null` for the first entry."""
    timestamp: str
    """ISO 8601."""

class _Tree(TypedDict):
    tree: "List[TreeNode]"
    """The entries without a parent; empty with the format `flat`."""
    leafId: Optional[str]
    """The current entry of the conversation; `null` before the first entry."""


class Tree(_Tree, total=False):
    """The session as a tree."""
    isSplit: bool
    """Present if the tree is too deep for decoders that limit the depth. A long branch is then continued
    by a further element of `tree`, whose entry has a parent in an earlier element.
    """
    nodes: "List[FlatNode]"
    """The entries, each before its descendants. Absent unless the format is `flat`."""

class _TreeNode(TypedDict):
    entry: "Entry"
    children: "List[TreeNode]"


class TreeNode(_TreeNode, total=False):
    """An entry with the entries that follow it."""
    label: str
    """Absent if the entry has no label."""
    labelTimestamp: str
    """When the label was set, ISO 8601."""

class _FlatNode(TypedDict):
    entry: "Entry"
    depth: int
    """The number of its ancestors."""


class FlatNode(_FlatNode, total=False):
    """An entry in a list of all entries."""
    label: str
    """Absent if the entry has no label."""
    labelTimestamp: str
    """When the label was set, ISO 8601."""

class Navigated(TypedDict):
    """The position that the conversation was moved to."""
    leafId: Optional[str]
    """The current entry of the conversation; `null` before the first entry."""
    text: Optional[str]
    """The text of the user message that was navigated to, for editing and resending."""
    summaryEntryId: Optional[str]
    """The entry that holds the summary of the abandoned branch."""
    cancelled: bool
    """Always `false`: nothing can cancel this yet."""

class Written(TypedDict):
    """The entry that was written."""
    entryId: str

class Sessions(TypedDict):
    """A page of the list of sessions."""
    sessions: "List[Session]"
    """The sessions, most recently modified first."""
    nextCursor: Optional[str]
    """The cursor of the next page; `null` on the last page."""

class _Session(TypedDict):
    id: str
    path: str
    cwd: str
    """Empty for sessions in the oldest format, which does not record it."""
    firstMessage: str
    """The beginning of the first user message; empty if there is none yet."""
    messageCount: int
    """The number of messages of all roles and branches."""
    created: str
    """ISO 8601."""
    modified: int
    """When the file was last modified, in milliseconds since the Unix epoch."""


class Session(_Session, total=False):
    """A session in a list."""
    name: str
    """Absent if the session has no name."""

class _SessionStatistics(TypedDict):
    sessionId: str
    userMessages: int
    assistantMessages: int
    toolCalls: int
    toolResults: int
    totalMessages: int
    tokens: "Tokens"
    cost: float
    """The cost in US dollars, including summaries."""
    byModel: "List[ModelUsage]"
    """Statistics by model, in order of first use."""


class SessionStatistics(_SessionStatistics, total=False):
    """Statistics of the session over all its branches."""
    sessionFile: str
    """Absent if the session is in memory only."""
    contextUsage: "ContextUsage"
    """Absent if no model is selected."""

class Tokens(TypedDict):
    """Token counts by kind."""
    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    total: int

class ModelUsage(TypedDict):
    """The statistics of one model in a session."""
    provider: str
    model: str
    assistantMessages: int
    usage: "Usage"

class Exported(TypedDict):
    """The exported file."""
    path: str

class LastText(TypedDict):
    """The newest model response."""
    text: Optional[str]
    """`null` if no response has text."""

class LimitsReport(TypedDict):
    """The limits and what was spent of them."""
    run: "ScopeReport"
    """Of the run in progress, or of the last one."""
    session: "ScopeReport"

class ScopeReport(TypedDict):
    """The limits of a run or a session, and what was spent of them."""
    limits: "Limits"
    """What is absent is not limited."""
    used: "Spent"

class Limits(TypedDict, total=False):
    """Limits; what is absent has none."""
    cost: float
    """US dollars."""
    tokens: int
    turns: int
    """How often the model answers; in a run, for one message of the user."""
    toolCalls: int
    seconds: float

class Spent(TypedDict):
    """What was spent."""
    cost: float
    """US dollars."""
    tokens: int
    turns: int
    toolCalls: int
    seconds: float

class SubagentSubscription(TypedDict):
    """The level that was set."""
    level: "SubagentSubscriptionLevel"

class Subagents(TypedDict):
    """The subagents that are running."""
    subagents: "List[Subagent]"

class _Subagent(TypedDict):
    id: str
    index: int
    """Its place among the tasks of its call, starting at 0."""
    agent: str
    """The agent whose instructions it has."""
    agentSource: "AgentSource"
    status: "SubagentStatus"
    task: str
    """The beginning of its task."""
    lastUpdate: int
    """When it last changed, in milliseconds since the Unix epoch."""
    progress: "SubagentProgress"
    parentToolCallId: str
    """The call of `task` that started it."""


class Subagent(_Subagent, total=False):
    """A subagent that is running."""
    sessionFile: str
    """Absent if the session is in memory only."""

class _SubagentProgress(TypedDict):
    index: int
    """Its place among the tasks of its call, starting at 0."""
    id: str
    """Unique in its session. The id of a subagent's own subagent begins with that of the former and a dot."""
    agent: str
    """The agent whose instructions it has."""
    agentSource: "AgentSource"
    status: "SubagentStatus"
    task: str
    """The beginning of its task."""
    recentTools: "List[RecentTool]"
    """The last tools that ended, newest first."""
    recentOutput: List[str]
    """The last lines that the model wrote, newest first."""
    toolCount: int
    """How many tools were called."""
    requests: int
    """How many responses of the model there were."""
    tokens: int
    """The tokens of all responses."""
    contextWindow: int
    cost: float
    """The cost so far in US dollars."""
    durationMs: int
    resolvedModel: str
    """The model, as `provider/id`."""


class SubagentProgress(_SubagentProgress, total=False):
    """What a subagent is doing and has done so far."""
    currentTool: str
    """The tool that it runs; absent while it runs none."""
    currentToolArgs: str
    """The beginning of that tool's arguments."""
    currentToolStartMs: int
    """When that tool was started, in milliseconds since the Unix epoch."""
    contextTokens: int
    """The tokens of the last response and of what it answered; absent before the first response."""
    error: str
    """Why it failed; absent if it did not."""

class RecentTool(TypedDict):
    """A tool that has ended."""
    tool: str
    args: str
    """The beginning of its arguments."""
    endMs: int
    """When it ended, in milliseconds since the Unix epoch."""

class SubagentMessages(TypedDict):
    """A part of a subagent's session file."""
    sessionFile: str
    fromByte: int
    """Where the part begins."""
    nextByte: int
    """Where the next part begins. There is none yet if it is the same as `fromByte`."""
    reset: bool
    """Whether the file is shorter than the requested offset, so that the part begins at the start of the
    file.
    """
    entries: "List[FileLine]"
    """The lines of the file, its header among them."""
    messages: "List[Message]"
    """The messages in them."""

class SessionHeader(TypedDict):
    """The header of a session file."""
    type: Literal["session"]
    id: str

class _ChangesReport(TypedDict):
    enabled: bool
    """Whether changes are recorded."""
    commands: bool
    """Whether the changes of commands are seen, or only those of the file tools."""
    runs: "List[RunChanges]"
    """The runs that changed files, oldest first."""
    canRedo: bool
    """Whether there is something that `redo` can do again."""
    storedBytes: int
    """How many bytes of former contents are kept."""
    notCovered: List[str]
    """Changes that are never seen, in plain words."""


class ChangesReport(_ChangesReport, total=False):
    """What the runs of a session changed."""
    reason: str
    """Why changes, or those of commands, are not recorded."""

class _RunChanges(TypedDict):
    run: int
    """The number of the run among those of the session that may have changed files, from 1."""
    started: int
    """When the run started, in milliseconds since 1970."""
    files: "List[FileChange]"
    turns: "List[TurnChanges]"
    """The turns that changed files, with the names of the files."""
    added: int
    """The lines of text that were added."""
    removed: int
    """The lines of text that were removed."""


class RunChanges(_RunChanges, total=False):
    """What one run changed."""
    entryId: str
    """The entry with the prompt that started the run."""
    omittedFiles: int
    """How many files are left out of `files`."""
    diff: str
    """The changes of text files as a unified diff."""
    diffTruncated: bool
    """Whether the diff leaves out something, because it would be too long."""
    recovered: bool
    """Whether the process ended during the run, so that everything that changed until the session was
    opened again counts as the run's.
    """
    undone: bool
    """Whether all of it was restored."""

class _FileChange(TypedDict):
    path: str
    """Relative to the working directory; absolute if it is outside."""
    change: "FileChangeKind"
    kind: "FileKind"
    covered: bool
    """Whether `undo` can put it back."""


class FileChange(_FileChange, total=False):
    """A change of one path by a run."""
    sizeBefore: int
    """The size before the run, of a file that existed."""
    size: int
    """The size after the run, of a file that exists."""
    reason: str
    """Why it is not covered."""
    undone: bool
    """Whether it was restored."""

class _TurnChanges(TypedDict):
    turn: int
    """The number of the turn in its run, from 0."""
    files: int
    """How many paths it changed."""


class TurnChanges(_TurnChanges, total=False):
    """What one turn changed."""
    entryId: str
    """The entry that the session was at when the turn ended."""
    toolCallId: str
    """The tool call after which the files were looked at, if they were looked at after each."""

class _RestoreReport(TypedDict):
    runs: List[int]
    """The runs that it was about."""
    restored: List[str]
    """The paths that are as they were."""
    conflicts: "List[LeftAlone]"
    """The paths that were left alone, because they have changed since."""
    notCovered: "List[LeftAlone]"
    """The paths that were left alone, because their former content is not known."""
    quarantined: "List[Quarantined]"
    """New files that were moved away."""


class RestoreReport(_RestoreReport, total=False):
    """What `undo` or `redo` did."""
    dryRun: bool
    """Whether nothing was done but to look."""

class LeftAlone(TypedDict):
    """A path that was left alone."""
    path: str
    reason: str

class Quarantined(TypedDict):
    """A file that was moved away."""
    path: str
    movedTo: str
    """Where it is now."""

class _PendingReport(TypedDict):
    enabled: bool
    """Whether the workspace is an overlay."""
    changes: "List[PendingChange]"
    """The changes, by path."""


class PendingReport(_PendingReport, total=False):
    """What a session changed and nobody has accepted."""
    reason: str
    """Why it is not."""
    omitted: int
    """How many changes are left out of `changes`."""
    diff: str
    """The changes of text files as a unified diff against the real workspace."""
    diffTruncated: bool
    """Whether the diff leaves out something, because it would be too long."""

class _PendingChange(TypedDict):
    path: str
    """Relative to the working directory."""
    change: "FileChangeKind"
    kind: "PendingKind"
    """What the path stands for after the change; of a deleted one, before it."""


class PendingChange(_PendingChange, total=False):
    """A change that is not in the real workspace."""
    sizeBefore: int
    """The size of the file in the real workspace."""
    size: int
    """The size of the file after the change."""
    modeBefore: str
    """The permissions in the real workspace, in octal."""
    mode: str
    """The permissions after the change, in octal."""
    modified: int
    """When the content was last changed, in milliseconds since 1970; absent for what is deleted."""
    obstacle: "PendingObstacle"
    """Why `accept_changes` would leave it alone; absent if it would apply it."""
    reason: str
    """The same in plain words."""

class _AcceptReport(TypedDict):
    accepted: List[str]
    """The paths that are now in the real workspace as the session changed them."""
    conflicts: "List[LeftAlone]"
    """The paths that have changed in the real workspace since. They stay pending."""
    notApplied: "List[LeftAlone]"
    """The paths that are not applied for another reason: they are protected or not supported, or it
    failed. They stay pending.
    """
    pending: int
    """How many changes are pending now."""


class AcceptReport(_AcceptReport, total=False):
    """What `accept_changes` did."""
    omitted: int
    """How many paths are left out of the lists."""

class _DiscardReport(TypedDict):
    discarded: List[str]
    """The paths whose changes are gone."""
    notDiscarded: "List[LeftAlone]"
    """The paths whose changes could not be thrown away alone."""
    pending: int
    """How many changes are pending now."""


class DiscardReport(_DiscardReport, total=False):
    """What `discard_changes` did."""
    omitted: int
    """How many paths are left out of the lists."""

class HostToolNames(TypedDict):
    """The tools of the client."""
    toolNames: List[str]
    """The names of the tools."""

class UriSchemes(TypedDict):
    """The schemes that the client serves."""
    schemes: List[str]
    """The schemes, in lower case."""

class _ToolReport(TypedDict):
    content: "List[Content]"
    """The output for the model."""


class ToolReport(_ToolReport, total=False):
    """The output of a tool."""
    details: Any
    """Details for the client that the model does not see; they depend on the tool."""
    structuredContent: Any
    """The result as data, if the tool of an extension that has ended has one. It is not stored."""
    usage: "Usage"
    """What the tool spent on models of its own; of a tool that has ended."""
    terminate: bool
    """`true` if the tool wants the run to end."""

class _StreamRule(TypedDict):
    name: str
    """The name of the file without its ending."""
    path: str
    """The file."""
    content: str
    """What the model is told."""
    condition: List[str]
    """The regular expressions."""
    _source: "RuleSource"


class StreamRule(_StreamRule, total=False):
    """A stream rule."""
    globs: List[str]
    """The files that tool calls must be about."""
    description: str
    scope: List[str]
    """What is watched; absent for text and all tools."""
    agents: List[str]
    """The agents that the rule is for; absent for all."""
    interruptMode: "StreamRuleInterruptMode"
    """When the rule interrupts; absent if as the settings say."""

class RuleSource(TypedDict):
    """Where a stream rule comes from."""
    provider: str
    """The program whose folder holds the file."""
    providerName: str
    """The same for people."""
    path: str
    """The file."""
    level: "RuleSourceLevel"
    """Whether the rule is the user's own or the project's."""

class _TodoTask(TypedDict):
    content: str
    """What is to be done; it also identifies the task."""
    status: "TodoStatus"


class TodoTask(_TodoTask, total=False):
    """A task."""
    blocker: str
    """Why the task is blocked, if somebody said so."""

class OutputProblem(TypedDict):
    """Why an answer is not what a prompt asked for."""
    path: str
    """Where in the output, as a JSON Pointer; empty for the output as a whole."""
    reason: str

class _ToolCallBlock(TypedDict):
    type: Literal["toolCall"]
    id: str
    name: str
    arguments: Dict[str, Any]


class ToolCallBlock(_ToolCallBlock, total=False):
    """A tool call as a block of a message."""
    thoughtSignature: str

class OptionDetail(TypedDict, total=False):
    """What is said about an option."""
    description: str

class _SubagentLifecycle(TypedDict):
    id: str
    """Unique in the session. The id of a subagent's own subagent begins with that of the former and a dot."""
    agent: str
    agentSource: "AgentSource"
    status: "SubagentLifecycleStatus"
    parentToolCallId: str
    index: int


class SubagentLifecycle(_SubagentLifecycle, total=False):
    """The start or the end of a subagent."""
    sessionFile: str
    """Absent if the session is in memory only."""

class _SubagentProgressReport(TypedDict):
    index: int
    agent: str
    agentSource: "AgentSource"
    task: str
    parentToolCallId: str
    progress: "SubagentProgress"


class SubagentProgressReport(_SubagentProgressReport, total=False):
    """The progress of a subagent."""
    sessionFile: str
    """Absent if the session is in memory only."""

class SubagentEventReport(TypedDict):
    """An event of a subagent's session."""
    id: str
    """The subagent."""
    event: "InnerRecord"

class InnerRecord(TypedDict):
    """The record of the event, as it is for the session of the client."""
    type: str

class ApprovalReason(TypedDict):
    """Why consent is needed."""
    code: "ApprovalReasonCode"
    text: str
    """For the user."""

class _SelectExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["select"]
    title: str
    options: List[str]


class SelectExtensionUiRequestRecord(_SelectExtensionUiRequestRecord, total=False):
    """Asks the user to choose an option. Answered with `value`."""
    optionDetails: "List[OptionDetail]"
    """What is said about each option, in their order. Absent if nothing is said about any."""
    timeout: int
    """After this many milliseconds the agent goes on without an answer; absent if it waits."""

class _ConfirmExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["confirm"]
    title: str
    message: str


class ConfirmExtensionUiRequestRecord(_ConfirmExtensionUiRequestRecord, total=False):
    """Asks the user for consent. Answered with `confirmed`."""
    timeout: int
    """After this many milliseconds the agent goes on without an answer; absent if it waits."""

class _InputExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["input"]
    title: str


class InputExtensionUiRequestRecord(_InputExtensionUiRequestRecord, total=False):
    """Asks the user for a line of text. Answered with `value`."""
    placeholder: str
    timeout: int
    """After this many milliseconds the agent goes on without an answer; absent if it waits."""

class _EditorExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["editor"]
    title: str


class EditorExtensionUiRequestRecord(_EditorExtensionUiRequestRecord, total=False):
    """Asks the user for a text of any length. Answered with `value`."""
    prefill: str
    """What the text is at first."""
    promptStyle: bool
    """`true` if it is to look and behave like the place where prompts are written."""

class _NotifyExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["notify"]
    message: str


class NotifyExtensionUiRequestRecord(_NotifyExtensionUiRequestRecord, total=False):
    """Shows a message. Not answered, like all that follow."""
    notifyType: "NotifyType"
    """How much it matters; absent for `info`."""

class _SetStatusExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["setStatus"]
    statusKey: str


class SetStatusExtensionUiRequestRecord(_SetStatusExtensionUiRequestRecord, total=False):
    """Shows a short text under a key."""
    statusText: str
    """Absent to remove the text of this key."""

class _SetWidgetExtensionUiRequestRecord(TypedDict):
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["setWidget"]
    widgetKey: str


class SetWidgetExtensionUiRequestRecord(_SetWidgetExtensionUiRequestRecord, total=False):
    """Shows lines of text under a key."""
    widgetLines: List[str]
    """Absent to remove the lines of this key."""
    widgetPlacement: "WidgetPlacement"
    """Where to show them."""
    takesKeys: bool
    """`true` for a component: the client passes keys on with `widget_input`. Only for clients that
    declared `render`.
    """

class SetTitleExtensionUiRequestRecord(TypedDict):
    """Sets the title of the window."""
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["setTitle"]
    title: str

class SetEditorTextExtensionUiRequestRecord(TypedDict):
    """Replaces what the user is typing."""
    type: Literal["extension_ui_request"]
    id: str
    method: Literal["set_editor_text"]
    text: str

class TextContent(TypedDict):
    """Text."""
    type: Literal["text"]
    text: str

class ImageContent(TypedDict):
    """An image as base64, without a `data:` prefix."""
    type: Literal["image"]
    data: str
    mimeType: str

class DeltaStep(TypedDict):
    """More of a block."""
    type: Literal["text_delta", "thinking_delta", "toolcall_delta"]
    contentIndex: int
    """The index of the block in the message."""
    delta: str
    """The text to append to the block; for a tool call, to the text of its arguments."""

class TextStartStep(TypedDict):
    """A text block starts."""
    type: Literal["text_start"]
    contentIndex: int

class TextEndStep(TypedDict):
    """A text block is complete."""
    type: Literal["text_end"]
    contentIndex: int
    content: str

class ThinkingStartStep(TypedDict):
    """A thinking block starts."""
    type: Literal["thinking_start"]
    contentIndex: int

class ThinkingEndStep(TypedDict):
    """A thinking block is complete."""
    type: Literal["thinking_end"]
    contentIndex: int
    content: str

class ToolcallStartStep(TypedDict):
    """A tool call starts."""
    type: Literal["toolcall_start"]
    contentIndex: int
    id: str
    toolName: str

class ToolcallEndStep(TypedDict):
    """A tool call is complete. The tool runs later."""
    type: Literal["toolcall_end"]
    contentIndex: int
    toolCall: "ToolCallBlock"

Command = Union[
    PromptCommand,
    SteerCommand,
    FollowUpCommand,
    AbortCommand,
    ClearQueueCommand,
    GetStateCommand,
    GetMessagesCommand,
    GetCommandsCommand,
    GetCompletionsCommand,
    GetProtocolInfoCommand,
    GetSandboxCommand,
    SetSandboxCommand,
    SetModelCommand,
    CycleModelCommand,
    GetAvailableModelsCommand,
    GetLoginProvidersCommand,
    LoginCommand,
    SetThinkingLevelCommand,
    CycleThinkingLevelCommand,
    GetAvailableThinkingLevelsCommand,
    SetSteeringModeCommand,
    SetFollowUpModeCommand,
    CompactCommand,
    SetAutoCompactionCommand,
    SetAutoRetryCommand,
    AbortRetryCommand,
    BashCommand,
    AbortBashCommand,
    NewSessionCommand,
    SwitchSessionCommand,
    ForkCommand,
    CloneCommand,
    GetForkMessagesCommand,
    GetEntriesCommand,
    GetTreeCommand,
    NavigateTreeCommand,
    SetLabelCommand,
    ListSessionsCommand,
    DeleteSessionCommand,
    GetSessionStatsCommand,
    ExportHtmlCommand,
    GetLastAssistantTextCommand,
    SetSessionNameCommand,
    GetLimitsCommand,
    SetLimitsCommand,
    SetSubagentSubscriptionCommand,
    GetSubagentsCommand,
    GetSubagentMessagesCommand,
    GetChangesCommand,
    UndoCommand,
    RedoCommand,
    GetPendingChangesCommand,
    AcceptChangesCommand,
    DiscardChangesCommand,
    SetHostToolsCommand,
    SetHostUriSchemesCommand,
    SetApprovalsCommand,
    SetClientCapabilitiesCommand,
    WidgetInputCommand,
    ApprovalResponseCommand,
]
"""Every command that a client may send."""

ClientAnswer = Union[
    ExtensionUiResponseAnswer,
    HostToolResultAnswer,
    HostToolUpdateAnswer,
    HostUriResultAnswer,
]
"""Every line that answers a record of the agent. There is no response to it."""

ExtensionUiRequestRecord = Union[
    SelectExtensionUiRequestRecord,
    ConfirmExtensionUiRequestRecord,
    InputExtensionUiRequestRecord,
    EditorExtensionUiRequestRecord,
    NotifyExtensionUiRequestRecord,
    SetStatusExtensionUiRequestRecord,
    SetWidgetExtensionUiRequestRecord,
    SetTitleExtensionUiRequestRecord,
    SetEditorTextExtensionUiRequestRecord,
]
"""An extension asks or shows something, as `method` says. Dialogs wait for an `extension_ui_response` with
their id.
"""

Event = Union[
    AgentStartRecord,
    TurnStartRecord,
    TurnEndRecord,
    MessageStartRecord,
    MessageEndRecord,
    ToolExecutionStartRecord,
    ToolExecutionUpdateRecord,
    ToolExecutionEndRecord,
    AutoRetryStartRecord,
    TtsrTriggeredRecord,
    TodoReminderRecord,
    LimitWarningRecord,
    RunChangesRecord,
    FilesRestoredRecord,
    PendingChangesRecord,
    AutoRetryEndRecord,
    ExtensionErrorRecord,
    ProtectedPathChangedRecord,
    AgentEndRecord,
    AgentSettledRecord,
    OutputCheckedRecord,
    MessageUpdateRecord,
    QueueUpdateRecord,
    CompactionStartRecord,
    CompactionEndRecord,
    SummarizationRetryScheduledRecord,
    SummarizationRetryAttemptStartRecord,
    SummarizationRetryFinishedRecord,
    EntryAppendedRecord,
    ThinkingLevelChangedRecord,
    SessionInfoChangedRecord,
    BashExecutionUpdateRecord,
    ExtensionUiRequestRecord,
    HostToolCallRecord,
    HostToolCancelRecord,
    HostUriRequestRecord,
    HostUriCancelRecord,
    SubagentLifecycleRecord,
    SubagentProgressRecord,
    SubagentEventRecord,
    ApprovalRequestRecord,
    ApprovalResolvedRecord,
    ErrorRecord,
]
"""Every record that is not a response."""

Message = Union[
    UserMessage,
    AssistantMessage,
    ToolResultMessage,
    BashExecutionMessage,
    CustomMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
]
"""A message of a conversation."""

Content = Union[TextContent, ImageContent]
"""A block of a user message or a tool result."""

AssistantContent = Union[TextBlock, ThinkingBlock, ToolCall]
"""A block of a model response."""

CustomContent = Union[str, List[Content]]
"""Text, or blocks of text and images."""

FileLine = Union[SessionHeader, Entry]
"""A line of a session file: its header or an entry."""

Step = Union[
    DeltaStep,
    TextStartStep,
    TextEndStep,
    ThinkingStartStep,
    ThinkingEndStep,
    ToolcallStartStep,
    ToolcallEndStep,
]
"""What is new in a model response."""

COMMANDS = (
    "prompt",
    "steer",
    "follow_up",
    "abort",
    "clear_queue",
    "get_state",
    "get_messages",
    "get_commands",
    "get_completions",
    "get_protocol_info",
    "get_sandbox",
    "set_sandbox",
    "set_model",
    "cycle_model",
    "get_available_models",
    "get_login_providers",
    "login",
    "set_thinking_level",
    "cycle_thinking_level",
    "get_available_thinking_levels",
    "set_steering_mode",
    "set_follow_up_mode",
    "compact",
    "set_auto_compaction",
    "set_auto_retry",
    "abort_retry",
    "bash",
    "abort_bash",
    "new_session",
    "switch_session",
    "fork",
    "clone",
    "get_fork_messages",
    "get_entries",
    "get_tree",
    "navigate_tree",
    "set_label",
    "list_sessions",
    "delete_session",
    "get_session_stats",
    "export_html",
    "get_last_assistant_text",
    "set_session_name",
    "get_limits",
    "set_limits",
    "set_subagent_subscription",
    "get_subagents",
    "get_subagent_messages",
    "get_changes",
    "undo",
    "redo",
    "get_pending_changes",
    "accept_changes",
    "discard_changes",
    "set_host_tools",
    "set_host_uri_schemes",
    "set_approvals",
    "set_client_capabilities",
    "widget_input",
    "approval_response",
)
"""The commands."""

EVENTS = (
    "agent_start",
    "turn_start",
    "turn_end",
    "message_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "auto_retry_start",
    "ttsr_triggered",
    "todo_reminder",
    "limit_warning",
    "run_changes",
    "files_restored",
    "pending_changes",
    "auto_retry_end",
    "extension_error",
    "protected_path_changed",
    "agent_end",
    "agent_settled",
    "output_checked",
    "message_update",
    "queue_update",
    "compaction_start",
    "compaction_end",
    "summarization_retry_scheduled",
    "summarization_retry_attempt_start",
    "summarization_retry_finished",
    "entry_appended",
    "thinking_level_changed",
    "session_info_changed",
    "bash_execution_update",
    "extension_ui_request",
    "host_tool_call",
    "host_tool_cancel",
    "host_uri_request",
    "host_uri_cancel",
    "subagent_lifecycle",
    "subagent_progress",
    "subagent_event",
    "approval_request",
    "approval_resolved",
    "error",
)
"""The events."""
