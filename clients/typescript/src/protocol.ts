/**
 * The records of the dialect pi and what they consist of, as they are on the wire.
 *
 * Generated from schema/pi.json: python3 clients/generator typescript
 */

/** Every command that a client may send. */
export type Command = 
  | PromptCommand
  | SteerCommand
  | FollowUpCommand
  | AbortCommand
  | ClearQueueCommand
  | GetStateCommand
  | GetMessagesCommand
  | GetCommandsCommand
  | GetCompletionsCommand
  | GetProtocolInfoCommand
  | GetSandboxCommand
  | SetSandboxCommand
  | SetModelCommand
  | CycleModelCommand
  | GetAvailableModelsCommand
  | GetLoginProvidersCommand
  | LoginCommand
  | SetThinkingLevelCommand
  | CycleThinkingLevelCommand
  | GetAvailableThinkingLevelsCommand
  | SetSteeringModeCommand
  | SetFollowUpModeCommand
  | CompactCommand
  | SetAutoCompactionCommand
  | SetAutoRetryCommand
  | AbortRetryCommand
  | BashCommand
  | AbortBashCommand
  | NewSessionCommand
  | SwitchSessionCommand
  | ForkCommand
  | CloneCommand
  | GetForkMessagesCommand
  | GetEntriesCommand
  | GetTreeCommand
  | NavigateTreeCommand
  | SetLabelCommand
  | ListSessionsCommand
  | DeleteSessionCommand
  | GetSessionStatsCommand
  | ExportHtmlCommand
  | GetLastAssistantTextCommand
  | SetSessionNameCommand
  | GetLimitsCommand
  | SetLimitsCommand
  | SetSubagentSubscriptionCommand
  | GetSubagentsCommand
  | GetSubagentMessagesCommand
  | GetChangesCommand
  | UndoCommand
  | RedoCommand
  | GetPendingChangesCommand
  | AcceptChangesCommand
  | DiscardChangesCommand
  | SetHostToolsCommand
  | SetHostUriSchemesCommand
  | SetApprovalsCommand
  | SetClientCapabilitiesCommand
  | WidgetInputCommand
  | ApprovalResponseCommand;

/** Every line that answers a record of the agent. There is no response to it. */
export type ClientAnswer = 
  | ExtensionUiResponseAnswer
  | HostToolResultAnswer
  | HostToolUpdateAnswer
  | HostUriResultAnswer;

/** Every line that the agent may send. */
export type Output = Response | Event;

/** The response to a command. */
export type Response = 
  | PromptResponse
  | SteerResponse
  | FollowUpResponse
  | AbortResponse
  | ClearQueueResponse
  | GetStateResponse
  | GetMessagesResponse
  | GetCommandsResponse
  | GetCompletionsResponse
  | GetProtocolInfoResponse
  | GetSandboxResponse
  | SetSandboxResponse
  | SetModelResponse
  | CycleModelResponse
  | GetAvailableModelsResponse
  | GetLoginProvidersResponse
  | LoginResponse
  | SetThinkingLevelResponse
  | CycleThinkingLevelResponse
  | GetAvailableThinkingLevelsResponse
  | SetSteeringModeResponse
  | SetFollowUpModeResponse
  | CompactResponse
  | SetAutoCompactionResponse
  | SetAutoRetryResponse
  | AbortRetryResponse
  | BashResponse
  | AbortBashResponse
  | NewSessionResponse
  | SwitchSessionResponse
  | ForkResponse
  | CloneResponse
  | GetForkMessagesResponse
  | GetEntriesResponse
  | GetTreeResponse
  | NavigateTreeResponse
  | SetLabelResponse
  | ListSessionsResponse
  | DeleteSessionResponse
  | GetSessionStatsResponse
  | ExportHtmlResponse
  | GetLastAssistantTextResponse
  | SetSessionNameResponse
  | GetLimitsResponse
  | SetLimitsResponse
  | SetSubagentSubscriptionResponse
  | GetSubagentsResponse
  | GetSubagentMessagesResponse
  | GetChangesResponse
  | UndoResponse
  | RedoResponse
  | GetPendingChangesResponse
  | AcceptChangesResponse
  | DiscardChangesResponse
  | SetHostToolsResponse
  | SetHostUriSchemesResponse
  | SetApprovalsResponse
  | SetClientCapabilitiesResponse
  | WidgetInputResponse
  | ApprovalResponseResponse
  | FailureResponse;

/** Every record that is not a response. */
export type Event = 
  | AgentStartRecord
  | TurnStartRecord
  | TurnEndRecord
  | MessageStartRecord
  | MessageEndRecord
  | ToolExecutionStartRecord
  | ToolExecutionUpdateRecord
  | ToolExecutionEndRecord
  | AutoRetryStartRecord
  | TtsrTriggeredRecord
  | TodoReminderRecord
  | LimitWarningRecord
  | RunChangesRecord
  | FilesRestoredRecord
  | PendingChangesRecord
  | AutoRetryEndRecord
  | ExtensionErrorRecord
  | ProtectedPathChangedRecord
  | AgentEndRecord
  | AgentSettledRecord
  | OutputCheckedRecord
  | MessageUpdateRecord
  | QueueUpdateRecord
  | CompactionStartRecord
  | CompactionEndRecord
  | SummarizationRetryScheduledRecord
  | SummarizationRetryAttemptStartRecord
  | SummarizationRetryFinishedRecord
  | EntryAppendedRecord
  | ThinkingLevelChangedRecord
  | SessionInfoChangedRecord
  | BashExecutionUpdateRecord
  | ExtensionUiRequestRecord
  | HostToolCallRecord
  | HostToolCancelRecord
  | HostUriRequestRecord
  | HostUriCancelRecord
  | SubagentLifecycleRecord
  | SubagentProgressRecord
  | SubagentEventRecord
  | ApprovalRequestRecord
  | ApprovalResolvedRecord
  | ErrorRecord;

/** Starts a run with a user message. The message is in the session file before the response is sent. */
export interface PromptCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "prompt";
  /** The text of the user message. */
  message: string;
  /** The images of the user message. */
  images?: ImageInput[] | null | undefined;
  /** Images, which the model sees, and documents, whose text it reads. They are kept on the message. */
  attachments?: AttachmentInput[] | null | undefined;
  /** The queue for the message if a run is in progress; without it, the prompt is refused in that case. */
  streamingBehavior?: StreamingBehavior | null | undefined;
  /**
   * A JSON Schema. The run ends with a JSON value that satisfies it, or fails with the error kind `invalid_output`.
   */
  outputSchema?: Record<string, unknown> | null | undefined;
  /** How often the model is asked again if its output is wrong (default: 2); only with `outputSchema`. */
  outputRetries?: number | null | undefined;
}

export interface ImageInput {
  type?: "image" | undefined;
  /** The image in base64, or as a `data:` URL. */
  data: string;
  /** The media type, such as `image/png`. */
  mimeType: string;
}

export interface AttachmentInput {
  /** Returned on the message. */
  id?: string | null | undefined;
  type: "image" | "document";
  /** The name of a document. */
  fileName?: string | null | undefined;
  /** The media type, such as `image/png`. For a document, it decides whether the content is text. */
  mimeType?: string | null | undefined;
  /** Returned on the message. */
  preview?: string | null | undefined;
  /** Returned on the message. */
  size?: number | null | undefined;
  /** The image or the document, in base64. */
  content?: string | null | undefined;
  /** The text of a document; takes precedence over `content`. */
  extractedText?: string | null | undefined;
}

export type StreamingBehavior = "steer" | "followUp";

/** Queues a message that the run takes up after the tool calls of the current turn. */
export interface SteerCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "steer";
  /** The text of the user message. */
  message: string;
  /** The images of the user message. */
  images?: ImageInput[] | null | undefined;
  /** Images, which the model sees, and documents, whose text it reads. They are kept on the message. */
  attachments?: AttachmentInput[] | null | undefined;
}

/** Queues a message that the run takes up when it would otherwise end. */
export interface FollowUpCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "follow_up";
  /** The text of the user message. */
  message: string;
  /** The images of the user message. */
  images?: ImageInput[] | null | undefined;
  /** Images, which the model sees, and documents, whose text it reads. They are kept on the message. */
  attachments?: AttachmentInput[] | null | undefined;
}

/** Aborts the run: cancels the model request, kills running tools and gives up a pending retry. */
export interface AbortCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "abort";
}

/** Removes all messages from both queues. */
export interface ClearQueueCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "clear_queue";
}

/** Returns the state of the agent. */
export interface GetStateCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_state";
}

/** Returns the messages in the context. */
export interface GetMessagesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_messages";
}

/** Returns the commands that a prompt can invoke with a leading slash. */
export interface GetCommandsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_commands";
}

/**
 * Returns what can follow the name of a slash command of an extension. Only commands with `hasCompletion` have any; for
 * others, and if the extension does not answer within a second, the list is empty.
 */
export interface GetCompletionsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_completions";
  /** The name of the command. */
  command: string;
  /** What the user has typed after the name so far. */
  prefix?: string | null | undefined;
}

/** Returns what this protocol supports, for clients that work with several versions or dialects. */
export interface GetProtocolInfoCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_protocol_info";
}

/**
 * Returns what the tools may do, what of it was tried in the sandbox of this session, and what is not enforced. The
 * sandbox is made first, if there is to be one and no tool has needed it yet. Fails with `sandbox_unavailable` if it
 * cannot be made; then no tool runs either.
 */
export interface GetSandboxCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_sandbox";
  /** Also returns the last connections through the proxy: host, port, bytes and decision. */
  connections?: boolean | null | undefined;
}

/**
 * Changes what the tools may do, from the next call on; calls in progress go on as they began. Fails with `forbidden`
 * if that is less strict than it is now, unless bowline was started with `--client-may-widen`, and with
 * `invalid_argument` if a network other than `full` is asked for without a mode that confines.
 */
export interface SetSandboxCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_sandbox";
  /** What tools may do to the machine; without it, as before. */
  mode?: SandboxMode | null | undefined;
  /** What they reach of the network; without it, as before. */
  network?: SandboxNetwork | null | undefined;
}

/** Sets the model, effective from the next request. */
export interface SetModelCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_model";
  /** The exact name of the provider. */
  provider: string;
  /** The exact id of the model. */
  modelId: string;
}

/** Switches to the next available model. `data` is `null` if there is no other. */
export interface CycleModelCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "cycle_model";
}

/** Returns the available models. */
export interface GetAvailableModelsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_available_models";
}

/** Returns the providers that a user may log in to, and whether there is a key for each. */
export interface GetLoginProvidersCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_login_providers";
}

/**
 * Logs the user in to a provider. If an extension carries out its logins, the extension shows and asks what it needs;
 * otherwise the user is asked for the API key with an `input`, after they were shown the page where keys are made, if
 * that is known. What comes of it is stored in `auth.json` and used from the next request on. Fails with `cancelled` if
 * the user enters nothing, on `abort` and when the session changes. Other commands are carried out meanwhile.
 */
export interface LoginCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "login";
  /** The `id` of a provider. */
  providerId: string;
}

/** Sets the thinking level, effective from the next request. */
export interface SetThinkingLevelCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_thinking_level";
  /** The level. If the model does not have it, the next higher one is used, or else the highest it has. */
  level: ThinkingLevel;
}

/** Switches to the model's next thinking level. `data` is `null` if the model has only one. */
export interface CycleThinkingLevelCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "cycle_thinking_level";
}

/** Returns the thinking levels of the current model. */
export interface GetAvailableThinkingLevelsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_available_thinking_levels";
}

/** Sets how many messages are taken from the steering queue at a time. */
export interface SetSteeringModeCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_steering_mode";
  /** One message, or all queued messages. */
  mode: QueueMode;
}

export type QueueMode = "all" | "one-at-a-time";

/** Sets how many messages are taken from the follow-up queue at a time. */
export interface SetFollowUpModeCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_follow_up_mode";
  /** One message, or all queued messages. */
  mode: QueueMode;
}

/** Replaces all but the newest messages with a summary. A run in progress is aborted first. */
export interface CompactCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "compact";
  /** What the summary should focus on. */
  customInstructions?: string | null | undefined;
}

/** Enables or disables automatic compaction when the context window is nearly full. */
export interface SetAutoCompactionCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_auto_compaction";
  /** Applies until the process ends. */
  enabled: boolean;
}

/** Enables or disables automatic retries after transient errors. */
export interface SetAutoRetryCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_auto_retry";
  /** Applies until the process ends. */
  enabled: boolean;
}

/** Gives up a pending retry and ends the run. Otherwise it does nothing. */
export interface AbortRetryCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "abort_retry";
}

/** Runs a shell command, concurrently with a run. The response is sent when the command has finished. */
export interface BashCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "bash";
  /** The shell command. */
  command: string;
  /** Keeps the command and its output out of the context. */
  excludeFromContext?: boolean | null | undefined;
}

/** Kills all commands started with `bash`, including their descendant processes. */
export interface AbortBashCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "abort_bash";
}

/** Starts an empty session. A run in progress is aborted first. */
export interface NewSessionCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "new_session";
  /** The session file that the new session records as its parent. */
  parentSession?: string | null | undefined;
}

/** Opens another session. A run in progress is aborted first. */
export interface SwitchSessionCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "switch_session";
  /** The session file. */
  sessionPath: string;
}

/** Starts a session with the conversation before an earlier user message. A run in progress is aborted first. */
export interface ForkCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "fork";
  /** The entry of the message, one of `get_fork_messages`. */
  entryId: string;
}

/** Starts a session with a copy of the whole conversation. A run in progress is aborted first. */
export interface CloneCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "clone";
}

/** Returns the user messages that the session can be forked at. */
export interface GetForkMessagesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_fork_messages";
}

/** Returns the entries of the session file. */
export interface GetEntriesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_entries";
  /** An entry id; only the entries after it in the file are returned. */
  since?: string | null | undefined;
}

/** Returns the entries of the session file as a tree. */
export interface GetTreeCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_tree";
  /**
   * `nested`, the default, for nodes within nodes; `flat` for a list, which has the same depth however long the session
   * is.
   */
  format?: TreeFormat | null | undefined;
}

export type TreeFormat = "nested" | "flat";

/** Continues from another entry of the session. A run in progress is aborted first. */
export interface NavigateTreeCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "navigate_tree";
  /** The entry. For a user message, the conversation continues before it, so that it can be edited. */
  entryId: string;
  /** Adds a summary of the abandoned branch. */
  summarize?: boolean | null | undefined;
  /** What the summary should focus on; only with `summarize`. */
  customInstructions?: string | null | undefined;
}

/** Sets or removes the label of an entry. */
export interface SetLabelCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_label";
  /** The entry. */
  entryId: string;
  /** The label; without it, the entry's label is removed. */
  label?: string | null | undefined;
}

/** Lists sessions, most recently modified first. */
export interface ListSessionsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "list_sessions";
  /** `project` lists the sessions of the working directory (the default), `all` lists every session. */
  scope?: SessionScope | null | undefined;
  /** Text to find in the name, the id or the first message. */
  search?: string | null | undefined;
  /** The maximum number of sessions. */
  limit?: number | null | undefined;
  /** The `nextCursor` of an earlier response: continues after it. */
  cursor?: string | null | undefined;
}

export type SessionScope = "project" | "all";

/** Deletes a session that is not in use. */
export interface DeleteSessionCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "delete_session";
  /** The session file. */
  sessionPath: string;
}

/** Returns statistics of the session over all its branches. */
export interface GetSessionStatsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_session_stats";
}

/** Exports the session as an HTML page. */
export interface ExportHtmlCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "export_html";
  /** The output file; by default, a generated name in the working directory. */
  outputPath?: string | null | undefined;
}

/** Returns the text of the newest model response that has any. */
export interface GetLastAssistantTextCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_last_assistant_text";
}

/** Sets the name of the session. */
export interface SetSessionNameCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_session_name";
  /** The name that session lists show. It is trimmed and must not be empty. */
  name: string;
}

/** Returns what runs and the session may spend, and what they have spent. */
export interface GetLimitsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_limits";
}

/**
 * Sets what runs and the session may spend, from now on, also for the run in progress. Limits that the user has set can
 * only be made stricter unless bowline was started with `--client-may-widen`; else it fails with `forbidden`. All of
 * the limits are set, or none if one is refused.
 */
export interface SetLimitsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_limits";
  /** The limits of each run. What is absent stays; 0 means unlimited. */
  run?: LimitSettings | null | undefined;
  /** The limits of the session. What is absent stays; 0 means unlimited. */
  session?: LimitSettings | null | undefined;
}

export interface LimitSettings {
  /** US dollars. */
  cost?: number | undefined;
  tokens?: number | undefined;
  /** How often the model answers; in a run, for one message of the user. */
  turns?: number | undefined;
  toolCalls?: number | undefined;
  /** The time that runs take, without that in which the user is asked something. */
  seconds?: number | undefined;
}

/**
 * Sets which records about subagents are sent, also about those that are running. Without it there are none: the tool
 * `task` only reports its progress, as every tool does.
 */
export interface SetSubagentSubscriptionCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_subagent_subscription";
  /**
   * `progress` for `subagent_lifecycle` and `subagent_progress`, `events` for `subagent_event` too, `off` for none.
   */
  level: SubagentSubscriptionLevel;
}

export type SubagentSubscriptionLevel = "off" | "progress" | "events";

/** Returns the subagents that are running, subagents of subagents among them. */
export interface GetSubagentsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_subagents";
}

/**
 * Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It works while the
 * subagent is running and for the last 256 that have ended.
 */
export interface GetSubagentMessagesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_subagent_messages";
  /** The subagent. */
  subagentId?: string | null | undefined;
  /** Its session file, in place of the id. */
  sessionFile?: string | null | undefined;
  /** Where to begin: `nextByte` of the response before (default: 0). */
  fromByte?: number | null | undefined;
}

/** Returns what runs changed in files: those of the file tools `write` and `edit`, and those of commands. */
export interface GetChangesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_changes";
  /** Only this run. */
  run?: number | null | undefined;
  /** Only runs that changed files after this entry. */
  entryId?: string | null | undefined;
  /** Adds a unified diff of each run. */
  diff?: boolean | null | undefined;
}

/**
 * Restores files that runs changed; without `run` and `to`, those of the last run that is not undone. A file that has
 * changed since is a conflict and left alone; new files are moved away. The conversation stays. Refused during a run.
 */
export interface UndoCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "undo";
  /** Only this run, whatever followed it. */
  run?: number | null | undefined;
  /** How far back: everything from this run or turn on, or everything after this entry. */
  to?: UndoTarget | null | undefined;
  /** Only returns what would be done. */
  dryRun?: boolean | null | undefined;
}

export interface UndoTarget {
  /** Everything from this run on. */
  run?: number | undefined;
  /** With `run`: everything from this turn of it on. */
  turn?: number | undefined;
  /** Everything after this entry of the session. */
  entryId?: string | undefined;
}

/** Changes files again that the last `undo` restored, with the same checks. Refused during a run. */
export interface RedoCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "redo";
  /** Only returns what would be done. */
  dryRun?: boolean | null | undefined;
}

/** Returns what the session changed and nobody has accepted, if bowline was started with `--workspace overlay`. */
export interface GetPendingChangesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "get_pending_changes";
  /** Only these paths, relative to the working directory, and what is below them. */
  paths?: string[] | null | undefined;
  /** Adds a unified diff against the real workspace. */
  diff?: boolean | null | undefined;
}

/**
 * Applies pending changes to the real workspace. A path that has changed there since is a conflict; it, and what is
 * protected or not supported, is left alone and stays pending. Refused with `busy` during a run, and while processes
 * that tools started are running.
 */
export interface AcceptChangesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "accept_changes";
  /** Only these paths, relative to the working directory, and what is below them. */
  paths?: string[] | null | undefined;
  /** Ends processes that tools left running. */
  force?: boolean | null | undefined;
}

/**
 * Throws pending changes away. The model is told. Refused with `busy` during a run, and while processes that tools
 * started are running.
 */
export interface DiscardChangesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "discard_changes";
  /** Only these paths, relative to the working directory, and what is below them. */
  paths?: string[] | null | undefined;
  /** Ends processes that tools left running. */
  force?: boolean | null | undefined;
}

/**
 * Replaces the tools that the client supplies. The model can call them from its next turn on, in this session and in
 * those that follow it. Each call is a `host_tool_call`.
 */
export interface SetHostToolsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_host_tools";
  /** The tools; none removes all. */
  tools: HostTool[];
}

export interface HostTool {
  /** The name that the model calls: up to 128 letters, digits, `_`, `-` and `.`. */
  name: string;
  /** What the tool does and when to use it, for the model. */
  description: string;
  /** The arguments, as JSON Schema. */
  parameters: Record<string, unknown>;
  /** A title for people. Nothing shows it here. */
  label?: string | null | undefined;
  /** Whether the model is told of the tool only if an extension enables it. */
  hidden?: boolean | null | undefined;
}

/**
 * Replaces the schemes of the addresses that the client serves. When the model reads or writes `scheme://…`, the client
 * is sent a `host_uri_request`.
 */
export interface SetHostUriSchemesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_host_uri_schemes";
  /** The schemes; none removes all. */
  schemes: HostUriScheme[];
}

export interface HostUriScheme {
  /** What precedes `://`: a letter, then letters, digits, `+`, `.` and `-`. */
  scheme: string;
  /** What is found there, for the model. */
  description?: string | null | undefined;
  /** Whether the model may write there. */
  writable?: boolean | null | undefined;
}

/**
 * Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than it is now, unless
 * bowline was started with `--client-may-widen`.
 */
export interface SetApprovalsCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_approvals";
  /**
   * `never`: what would have to be asked about is refused. `on-request`: when a rule says so, and when a call wants
   * more than the sandbox allows. `untrusted`: also about every call that may change something, unless a rule allows
   * it.
   */
  ask: AskMode;
}

/** Says what the client can do. What is absent stays as it is. */
export interface SetClientCapabilitiesCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "set_client_capabilities";
  /** How the client wants to be asked about tool calls: with a dialog (the default), or with `approval_request`. */
  approvals?: ApprovalStyle | null | undefined;
  /** Whether the client gets a `run_changes` record for each run that changed files. */
  changes?: boolean | null | undefined;
  /**
   * Whether the client shows components of pi's extensions: as `setWidget` with `takesKeys`, whose keys it passes on
   * with `widget_input`. Sent again when the size changes.
   */
  render?: boolean | null | undefined;
  /** The width for components in characters, by default 80. */
  columns?: number | null | undefined;
  /** The height for components in lines, by default 24. */
  rows?: number | null | undefined;
}

export type ApprovalStyle = "dialog" | "record";

/** Passes on what the user does with a component of an extension. */
export interface WidgetInputCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "widget_input";
  /** The `widgetKey` of the component. */
  widgetKey: string;
  /** Keys as a terminal sends them, such as `\u001b[A` for the arrow up. */
  data?: string | null | undefined;
  /** `true` if the user closes the component; `data` is ignored then. */
  close?: boolean | null | undefined;
}

/**
 * Answers an `approval_request`. It overtakes every other command. Fails if the approval is not open, and if the
 * decision is none of the options, in which case the call is denied.
 */
export interface ApprovalResponseCommand {
  /** Returned in the response, unchanged. */
  id?: string | number | undefined;
  type: "approval_response";
  /** The id of the request. */
  approvalId: string;
  /** One of the `options` of the request. Whatever else is sent, also nothing, is a no. */
  decision?: string | null | undefined;
  /** What the model reads if the call is denied. */
  message?: string | null | undefined;
}

/**
 * Answers a dialog: `select`, `input` and `editor` with `value`, `confirm` with `confirmed`. Any other answer, like
 * `cancelled`, means that the user gave none. An answer to a request that is unknown or no longer open is ignored.
 */
export interface ExtensionUiResponseAnswer {
  type: "extension_ui_response";
  /** The id of the request. */
  id: string;
  /** The text, or the chosen option. One that was not offered is passed on. */
  value?: string | null | undefined;
  /** Whether the user agreed. */
  confirmed?: boolean | null | undefined;
  /** `true` if the user closed the dialog; other fields are ignored then. */
  cancelled?: boolean | null | undefined;
  /** Whether it was closed because its time was up. Only with `cancelled`. */
  timedOut?: boolean | null | undefined;
}

/** Ends a call of one of the client's tools. One for a call that is unknown or over is ignored. */
export interface HostToolResultAnswer {
  type: "host_tool_result";
  /** The id of the `host_tool_call`. */
  id: string;
  /** The output of the tool. */
  result: HostToolOutput;
  /** Whether the call failed. */
  isError?: boolean | null | undefined;
}

export interface HostToolOutput {
  /** The output for the model. */
  content: HostToolContent[];
  /** Details for clients that the model does not see. */
  details?: unknown | undefined;
}

export interface HostToolContent {
  type: "text" | "image";
  /** Of a text. */
  text?: string | undefined;
  /** Of an image: it, in base64. */
  data?: string | undefined;
  /** Of an image: the media type, such as `image/png`. */
  mimeType?: string | undefined;
}

/**
 * Reports the output of a running tool so far. It replaces that of earlier updates, and the time limit of the call
 * starts again.
 */
export interface HostToolUpdateAnswer {
  type: "host_tool_update";
  /** The id of the `host_tool_call`. */
  id: string;
  /** The output so far. */
  partialResult: HostToolOutput;
}

/** Answers a `host_uri_request`. One for a request that is unknown or over is ignored. */
export interface HostUriResultAnswer {
  type: "host_uri_result";
  /** The id of the `host_uri_request`. */
  id: string;
  /** What was read, or how writing went. */
  content?: string | null | undefined;
  /** Remarks for the model. */
  notes?: string[] | null | undefined;
  /** Whether the request failed. */
  isError?: boolean | null | undefined;
  /** Why it failed. */
  error?: string | null | undefined;
}

/** The success response to `prompt`. */
export interface PromptResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "prompt";
  success: true;
  data: Accepted;
}

/** The success response to `steer`. */
export interface SteerResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "steer";
  success: true;
  data: Accepted;
}

/** The success response to `follow_up`. */
export interface FollowUpResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "follow_up";
  success: true;
  data: Accepted;
}

/** The success response to `abort`. */
export interface AbortResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "abort";
  success: true;
}

/** The success response to `clear_queue`. */
export interface ClearQueueResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "clear_queue";
  success: true;
  data: Queues;
}

/** The success response to `get_state`. */
export interface GetStateResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_state";
  success: true;
  data: State;
}

/** The success response to `get_messages`. */
export interface GetMessagesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_messages";
  success: true;
  data: Messages;
}

/** The success response to `get_commands`. */
export interface GetCommandsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_commands";
  success: true;
  data: SlashCommands;
}

/** The success response to `get_completions`. */
export interface GetCompletionsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_completions";
  success: true;
  data: Completions;
}

/** The success response to `get_protocol_info`. */
export interface GetProtocolInfoResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_protocol_info";
  success: true;
  data: ProtocolInfo;
}

/** The success response to `get_sandbox`. */
export interface GetSandboxResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_sandbox";
  success: true;
  data: SandboxReport;
}

/** The success response to `set_sandbox`. */
export interface SetSandboxResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_sandbox";
  success: true;
  data: SandboxSummary;
}

/** The success response to `set_model`. */
export interface SetModelResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_model";
  success: true;
  data: Model;
}

/** The success response to `cycle_model`. */
export interface CycleModelResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "cycle_model";
  success: true;
  data: CycledModel | null;
}

/** The success response to `get_available_models`. */
export interface GetAvailableModelsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_available_models";
  success: true;
  data: Models;
}

/** The success response to `get_login_providers`. */
export interface GetLoginProvidersResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_login_providers";
  success: true;
  data: LoginProviders;
}

/** The success response to `login`. */
export interface LoginResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "login";
  success: true;
  data: LoggedIn;
}

/** The success response to `set_thinking_level`. */
export interface SetThinkingLevelResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_thinking_level";
  success: true;
}

/** The success response to `cycle_thinking_level`. */
export interface CycleThinkingLevelResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "cycle_thinking_level";
  success: true;
  data: Level | null;
}

/** The success response to `get_available_thinking_levels`. */
export interface GetAvailableThinkingLevelsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_available_thinking_levels";
  success: true;
  data: Levels;
}

/** The success response to `set_steering_mode`. */
export interface SetSteeringModeResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_steering_mode";
  success: true;
}

/** The success response to `set_follow_up_mode`. */
export interface SetFollowUpModeResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_follow_up_mode";
  success: true;
}

/** The success response to `compact`. */
export interface CompactResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "compact";
  success: true;
  data: Compaction;
}

/** The success response to `set_auto_compaction`. */
export interface SetAutoCompactionResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_auto_compaction";
  success: true;
}

/** The success response to `set_auto_retry`. */
export interface SetAutoRetryResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_auto_retry";
  success: true;
}

/** The success response to `abort_retry`. */
export interface AbortRetryResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "abort_retry";
  success: true;
}

/** The success response to `bash`. */
export interface BashResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "bash";
  success: true;
  data: ShellResult;
}

/** The success response to `abort_bash`. */
export interface AbortBashResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "abort_bash";
  success: true;
}

/** The success response to `new_session`. */
export interface NewSessionResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "new_session";
  success: true;
  data: Switched;
}

/** The success response to `switch_session`. */
export interface SwitchSessionResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "switch_session";
  success: true;
  data: Switched;
}

/** The success response to `fork`. */
export interface ForkResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "fork";
  success: true;
  data: Forked;
}

/** The success response to `clone`. */
export interface CloneResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "clone";
  success: true;
  data: Switched;
}

/** The success response to `get_fork_messages`. */
export interface GetForkMessagesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_fork_messages";
  success: true;
  data: ForkMessages;
}

/** The success response to `get_entries`. */
export interface GetEntriesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_entries";
  success: true;
  data: Entries;
}

/** The success response to `get_tree`. */
export interface GetTreeResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_tree";
  success: true;
  data: Tree;
}

/** The success response to `navigate_tree`. */
export interface NavigateTreeResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "navigate_tree";
  success: true;
  data: Navigated;
}

/** The success response to `set_label`. */
export interface SetLabelResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_label";
  success: true;
  data: Written;
}

/** The success response to `list_sessions`. */
export interface ListSessionsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "list_sessions";
  success: true;
  data: Sessions;
}

/** The success response to `delete_session`. */
export interface DeleteSessionResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "delete_session";
  success: true;
}

/** The success response to `get_session_stats`. */
export interface GetSessionStatsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_session_stats";
  success: true;
  data: SessionStatistics;
}

/** The success response to `export_html`. */
export interface ExportHtmlResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "export_html";
  success: true;
  data: Exported;
}

/** The success response to `get_last_assistant_text`. */
export interface GetLastAssistantTextResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_last_assistant_text";
  success: true;
  data: LastText;
}

/** The success response to `set_session_name`. */
export interface SetSessionNameResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_session_name";
  success: true;
}

/** The success response to `get_limits`. */
export interface GetLimitsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_limits";
  success: true;
  data: LimitsReport;
}

/** The success response to `set_limits`. */
export interface SetLimitsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_limits";
  success: true;
  data: LimitsReport;
}

/** The success response to `set_subagent_subscription`. */
export interface SetSubagentSubscriptionResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_subagent_subscription";
  success: true;
  data: SubagentSubscription;
}

/** The success response to `get_subagents`. */
export interface GetSubagentsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_subagents";
  success: true;
  data: Subagents;
}

/** The success response to `get_subagent_messages`. */
export interface GetSubagentMessagesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_subagent_messages";
  success: true;
  data: SubagentMessages;
}

/** The success response to `get_changes`. */
export interface GetChangesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_changes";
  success: true;
  data: ChangesReport;
}

/** The success response to `undo`. */
export interface UndoResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "undo";
  success: true;
  data: RestoreReport;
}

/** The success response to `redo`. */
export interface RedoResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "redo";
  success: true;
  data: RestoreReport;
}

/** The success response to `get_pending_changes`. */
export interface GetPendingChangesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "get_pending_changes";
  success: true;
  data: PendingReport;
}

/** The success response to `accept_changes`. */
export interface AcceptChangesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "accept_changes";
  success: true;
  data: AcceptReport;
}

/** The success response to `discard_changes`. */
export interface DiscardChangesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "discard_changes";
  success: true;
  data: DiscardReport;
}

/** The success response to `set_host_tools`. */
export interface SetHostToolsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_host_tools";
  success: true;
  data: HostToolNames;
}

/** The success response to `set_host_uri_schemes`. */
export interface SetHostUriSchemesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_host_uri_schemes";
  success: true;
  data: UriSchemes;
}

/** The success response to `set_approvals`. */
export interface SetApprovalsResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_approvals";
  success: true;
}

/** The success response to `set_client_capabilities`. */
export interface SetClientCapabilitiesResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "set_client_capabilities";
  success: true;
}

/** The success response to `widget_input`. */
export interface WidgetInputResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "widget_input";
  success: true;
}

/** The success response to `approval_response`. */
export interface ApprovalResponseResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  command: "approval_response";
  success: true;
}

/** The response to a command that failed. */
export interface FailureResponse {
  /** The command's id, unchanged; absent if it had none. */
  id?: string | number;
  type: "response";
  /** The command's type; `parse` for an unreadable line, absent for a line without a type. */
  command?: string;
  success: false;
  /** The error, as a sentence for people. */
  error: string;
  /** A stable name of the error, for programs. */
  code: ErrorCode;
}

export type ErrorCode = 
  | "parse_error"
  | "unknown_command"
  | "unsupported"
  | "busy"
  | "compacting"
  | "nothing_to_do"
  | "cancelled"
  | "no_model"
  | "no_credentials"
  | "model_not_found"
  | "invalid_argument"
  | "session_unavailable"
  | "session_busy"
  | "stale_cursor"
  | "storage_failed"
  | "forbidden"
  | "sandbox_unavailable"
  | "model_failed"
  | "budget"
  | "shutting_down"
  | "internal"
  | (string & {});

/** A run starts, or an attempt after a retry, a compaction or a queued message. */
export interface AgentStartRecord {
  type: "agent_start";
}

/** A turn starts: one model response and the tool calls in it. */
export interface TurnStartRecord {
  type: "turn_start";
}

/** A turn ended. */
export interface TurnEndRecord {
  type: "turn_end";
  /** The model's response. */
  message: Message;
  /** The results of the tool calls, in the order of the calls. */
  toolResults: Message[];
}

/** A message starts. A model response is empty at this point, or has only its first block. */
export interface MessageStartRecord {
  type: "message_start";
  message: Message;
}

/** A message is complete and in the session file. */
export interface MessageEndRecord {
  type: "message_end";
  message: Message;
  /** The message's entry in the session file; absent if the session is in memory only. */
  entryId?: string;
}

/** A tool starts. */
export interface ToolExecutionStartRecord {
  type: "tool_execution_start";
  toolCallId: string;
  toolName: string;
  /** The arguments of the call. */
  args: Record<string, unknown>;
}

/** A running tool has new output. */
export interface ToolExecutionUpdateRecord {
  type: "tool_execution_update";
  toolCallId: string;
  toolName: string;
  /** The arguments of the call. */
  args: Record<string, unknown>;
  /** The output so far. It replaces that of earlier updates. */
  partialResult: ToolReport;
}

/** A tool finished. */
export interface ToolExecutionEndRecord {
  type: "tool_execution_end";
  toolCallId: string;
  toolName: string;
  result: ToolReport;
  isError: boolean;
  durationMs: number;
}

/** A request failed with a transient error and will be retried. */
export interface AutoRetryStartRecord {
  type: "auto_retry_start";
  /** The number of the retry, starting at 1. */
  attempt: number;
  maxAttempts: number;
  /** The delay before the retry. */
  delayMs: number;
  /** Why the request failed. */
  errorMessage: string;
}

/**
 * What the model writes breaks stream rules: the response is interrupted and requested again, or the result of the tool
 * call that breaks them mentions them.
 */
export interface TtsrTriggeredRecord {
  type: "ttsr_triggered";
  rules: StreamRule[];
}

/** The model stopped although tasks of its todo list are left. It is reminded of them and goes on. */
export interface TodoReminderRecord {
  type: "todo_reminder";
  /** The tasks that are left. */
  todos: TodoTask[];
  /** The number of the reminder since the user's prompt, starting at 1. */
  attempt: number;
  maxAttempts: number;
}

/**
 * A run has spent 80 % of a limit, or the session has; the run ends with the error kind `budget` when it would go on
 * beyond it. Emitted once per limit and run.
 */
export interface LimitWarningRecord {
  type: "limit_warning";
  scope: LimitScope;
  /** What is limited. */
  limit: Limited;
  /** What has been spent. */
  used: number;
  /** The limit. */
  max: number;
}

/**
 * What the run changed in files; before `agent_settled`, but after it if the run was aborted. Only for clients that
 * asked for it with `set_client_capabilities`.
 */
export interface RunChangesRecord {
  type: "run_changes";
  /** The number of the run among those of the session that may have changed files, from 1. */
  run: number;
  /** The entry with the prompt that started the run. */
  entryId?: string;
  /** When the run started, in milliseconds since 1970. */
  started: number;
  files: FileChange[];
  /** How many files are left out of `files`. */
  omittedFiles?: number;
  /** The turns that changed files, with the names of the files. */
  turns: TurnChanges[];
  /** The lines of text that were added. */
  added: number;
  /** The lines of text that were removed. */
  removed: number;
  /** The changes of text files as a unified diff. */
  diff?: string;
  /** Whether the diff leaves out something, because it would be too long. */
  diffTruncated?: boolean;
  /**
   * Whether the process ended during the run, so that everything that changed until the session was opened again counts
   * as the run's.
   */
  recovered?: boolean;
  /** Whether all of it was restored. */
  undone?: boolean;
}

/** Files were restored, or changed again, by `undo` or `redo`. */
export interface FilesRestoredRecord {
  type: "files_restored";
  /** Whether they were changed again. */
  redo: boolean;
  /** The runs that it was about. */
  runs: number[];
  /** The paths that are as they were. */
  restored: string[];
  /** The paths that were left alone, because they have changed since. */
  conflicts: LeftAlone[];
  /** The paths that were left alone, because their former content is not known. */
  notCovered: LeftAlone[];
  /** New files that were moved away. */
  quarantined: Quarantined[];
  /** Whether nothing was done but to look. */
  dryRun?: boolean;
}

/**
 * What is pending after a run that may have changed something, if bowline was started with `--workspace overlay`:
 * before `agent_settled`, but after it if the run was aborted.
 */
export interface PendingChangesRecord {
  type: "pending_changes";
  /** Whether the workspace is an overlay. */
  enabled: boolean;
  /** Why it is not. */
  reason?: string;
  /** The changes, by path. */
  changes: PendingChange[];
  /** How many changes are left out of `changes`. */
  omitted?: number;
  /** The changes of text files as a unified diff against the real workspace. */
  diff?: string;
  /** Whether the diff leaves out something, because it would be too long. */
  diffTruncated?: boolean;
}

/** Retrying ended. */
export interface AutoRetryEndRecord {
  type: "auto_retry_end";
  success: boolean;
  /** The number of retries. */
  attempt: number;
  /** Why the last retry failed; absent on success. */
  finalError?: string;
}

/** An extension failed. The run goes on, but for a tool call that the extension was to decide on. */
export interface ExtensionErrorRecord {
  type: "extension_error";
  /** The extension's path, or what stands for it: `command:NAME`, `hook:EVENT`, `<runtime>`. */
  extensionPath: string;
  /** What the extension was doing: the name of a hook, `command`, `load`, `process`. */
  event: string;
  error: string;
}

/**
 * A command in the sandbox changed a path of the workspace that is protected, such as a git hook. The path was restored
 * as it was.
 */
export interface ProtectedPathChangedRecord {
  type: "protected_path_changed";
  /** The call that ran the command; absent for the command `bash`. */
  toolCallId?: string;
  path: string;
  /** What the command had done to it. */
  change: ProtectedPathChange;
  /** Where what the command had left there is now; absent if it had left nothing. */
  quarantine?: string;
}

export type ProtectedPathChange = "created" | "changed" | "removed" | (string & {});

/** An attempt of the run ended. `agent_settled` ends the run. */
export interface AgentEndRecord {
  type: "agent_end";
  /** The messages that this attempt added to the conversation. */
  messages: Message[];
  /**
   * Whether the model is called again automatically: after a transient error, a compaction, a broken stream rule, with
   * a reminder of its tasks or because its output is not what the prompt asked for.
   */
  willRetry: boolean;
}

/** The run ended and nothing follows automatically. Emitted exactly once per run, whatever happened in it. */
export interface AgentSettledRecord {
  type: "agent_settled";
  /** Whether the run was aborted. */
  aborted: boolean;
  /** Why the run failed; absent if it did not. */
  error?: string;
  /** The same for programs; `aborted` if the run was aborted. */
  errorKind?: ErrorKind;
  /**
   * The JSON value that the last prompt of the run asked for with `outputSchema`; absent if it asked for none, or if
   * the run was aborted or failed.
   */
  output?: unknown;
}

/**
 * The answer to a prompt with `outputSchema` was checked. If it is wrong and attempts are left, the model is told of
 * the problems and goes on.
 */
export interface OutputCheckedRecord {
  type: "output_checked";
  valid: boolean;
  /** The JSON value, if it is valid. */
  output?: unknown;
  /** What is wrong with the answer, if it is not. */
  problems?: OutputProblem[];
  /** The number of the answer, starting at 1. */
  attempt: number;
  /** How many answers the prompt allows. */
  maxAttempts: number;
}

/** More of a model response has arrived. */
export interface MessageUpdateRecord {
  type: "message_update";
  /** The usage of the response so far. */
  usage: Usage;
  /** What is new. */
  assistantMessageEvent: Step;
}

/** The queues changed. */
export interface QueueUpdateRecord {
  type: "queue_update";
  /** The texts in the steering queue. */
  steering: string[];
  /** The texts in the follow-up queue. */
  followUp: string[];
}

/** A compaction starts. */
export interface CompactionStartRecord {
  type: "compaction_start";
  /**
   * `manual` if a command requested it, `threshold` if the context window is nearly full, `overflow` if the
   * conversation exceeded it.
   */
  reason: CompactionReason;
}

export type CompactionReason = "manual" | "threshold" | "overflow" | (string & {});

/** A compaction ended. */
export interface CompactionEndRecord {
  type: "compaction_end";
  /** The same as in `compaction_start`. */
  reason: CompactionReason;
  /** Absent if the compaction was aborted or failed. */
  result?: Compaction;
  aborted: boolean;
  /** Whether the request that exceeded the context window is retried. */
  willRetry: boolean;
  /** Why the compaction failed; absent if it did not. */
  errorMessage?: string;
}

/** The request for a summary failed with a transient error and will be retried. */
export interface SummarizationRetryScheduledRecord {
  type: "summarization_retry_scheduled";
  /** The number of the retry, starting at 1. */
  attempt: number;
  maxAttempts: number;
  /** The delay before the retry. */
  delayMs: number;
  /** Why the request failed. */
  errorMessage: string;
}

/** The retry of a request for a summary starts. */
export interface SummarizationRetryAttemptStartRecord {
  type: "summarization_retry_attempt_start";
  /** What is summarised. */
  source: SummarySource;
  /** The reason for the compaction; absent for a branch. */
  reason?: CompactionReason;
}

export type SummarySource = "compaction" | "branchSummary" | (string & {});

/** Retrying the request for a summary ended, successfully or not. */
export interface SummarizationRetryFinishedRecord {
  type: "summarization_retry_finished";
}

/** An entry that changes the context was appended to the session file, and no other record reports it. */
export interface EntryAppendedRecord {
  type: "entry_appended";
  /** The entry, as in the file. */
  entry: Entry;
}

/** The thinking level changed. */
export interface ThinkingLevelChangedRecord {
  type: "thinking_level_changed";
  level: ThinkingLevel;
  /** The entry that records the change; absent if it follows from the model alone. */
  entryId?: string;
}

/** The session was renamed. */
export interface SessionInfoChangedRecord {
  type: "session_info_changed";
  name: string;
  /** The entry that records the change; absent if the session is in memory only. */
  entryId?: string;
}

/** A command started with `bash` has new output. */
export interface BashExecutionUpdateRecord {
  type: "bash_execution_update";
  /** The id of the `bash` command; absent if it had none. */
  id?: string | number;
  /** The new output. The deltas of one command add up to its whole output. */
  delta: string;
}

/**
 * An extension asks or shows something, as `method` says. Dialogs wait for an `extension_ui_response` with their id.
 */
export type ExtensionUiRequestRecord = 
  | SelectExtensionUiRequestRecord
  | ConfirmExtensionUiRequestRecord
  | InputExtensionUiRequestRecord
  | EditorExtensionUiRequestRecord
  | NotifyExtensionUiRequestRecord
  | SetStatusExtensionUiRequestRecord
  | SetWidgetExtensionUiRequestRecord
  | SetTitleExtensionUiRequestRecord
  | SetEditorTextExtensionUiRequestRecord;

/** The model calls one of the client's tools. The client answers with `host_tool_result`. */
export interface HostToolCallRecord {
  type: "host_tool_call";
  id: string;
  /** The id of the call in the model response. */
  toolCallId: string;
  toolName: string;
  arguments: Record<string, unknown>;
}

/** A call of one of the client's tools is to stop: it was aborted, or its time is up. No answer is expected. */
export interface HostToolCancelRecord {
  type: "host_tool_cancel";
  id: string;
  /** The id of the `host_tool_call`. */
  targetId: string;
}

/** The model reads or writes one of the client's addresses. The client answers with `host_uri_result`. */
export interface HostUriRequestRecord {
  type: "host_uri_request";
  id: string;
  operation: HostUriOperation;
  url: string;
  /** What to write; absent for `read`. */
  content?: string;
}

export type HostUriOperation = "read" | "write" | (string & {});

/**
 * A request for one of the client's addresses is to stop: it was aborted, or its time is up. No answer is expected.
 */
export interface HostUriCancelRecord {
  type: "host_uri_cancel";
  id: string;
  /** The id of the `host_uri_request`. */
  targetId: string;
}

/** A subagent started or ended. Only sent to clients that asked for it: see `set_subagent_subscription`. */
export interface SubagentLifecycleRecord {
  type: "subagent_lifecycle";
  payload: SubagentLifecycle;
}

/** A subagent has made progress. Only sent to clients that asked for it: see `set_subagent_subscription`. */
export interface SubagentProgressRecord {
  type: "subagent_progress";
  payload: SubagentProgressReport;
}

/**
 * Something happened in the session of a subagent. Only sent to clients that asked for it: see
 * `set_subagent_subscription`.
 */
export interface SubagentEventRecord {
  type: "subagent_event";
  payload: SubagentEventReport;
}

/**
 * A tool call needs the user's consent. Sent to clients that declared it with `set_client_capabilities`, instead of a
 * dialog. One is open at a time.
 */
export interface ApprovalRequestRecord {
  type: "approval_request";
  id: string;
  /** Absent if it is about a host and several calls are running. */
  toolCallId?: string;
  kind: ApprovalKind;
  tool: string;
  /** The whole command of a call of kind `command` or `network`. */
  command?: string;
  /** The arguments of any other call. */
  arguments?: Record<string, unknown>;
  /** The folder that the call runs in. */
  cwd: string;
  reason: ApprovalReason;
  /** What the call gets beyond the sandbox; absent if nothing. */
  grants?: Grants;
  /** What `approval_response` can decide. */
  options: ApprovalDecision[];
  /** The rule that `session` and `project` remember. Without one, `session` remembers this very call. */
  rule?: unknown;
  /** A hash of the tool, the arguments, the folder and the grants: what was shown is what runs. */
  digest: string;
  /** After this many milliseconds the answer is no; absent if never. */
  timeoutMs?: number;
  /** The answer if there is none. */
  default: "deny";
}

export type ApprovalKind = "command" | "file" | "network" | "tool" | (string & {});

export type ApprovalDecision = "once" | "session" | "project" | "deny" | (string & {});

/** An `approval_request` is decided. */
export interface ApprovalResolvedRecord {
  type: "approval_resolved";
  id: string;
  decision: ApprovalDecision;
  /** Who decided: the client, the end of its time, or an abort. */
  by: ApprovalDecider;
}

export type ApprovalDecider = "client" | "timeout" | "abort" | (string & {});

/** An error that is not the response to a command. */
export interface ErrorRecord {
  type: "error";
  /** The error, as a sentence for people. */
  error: string;
  /** `true` if the process ends; otherwise absent. */
  fatal?: boolean;
}

/** What happened to a message. */
export interface Accepted {
  /**
   * `started` if it started a run, `queued` if it is in a queue, `handled` if an extension dealt with it and nothing
   * follows.
   */
  disposition: Disposition;
}

export type Disposition = "started" | "queued" | "handled" | (string & {});

/** The messages that were removed from the queues. */
export interface Queues {
  /** The texts from the steering queue. */
  steering: string[];
  /** The texts from the follow-up queue. */
  followUp: string[];
}

/** The state of the agent. */
export interface State {
  /** Absent if no model is selected. */
  model?: Model;
  /** The current thinking level. */
  thinkingLevel: ThinkingLevel;
  /** Whether a run is in progress, including retries. */
  isStreaming: boolean;
  /** Whether a compaction is in progress. */
  isCompacting: boolean;
  /** How many messages are taken from the steering queue at a time. */
  steeringMode: QueueMode;
  /** How many messages are taken from the follow-up queue at a time. */
  followUpMode: QueueMode;
  /** Absent if the session is in memory only. The file may not exist yet. */
  sessionFile?: string;
  sessionId: string;
  /** Absent if the session has no name. */
  sessionName?: string;
  autoCompactionEnabled: boolean;
  /** The number of messages in the context. */
  messageCount: number;
  /** The number of messages in both queues. */
  pendingMessageCount: number;
  autoRetryEnabled: boolean;
  /** What could not be read of the session's file. Absent if the file is undamaged. */
  sessionDamage?: SessionDamage;
  /** The tools available to the model. */
  tools: string[];
  /** The working directory of the tools. */
  cwd: string;
  /** Absent if no model is selected. */
  contextUsage?: ContextUsage;
  /** What confines the tools; `get_sandbox` says more. */
  sandbox?: SandboxSummary;
  /** The extensions of the session, including those that have failed. Absent if there are none. */
  extensions?: Extension[];
  /** How the user is asked about tool calls. Absent if `ask` is `never` and the client has not failed to answer. */
  approvals?: Approvals;
}

/** A model of a provider. */
export interface Model {
  id: string;
  /** The display name. */
  name: string;
  /** The provider API, such as `anthropic-messages`. */
  api: string;
  provider: string;
  baseUrl: string;
  /** Whether the model can think. */
  reasoning: boolean;
  input: InputKind[];
  cost: Price;
  /** The maximum number of tokens of a conversation, including the response. */
  contextWindow: number;
  /** The maximum number of tokens of a response. */
  maxTokens: number;
  /** The thinking levels that the model has in addition to the usual ones (a string), or does not have (`null`). */
  thinkingLevelMap?: Record<string, string | null>;
  /** Compatibility flags of the server, as in `models.json`. */
  compat?: unknown;
}

/** A kind of input that a model accepts. */
export type InputKind = "text" | "image" | (string & {});

/** Prices in US dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A thinking level, in ascending order. */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** What could not be read of a session's file. `bowline sessions fsck --repair` mends the file. */
export interface SessionDamage {
  /** The number of lines that cannot be read. They are left out. */
  unreadableLines: number;
  /** The number of entries whose predecessor is missing. They follow the entry before the missing one. */
  relinkedEntries: number;
  /** The number of messages of the conversation whose content cannot be read. They are left out. */
  unreadableMessages: number;
}

/** How much of the context window is used. */
export interface ContextUsage {
  /** `null` until a model has reported its usage, and directly after a compaction. */
  tokens: number | null;
  contextWindow: number;
  /** `tokens` as a percentage of the context window. */
  percent: number | null;
}

/** What holds, in short. */
export interface SandboxSummary {
  mode: SandboxMode;
  level: SandboxLevel;
  ask: AskMode;
  network: SandboxNetwork;
  /**
   * `overlay` if nothing is written to the working folder until `accept_changes`; absent if tools write it directly.
   */
  workspace?: SandboxWorkspace;
}

/**
 * What tools may do to the machine. The order is that of strictness.
 *
 * `read-only`: They write nothing but the private `/tmp`.
 *
 * `workspace-write`: They write the working folder and what the settings add to it.
 *
 * `external`: They have all rights of the user, because something else confines the process.
 *
 * `full-access`: They have all rights of the user.
 */
export type SandboxMode = "read-only" | "workspace-write" | "external" | "full-access";

/**
 * How much of the design is in force.
 *
 * `none`: Nothing is.
 *
 * `external`: Something else confines the process.
 *
 * `landlock`: Landlock and seccomp, where namespaces are unavailable.
 *
 * `full`: Namespaces, Landlock and seccomp.
 */
export type SandboxLevel = "none" | "external" | "landlock" | "full" | (string & {});

/**
 * When the user is asked about a call. The order is that of strictness, the strictest last.
 *
 * `never`: Never: what would have to be asked about is refused.
 *
 * `on-request`: When a rule says so, and when a call wants more than the sandbox allows.
 *
 * `untrusted`: Also about every call that may change something, unless a rule allows it.
 */
export type AskMode = "never" | "on-request" | "untrusted";

/**
 * What confined tools reach of the network. The order is that of strictness.
 *
 * `none`: Only what other tools of the session serve on localhost.
 *
 * `allow-list`: The same, and the hosts of a list through a proxy.
 *
 * `full`: Everything that the user reaches.
 */
export type SandboxNetwork = "none" | "allow-list" | "full";

/**
 * Where what confined tools change in the working folder goes.
 *
 * `direct`: Into the folder itself.
 *
 * `overlay`: To a copy of what changed, until the client accepts it.
 */
export type SandboxWorkspace = "direct" | "overlay" | (string & {});

/** An extension of the session. */
export interface Extension {
  name: string;
  /** The file or folder. `extensionPath` of `extension_error` is the same. */
  path: string;
  version?: string;
  description?: string;
  /**
   * How it is doing. `restarting`: it has exited and is started again. `failed`: it is not started again. `not_loaded`:
   * it is there, but not to be used.
   */
  status: ExtensionStatus;
  /** Why it is not running. Absent if it is, or is starting. */
  reason?: string;
  sourceInfo: SourceInfo;
  /** The names of its tools. */
  tools: string[];
  /** The names of its slash commands. */
  commands: string[];
  /** The names of its providers of models. */
  providers: string[];
  /** The hooks that it takes part in. */
  hooks: string[];
}

export type ExtensionStatus = "starting" | "running" | "restarting" | "failed" | "not_loaded" | (string & {});

/** Where a command or an extension comes from. */
export interface SourceInfo {
  /** The file. */
  path: string;
  /**
   * How it was found: `auto` in a folder that is always searched, `local` by a path in the settings, `cli` by a flag,
   * the name of a package, or `extension:` and the name of the extension that named it.
   */
  source: string;
  /** Whom it belongs to; `temporary` if it is there for this process only. */
  scope: SourceInfoScope;
  /** Whether it is part of a package. */
  origin: SourceInfoOrigin;
  /** The folder that it belongs to; absent if it was named by a path. */
  baseDir?: string;
}

export type SourceInfoScope = "user" | "project" | "temporary" | (string & {});

export type SourceInfoOrigin = "top-level" | "package" | (string & {});

/** How the user is asked about tool calls. */
export interface Approvals {
  /** When the user is asked. */
  ask: AskMode;
  /**
   * `false` if the client let a question time out and never answered one. It is not asked again until it does, or sends
   * `set_client_capabilities`.
   */
  clientAnswers: boolean;
}

/** The messages in the context. */
export interface Messages {
  /** The messages, as they are sent to the model. */
  messages: Message[];
}

/** A message of a conversation. */
export type Message = 
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | CustomMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage;

/** A block of a user message or a tool result. */
export type Content = TextContent | ImageContent;

/** A file that a client sent with a prompt. */
export interface Attachment {
  id?: string;
  type: "image" | "document";
  fileName?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
  /** The file in base64. */
  content?: string;
  /** The text of a document. */
  extractedText?: string;
  /** A small image of the file in base64. */
  preview?: string;
  [field: string]: unknown;
}

/** A user message. */
export interface UserMessage {
  role: "user";
  content: Content[];
  /** Milliseconds since the Unix epoch. */
  timestamp: number;
  /** The attachments of the prompt, as the client sent them. What the model sees of them is in `content`. */
  attachments?: Attachment[];
  /** Where the message came from, as the client said. */
  source?: string;
}

/** A block of a model response. */
export type AssistantContent = TextBlock | ThinkingBlock | ToolCall;

/** Text of a model response. */
export interface TextBlock {
  type: "text";
  text: string;
  textSignature?: string;
}

/** Thinking of a model, with the signature that some providers require when it is sent back. */
export interface ThinkingBlock {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
  /** Set if the provider encrypted the thinking, so that only the signature is available. */
  redacted?: boolean;
}

/** A tool call. */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string;
}

/** The tokens of one or more model responses, with their cost. */
export interface Usage {
  /** Input tokens that were not read from the cache. */
  input: number;
  /** Output tokens, including thinking. */
  output: number;
  /** Input tokens that were read from the cache. */
  cacheRead: number;
  /** Input tokens that were written to the cache. */
  cacheWrite: number;
  /** The sum of all kinds of tokens. */
  totalTokens: number;
  cost: Cost;
  /** The part of `output` that was spent on thinking, if the provider reports it. */
  reasoning?: number;
}

/** The cost in US dollars by kind of token. */
export interface Cost {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/**
 * Why a model response ended.
 *
 * `pending`: The response is still being streamed.
 *
 * `length`: The output limit was reached.
 *
 * `deferred`: Written by some other agents for a response that is to be continued.
 */
export type StopReason = 
  | "stop"
  | "toolUse"
  | "error"
  | "aborted"
  | "pending"
  | "length"
  | "deferred"
  | (string & {});

/**
 * Why a run or an answer failed. The names on the wire are stable.
 *
 * `auth`: There are no usable credentials, or the provider refused them.
 *
 * `not_found`: The provider does not know the model or the address.
 *
 * `rate_limit`: Too many requests for now.
 *
 * `overloaded`: The provider is overloaded or had an internal error.
 *
 * `quota`: The account has run out of quota, budget or credit.
 *
 * `network`: The provider could not be reached, or the connection broke.
 *
 * `timeout`: The provider went silent.
 *
 * `context`: The conversation is larger than the model's window.
 *
 * `refused`: The provider refused the request or the rest of the answer.
 *
 * `bad_answer`: The provider sent something that its API does not allow.
 *
 * `answer_too_large`: The answer exceeded a limit on its size.
 *
 * `answer_too_slow`: The answer took longer than an answer may take in all.
 *
 * `too_many_turns`: The run reached the limit on its turns.
 *
 * `budget`: A limit of the user on what a run or a session may spend was reached.
 *
 * `invalid_output`: The last answer was not the output that the prompt asked for.
 *
 * `no_conversation`: There was no conversation to continue.
 *
 * `aborted`: The user, or the end of the process, stopped it.
 *
 * `storage`: A session or a recording could not be written.
 *
 * `internal`: bowline itself failed.
 */
export type ErrorKind = 
  | "auth"
  | "not_found"
  | "rate_limit"
  | "overloaded"
  | "quota"
  | "network"
  | "timeout"
  | "context"
  | "refused"
  | "bad_answer"
  | "answer_too_large"
  | "answer_too_slow"
  | "too_many_turns"
  | "budget"
  | "invalid_output"
  | "no_conversation"
  | "aborted"
  | "storage"
  | "internal"
  | (string & {});

/** A model response. */
export interface AssistantMessage {
  role: "assistant";
  content: AssistantContent[];
  /** The provider API of the request. */
  api: string;
  provider: string;
  model: string;
  /** The thinking level of the request, if a virtual model chose the model and the level. */
  thinkingLevel?: ThinkingLevel;
  usage: Usage;
  stopReason: StopReason;
  /** When the response started, in milliseconds since the Unix epoch. */
  timestamp: number;
  /** The provider's id of the response. */
  responseId?: string;
  /** The stop reason as the provider sent it. */
  rawStopReason?: string;
  /** Why the response failed or was aborted. */
  errorMessage?: string;
  /** The same for programs. */
  errorKind?: ErrorKind;
  /** The time from the request to the end of the response, in milliseconds. */
  duration?: number;
  /** The time from the request to the first delta of the response, in milliseconds. */
  ttft?: number;
  /** When the response was complete, in milliseconds since the Unix epoch. */
  completedAt?: number;
}

/** The result of a tool call. */
export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: Content[];
  /** Details for the client that the model does not see. */
  details?: unknown;
  /** What the tool spent on models of its own. */
  usage?: Usage;
  isError: boolean;
  /** Milliseconds since the Unix epoch. */
  timestamp: number;
}

/** A user-initiated shell command with its output. */
export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  /** Absent if the command was cancelled or killed by a signal. */
  exitCode?: number;
  cancelled: boolean;
  /** Whether `output` is only the end of the whole output. */
  truncated: boolean;
  /** The file with the whole output, if it was truncated. */
  fullOutputPath?: string;
  /** Milliseconds since the Unix epoch. */
  timestamp: number;
  /** Whether the command and its output are kept out of the context. */
  excludeFromContext?: boolean;
}

/** Text, or blocks of text and images. */
export type CustomContent = string | Content[];

/** A message that an extension added to the conversation. */
export interface CustomMessage {
  role: "custom";
  customType: string;
  content: CustomContent;
  display: boolean;
  details?: unknown;
  timestamp: number;
}

/** The summary of an abandoned branch. */
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string;
  timestamp: number;
}

/** The summary that replaces all earlier messages. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
  timestamp: number;
}

/** The commands that a prompt can invoke with a leading slash. */
export interface SlashCommands {
  commands: SlashCommand[];
}

/** A command that a prompt can invoke with a leading slash. */
export interface SlashCommand {
  name: string;
  description?: string;
  /** `true` if `get_completions` completes what follows the name. */
  hasCompletion?: boolean;
  /** What provides the command. */
  source: SlashCommandSource;
  sourceInfo: SourceInfo;
}

export type SlashCommandSource = "extension" | "prompt" | "skill" | (string & {});

/** What can follow the name of a slash command. */
export interface Completions {
  completions: Completion[];
}

/** A completion. */
export interface Completion {
  /** What takes the place of the text after the command's name. */
  value: string;
  /** What to show instead of the value. */
  label?: string;
  description?: string;
}

/** What a dialect supports. */
export interface ProtocolInfo {
  /** The name of the program: `bowline`. */
  name: string;
  /** The version of the program. */
  version: string;
  dialect: string;
  /** The agent that is emulated; absent if its clients ask for no version. */
  emulates?: Emulated;
  /** The types of the supported commands. */
  commands: string[];
  /** The types of the commands that the emulated agent has and bowline refuses. */
  unsupported: string[];
  /** The types of the records that are not responses. */
  events: string[];
  /** What bowline adds to the protocol that the dialect is named after. */
  capabilities: string[];
}

/** An agent that is emulated. */
export interface Emulated {
  name: string;
  /** The version that `--version` reports if bowline is started under the agent's name. */
  version: string;
}

/** What holds for the tools of a session. */
export interface SandboxReport {
  mode: SandboxMode;
  level: SandboxLevel;
  ask: AskMode;
  network: SandboxNetwork;
  /** The version of the kernel. */
  kernel: string;
  /** The version of Landlock that the kernel has; 0 if none. */
  landlockAbi: number;
  /**
   * The mechanisms in force: `userns`, `mountns`, `pidns`, `netns`, `ipcns`, `landlock`, `seccomp`, `nonewprivs`,
   * `nocaps`.
   */
  mechanisms: string[];
  /** What tools may write. */
  writable: string[];
  /** What stays read-only within that. */
  readOnlyInside: string[];
  /** What tools cannot read. */
  masked: string[];
  /** The home folder: `read-only`, `overlay` or `writable`. */
  home: string;
  /**
   * `overlay` if nothing is written to the working folder until `accept_changes`; absent if tools write it directly.
   */
  workspace?: SandboxWorkspace;
  /** Where the built-in tools run: `confined` or `unconfined`. */
  tools: string;
  /** The hosts that can be reached, if the network is a list. */
  hosts?: string[];
  /** What was granted beyond that for the rest of the session. */
  granted?: Grants;
  promises: SandboxPromise[];
  notEnforced: NotEnforced[];
  environment: ReportedEnvironment;
  /** The process that confines the tools, once it has been started. */
  keeper?: ReportedKeeper;
  checks: ReportedChecks;
  /** The last connections through the proxy, the oldest first, if they were asked for. */
  connections?: ReportedConnection[];
}

/** What a call, or a session, may do beyond the sandbox, because the user or a rule of the user allowed it. */
export interface Grants {
  /** Whether it runs outside of the sandbox. */
  unsandboxed?: boolean;
  /** Files and folders, absolute and canonical, that it may also write. */
  paths?: string[];
  /** Hosts that it may also reach, as `host:port`. */
  hosts?: string[];
}

/** Something that the sandbox promises. */
export interface SandboxPromise {
  /** A stable name, such as `file.write`. */
  id: string;
  state: PromiseState;
  /** What is promised, in a sentence. */
  text: string;
  /** When it was proved, in milliseconds since 1970. */
  at?: number;
}

/**
 * How sure a promise is.
 *
 * `proved`: A probe tried it inside of this very sandbox and was refused.
 *
 * `assumed`: The mechanism is in force, but no probe has tried.
 *
 * `absent`: It does not hold.
 */
export type PromiseState = "proved" | "assumed" | "absent" | (string & {});

/** Something that the sandbox does not prevent. */
export interface NotEnforced {
  /** A stable name, such as `file.hardlink`. */
  id: string;
  /** What is possible, in plain words. */
  why: string;
}

/** What commands get of the environment. */
export interface ReportedEnvironment {
  /** The names of the variables that they do not get. */
  dropped: string[];
}

/** The process that confines the tools. */
export interface ReportedKeeper {
  pid: number;
  /** How long its start took, in milliseconds. */
  startedMs: number;
}

/** How many probes were tried. */
export interface ReportedChecks {
  passed: number;
  failed: number;
}

/** A connection through the proxy. What was sent and which paths were asked for is not kept. */
export interface ReportedConnection {
  host: string;
  port: number;
  /**
   * Why it was made or refused: `listed`, `approved`, `denied`, `unlisted`, `declined`, `bad-address` or `unreachable`.
   */
  decision: string;
  /** Bytes that went to the host. */
  sent: number;
  /** Bytes that came from the host. */
  received: number;
}

/** The model that was switched to. */
export interface CycledModel {
  model: Model;
  thinkingLevel: ThinkingLevel;
  /** Whether the user restricted the models to cycle through. */
  isScoped: boolean;
}

/** The available models. */
export interface Models {
  /** The models with credentials, and the current model. */
  models: Model[];
}

/** The providers that a user may log in to. */
export interface LoginProviders {
  providers: LoginProvider[];
}

/** A provider that a user may log in to. */
export interface LoginProvider {
  id: string;
  /** The name for people. */
  name: string;
  /** Whether the user can log in to it with `login`. */
  available: boolean;
  /** Whether there is a key for it, or it needs none. */
  authenticated: boolean;
}

/** The provider that the user has logged in to. */
export interface LoggedIn {
  providerId: string;
}

/** The thinking level that was switched to. */
export interface Level {
  level: ThinkingLevel;
}

/** The thinking levels of the current model. */
export interface Levels {
  /** The levels, in ascending order. */
  levels: ThinkingLevel[];
}

/** The result of a compaction. */
export interface Compaction {
  /** The summary that replaces the messages before the first kept entry. */
  summary: string;
  /** The first entry that stays in the context unchanged. */
  firstKeptEntryId: string;
  /** The size of the context, as reported by the model or estimated. */
  tokensBefore: number;
  estimatedTokensAfter: number;
  /** The usage of the request for the summary. */
  usage: Usage;
  details: TouchedFiles;
  /** The entry that holds the summary. */
  entryId: string;
}

/** The files that tools read and modified in the summarised messages. */
export interface TouchedFiles {
  readFiles: string[];
  modifiedFiles: string[];
}

/** The result of a shell command. */
export interface ShellResult {
  /** The end of stdout and stderr combined, without control characters. */
  output: string;
  /** Absent if the command was cancelled or killed by a signal. */
  exitCode?: number;
  cancelled: boolean;
  /** Whether `output` is only the end of the whole output. */
  truncated: boolean;
  /** The file with the whole output, if it was truncated. */
  fullOutputPath?: string;
}

/** The session was switched. */
export interface Switched {
  /** Always `false`: nothing can cancel this yet. */
  cancelled: boolean;
}

/** A session that was forked before an earlier message. */
export interface Forked {
  /** The text of that message, for editing and resending. */
  text: string;
  /** Always `false`: nothing can cancel this yet. */
  cancelled: boolean;
}

/** The messages that the session can be forked at. */
export interface ForkMessages {
  messages: ForkMessage[];
}

/** A message that the session can be forked at. */
export interface ForkMessage {
  entryId: string;
  text: string;
}

/** Entries of the session file. */
export interface Entries {
  /** The entries, as in the file and in its order. */
  entries: Entry[];
  /** The current entry of the conversation; `null` before the first entry. */
  leafId: string | null;
}

/** An entry of the session file. Its other fields depend on its type. */
export interface Entry {
  /** Such as `message`, `compaction`, `model_change` or `label`. */
  type: string;
  id: string;
  /** The entry that this one follows; `null` for the first entry. */
  parentId: string | null;
  /** ISO 8601. */
  timestamp: string;
  [field: string]: unknown;
}

/** The session as a tree. */
export interface Tree {
  /** The entries without a parent; empty with the format `flat`. */
  tree: TreeNode[];
  /**
   * Present if the tree is too deep for decoders that limit the depth. A long branch is then continued by a further
   * element of `tree`, whose entry has a parent in an earlier element.
   */
  isSplit?: boolean;
  /** The entries, each before its descendants. Absent unless the format is `flat`. */
  nodes?: FlatNode[];
  /** The current entry of the conversation; `null` before the first entry. */
  leafId: string | null;
}

/** An entry with the entries that follow it. */
export interface TreeNode {
  entry: Entry;
  children: TreeNode[];
  /** Absent if the entry has no label. */
  label?: string;
  /** When the label was set, ISO 8601. */
  labelTimestamp?: string;
}

/** An entry in a list of all entries. */
export interface FlatNode {
  entry: Entry;
  /** The number of its ancestors. */
  depth: number;
  /** Absent if the entry has no label. */
  label?: string;
  /** When the label was set, ISO 8601. */
  labelTimestamp?: string;
}

/** The position that the conversation was moved to. */
export interface Navigated {
  /** The current entry of the conversation; `null` before the first entry. */
  leafId: string | null;
  /** The text of the user message that was navigated to, for editing and resending. */
  text: string | null;
  /** The entry that holds the summary of the abandoned branch. */
  summaryEntryId: string | null;
  /** Always `false`: nothing can cancel this yet. */
  cancelled: boolean;
}

/** The entry that was written. */
export interface Written {
  entryId: string;
}

/** A page of the list of sessions. */
export interface Sessions {
  /** The sessions, most recently modified first. */
  sessions: Session[];
  /** The cursor of the next page; `null` on the last page. */
  nextCursor: string | null;
}

/** A session in a list. */
export interface Session {
  id: string;
  path: string;
  /** Empty for sessions in the oldest format, which does not record it. */
  cwd: string;
  /** Absent if the session has no name. */
  name?: string;
  /** The beginning of the first user message; empty if there is none yet. */
  firstMessage: string;
  /** The number of messages of all roles and branches. */
  messageCount: number;
  /** ISO 8601. */
  created: string;
  /** When the file was last modified, in milliseconds since the Unix epoch. */
  modified: number;
}

/** Statistics of the session over all its branches. */
export interface SessionStatistics {
  /** Absent if the session is in memory only. */
  sessionFile?: string;
  sessionId: string;
  userMessages: number;
  assistantMessages: number;
  toolCalls: number;
  toolResults: number;
  totalMessages: number;
  tokens: Tokens;
  /** The cost in US dollars, including summaries. */
  cost: number;
  /** Absent if no model is selected. */
  contextUsage?: ContextUsage;
  /** Statistics by model, in order of first use. */
  byModel: ModelUsage[];
}

/** Token counts by kind. */
export interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/** The statistics of one model in a session. */
export interface ModelUsage {
  provider: string;
  model: string;
  assistantMessages: number;
  usage: Usage;
}

/** The exported file. */
export interface Exported {
  path: string;
}

/** The newest model response. */
export interface LastText {
  /** `null` if no response has text. */
  text: string | null;
}

/** The limits and what was spent of them. */
export interface LimitsReport {
  /** Of the run in progress, or of the last one. */
  run: ScopeReport;
  session: ScopeReport;
}

/** The limits of a run or a session, and what was spent of them. */
export interface ScopeReport {
  /** What is absent is not limited. */
  limits: Limits;
  used: Spent;
}

/** Limits; what is absent has none. */
export interface Limits {
  /** US dollars. */
  cost?: number;
  tokens?: number;
  /** How often the model answers; in a run, for one message of the user. */
  turns?: number;
  toolCalls?: number;
  seconds?: number;
}

/** What was spent. */
export interface Spent {
  /** US dollars. */
  cost: number;
  tokens: number;
  turns: number;
  toolCalls: number;
  seconds: number;
}

/** The level that was set. */
export interface SubagentSubscription {
  level: SubagentSubscriptionLevel;
}

/** The subagents that are running. */
export interface Subagents {
  subagents: Subagent[];
}

/** A subagent that is running. */
export interface Subagent {
  id: string;
  /** Its place among the tasks of its call, starting at 0. */
  index: number;
  /** The agent whose instructions it has. */
  agent: string;
  agentSource: AgentSource;
  status: SubagentStatus;
  /** The beginning of its task. */
  task: string;
  /** Absent if the session is in memory only. */
  sessionFile?: string;
  /** When it last changed, in milliseconds since the Unix epoch. */
  lastUpdate: number;
  progress: SubagentProgress;
  /** The call of `task` that started it. */
  parentToolCallId: string;
}

/**
 * Where the definition of an agent comes from.
 *
 * `bundled`: It is part of the program.
 *
 * `user`: The user's own folder.
 *
 * `project`: The project's folder.
 */
export type AgentSource = "bundled" | "user" | "project" | (string & {});

/**
 * How far a subagent is.
 *
 * `pending`: It waits for others to end.
 */
export type SubagentStatus = "running" | "completed" | "failed" | "aborted" | "pending" | (string & {});

/** What a subagent is doing and has done so far. */
export interface SubagentProgress {
  /** Its place among the tasks of its call, starting at 0. */
  index: number;
  /** Unique in its session. The id of a subagent's own subagent begins with that of the former and a dot. */
  id: string;
  /** The agent whose instructions it has. */
  agent: string;
  agentSource: AgentSource;
  status: SubagentStatus;
  /** The beginning of its task. */
  task: string;
  /** The tool that it runs; absent while it runs none. */
  currentTool?: string;
  /** The beginning of that tool's arguments. */
  currentToolArgs?: string;
  /** When that tool was started, in milliseconds since the Unix epoch. */
  currentToolStartMs?: number;
  /** The last tools that ended, newest first. */
  recentTools: RecentTool[];
  /** The last lines that the model wrote, newest first. */
  recentOutput: string[];
  /** How many tools were called. */
  toolCount: number;
  /** How many responses of the model there were. */
  requests: number;
  /** The tokens of all responses. */
  tokens: number;
  /** The tokens of the last response and of what it answered; absent before the first response. */
  contextTokens?: number;
  contextWindow: number;
  /** The cost so far in US dollars. */
  cost: number;
  durationMs: number;
  /** The model, as `provider/id`. */
  resolvedModel: string;
  /** Why it failed; absent if it did not. */
  error?: string;
}

/** A tool that has ended. */
export interface RecentTool {
  tool: string;
  /** The beginning of its arguments. */
  args: string;
  /** When it ended, in milliseconds since the Unix epoch. */
  endMs: number;
}

/** A part of a subagent's session file. */
export interface SubagentMessages {
  sessionFile: string;
  /** Where the part begins. */
  fromByte: number;
  /** Where the next part begins. There is none yet if it is the same as `fromByte`. */
  nextByte: number;
  /** Whether the file is shorter than the requested offset, so that the part begins at the start of the file. */
  reset: boolean;
  /** The lines of the file, its header among them. */
  entries: FileLine[];
  /** The messages in them. */
  messages: Message[];
}

/** A line of a session file: its header or an entry. */
export type FileLine = SessionHeader | Entry;

/** The header of a session file. */
export interface SessionHeader {
  type: "session";
  id: string;
  [field: string]: unknown;
}

/** What the runs of a session changed. */
export interface ChangesReport {
  /** Whether changes are recorded. */
  enabled: boolean;
  /** Whether the changes of commands are seen, or only those of the file tools. */
  commands: boolean;
  /** Why changes, or those of commands, are not recorded. */
  reason?: string;
  /** The runs that changed files, oldest first. */
  runs: RunChanges[];
  /** Whether there is something that `redo` can do again. */
  canRedo: boolean;
  /** How many bytes of former contents are kept. */
  storedBytes: number;
  /** Changes that are never seen, in plain words. */
  notCovered: string[];
}

/** What one run changed. */
export interface RunChanges {
  /** The number of the run among those of the session that may have changed files, from 1. */
  run: number;
  /** The entry with the prompt that started the run. */
  entryId?: string;
  /** When the run started, in milliseconds since 1970. */
  started: number;
  files: FileChange[];
  /** How many files are left out of `files`. */
  omittedFiles?: number;
  /** The turns that changed files, with the names of the files. */
  turns: TurnChanges[];
  /** The lines of text that were added. */
  added: number;
  /** The lines of text that were removed. */
  removed: number;
  /** The changes of text files as a unified diff. */
  diff?: string;
  /** Whether the diff leaves out something, because it would be too long. */
  diffTruncated?: boolean;
  /**
   * Whether the process ended during the run, so that everything that changed until the session was opened again counts
   * as the run's.
   */
  recovered?: boolean;
  /** Whether all of it was restored. */
  undone?: boolean;
}

/** A change of one path by a run. */
export interface FileChange {
  /** Relative to the working directory; absolute if it is outside. */
  path: string;
  change: FileChangeKind;
  kind: FileKind;
  /** The size before the run, of a file that existed. */
  sizeBefore?: number;
  /** The size after the run, of a file that exists. */
  size?: number;
  /** Whether `undo` can put it back. */
  covered: boolean;
  /** Why it is not covered. */
  reason?: string;
  /** Whether it was restored. */
  undone?: boolean;
}

/**
 * What happened to a file, a folder or a link.
 *
 * `mode`: Only the permissions changed.
 */
export type FileChangeKind = "created" | "modified" | "deleted" | "mode" | (string & {});

/** What a path stands for. */
export type FileKind = "file" | "folder" | "link" | (string & {});

/** What one turn changed. */
export interface TurnChanges {
  /** The number of the turn in its run, from 0. */
  turn: number;
  /** The entry that the session was at when the turn ended. */
  entryId?: string;
  /** The tool call after which the files were looked at, if they were looked at after each. */
  toolCallId?: string;
  /** How many paths it changed. */
  files: number;
}

/** What `undo` or `redo` did. */
export interface RestoreReport {
  /** The runs that it was about. */
  runs: number[];
  /** The paths that are as they were. */
  restored: string[];
  /** The paths that were left alone, because they have changed since. */
  conflicts: LeftAlone[];
  /** The paths that were left alone, because their former content is not known. */
  notCovered: LeftAlone[];
  /** New files that were moved away. */
  quarantined: Quarantined[];
  /** Whether nothing was done but to look. */
  dryRun?: boolean;
}

/** A path that was left alone. */
export interface LeftAlone {
  path: string;
  reason: string;
}

/** A file that was moved away. */
export interface Quarantined {
  path: string;
  /** Where it is now. */
  movedTo: string;
}

/** What a session changed and nobody has accepted. */
export interface PendingReport {
  /** Whether the workspace is an overlay. */
  enabled: boolean;
  /** Why it is not. */
  reason?: string;
  /** The changes, by path. */
  changes: PendingChange[];
  /** How many changes are left out of `changes`. */
  omitted?: number;
  /** The changes of text files as a unified diff against the real workspace. */
  diff?: string;
  /** Whether the diff leaves out something, because it would be too long. */
  diffTruncated?: boolean;
}

/** A change that is not in the real workspace. */
export interface PendingChange {
  /** Relative to the working directory. */
  path: string;
  change: FileChangeKind;
  /** What the path stands for after the change; of a deleted one, before it. */
  kind: PendingKind;
  /** The size of the file in the real workspace. */
  sizeBefore?: number;
  /** The size of the file after the change. */
  size?: number;
  /** The permissions in the real workspace, in octal. */
  modeBefore?: string;
  /** The permissions after the change, in octal. */
  mode?: string;
  /** When the content was last changed, in milliseconds since 1970; absent for what is deleted. */
  modified?: number;
  /** Why `accept_changes` would leave it alone; absent if it would apply it. */
  obstacle?: PendingObstacle;
  /** The same in plain words. */
  reason?: string;
}

/**
 * What a changed path stands for.
 *
 * `special`: A FIFO, a socket or a device.
 */
export type PendingKind = "file" | "folder" | "link" | "special" | (string & {});

/**
 * Why a change is not applied.
 *
 * `conflict`: The path has changed in the real workspace since.
 *
 * `protected`: Other programs of the user follow what is at the path, such as a git hook.
 *
 * `unsupported`: It is something that is not applied, such as a device or a file with several names.
 */
export type PendingObstacle = "conflict" | "protected" | "unsupported" | (string & {});

/** What `accept_changes` did. */
export interface AcceptReport {
  /** The paths that are now in the real workspace as the session changed them. */
  accepted: string[];
  /** The paths that have changed in the real workspace since. They stay pending. */
  conflicts: LeftAlone[];
  /**
   * The paths that are not applied for another reason: they are protected or not supported, or it failed. They stay
   * pending.
   */
  notApplied: LeftAlone[];
  /** How many paths are left out of the lists. */
  omitted?: number;
  /** How many changes are pending now. */
  pending: number;
}

/** What `discard_changes` did. */
export interface DiscardReport {
  /** The paths whose changes are gone. */
  discarded: string[];
  /** The paths whose changes could not be thrown away alone. */
  notDiscarded: LeftAlone[];
  /** How many paths are left out of the lists. */
  omitted?: number;
  /** How many changes are pending now. */
  pending: number;
}

/** The tools of the client. */
export interface HostToolNames {
  /** The names of the tools. */
  toolNames: string[];
}

/** The schemes that the client serves. */
export interface UriSchemes {
  /** The schemes, in lower case. */
  schemes: string[];
}

/** The output of a tool. */
export interface ToolReport {
  /** The output for the model. */
  content: Content[];
  /** Details for the client that the model does not see; they depend on the tool. */
  details?: unknown;
  /** The result as data, if the tool of an extension that has ended has one. It is not stored. */
  structuredContent?: unknown;
  /** What the tool spent on models of its own; of a tool that has ended. */
  usage?: Usage;
  /** `true` if the tool wants the run to end. */
  terminate?: boolean;
}

/** A stream rule. */
export interface StreamRule {
  /** The name of the file without its ending. */
  name: string;
  /** The file. */
  path: string;
  /** What the model is told. */
  content: string;
  /** The files that tool calls must be about. */
  globs?: string[];
  description?: string;
  /** The regular expressions. */
  condition: string[];
  /** What is watched; absent for text and all tools. */
  scope?: string[];
  /** The agents that the rule is for; absent for all. */
  agents?: string[];
  /** When the rule interrupts; absent if as the settings say. */
  interruptMode?: StreamRuleInterruptMode;
  _source: RuleSource;
}

export type StreamRuleInterruptMode = "always" | "prose-only" | "tool-only" | "never" | (string & {});

/** Where a stream rule comes from. */
export interface RuleSource {
  /** The program whose folder holds the file. */
  provider: string;
  /** The same for people. */
  providerName: string;
  /** The file. */
  path: string;
  /** Whether the rule is the user's own or the project's. */
  level: RuleSourceLevel;
}

export type RuleSourceLevel = "user" | "project" | (string & {});

/** A task. */
export interface TodoTask {
  /** What is to be done; it also identifies the task. */
  content: string;
  status: TodoStatus;
  /** Why the task is blocked, if somebody said so. */
  blocker?: string;
}

/**
 * How far a task is.
 *
 * `abandoned`: It will not be done.
 *
 * `blocked`: It cannot go on for now.
 */
export type TodoStatus = 
  | "pending"
  | "in_progress"
  | "completed"
  | "abandoned"
  | "blocked"
  | (string & {});

/**
 * What a limit is for.
 *
 * `run`: Everything from a prompt to the end of its run.
 *
 * `session`: All runs of a session, also those before it was opened again.
 */
export type LimitScope = "run" | "session" | (string & {});

/**
 * Something that can be limited.
 *
 * `cost`: US dollars, by the prices of the models.
 *
 * `tokens`: Tokens of all kinds.
 *
 * `turns`: Answers of the model.
 *
 * `seconds`: The time that runs take, without that in which the user is asked something.
 */
export type Limited = "toolCalls" | "cost" | "tokens" | "turns" | "seconds" | (string & {});

/** Why an answer is not what a prompt asked for. */
export interface OutputProblem {
  /** Where in the output, as a JSON Pointer; empty for the output as a whole. */
  path: string;
  reason: string;
}

/** What is new in a model response. */
export type Step = 
  | DeltaStep
  | TextStartStep
  | TextEndStep
  | ThinkingStartStep
  | ThinkingEndStep
  | ToolcallStartStep
  | ToolcallEndStep;

/** A tool call as a block of a message. */
export interface ToolCallBlock {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string;
}

/** What is said about an option. */
export interface OptionDetail {
  description?: string;
}

/** The start or the end of a subagent. */
export interface SubagentLifecycle {
  /** Unique in the session. The id of a subagent's own subagent begins with that of the former and a dot. */
  id: string;
  agent: string;
  agentSource: AgentSource;
  status: SubagentLifecycleStatus;
  /** Absent if the session is in memory only. */
  sessionFile?: string;
  parentToolCallId: string;
  index: number;
}

export type SubagentLifecycleStatus = "started" | "completed" | "failed" | "aborted" | (string & {});

/** The progress of a subagent. */
export interface SubagentProgressReport {
  index: number;
  agent: string;
  agentSource: AgentSource;
  task: string;
  parentToolCallId: string;
  progress: SubagentProgress;
  /** Absent if the session is in memory only. */
  sessionFile?: string;
}

/** An event of a subagent's session. */
export interface SubagentEventReport {
  /** The subagent. */
  id: string;
  event: InnerRecord;
}

/** The record of the event, as it is for the session of the client. */
export interface InnerRecord {
  type: string;
  [field: string]: unknown;
}

/** Why consent is needed. */
export interface ApprovalReason {
  code: ApprovalReasonCode;
  /** For the user. */
  text: string;
}

export type ApprovalReasonCode = 
  | "extension"
  | "rule"
  | "untrusted"
  | "path"
  | "hard-link"
  | "unsandboxed"
  | "network"
  | (string & {});

/** Asks the user to choose an option. Answered with `value`. */
export interface SelectExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "select";
  title: string;
  options: string[];
  /** What is said about each option, in their order. Absent if nothing is said about any. */
  optionDetails?: OptionDetail[];
  /** After this many milliseconds the agent goes on without an answer; absent if it waits. */
  timeout?: number;
}

/** Asks the user for consent. Answered with `confirmed`. */
export interface ConfirmExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "confirm";
  title: string;
  message: string;
  /** After this many milliseconds the agent goes on without an answer; absent if it waits. */
  timeout?: number;
}

/** Asks the user for a line of text. Answered with `value`. */
export interface InputExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "input";
  title: string;
  placeholder?: string;
  /** After this many milliseconds the agent goes on without an answer; absent if it waits. */
  timeout?: number;
}

/** Asks the user for a text of any length. Answered with `value`. */
export interface EditorExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "editor";
  title: string;
  /** What the text is at first. */
  prefill?: string;
  /** `true` if it is to look and behave like the place where prompts are written. */
  promptStyle?: boolean;
}

/** Shows a message. Not answered, like all that follow. */
export interface NotifyExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "notify";
  message: string;
  /** How much it matters; absent for `info`. */
  notifyType?: NotifyType;
}

export type NotifyType = "info" | "warning" | "error" | (string & {});

/** Shows a short text under a key. */
export interface SetStatusExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "setStatus";
  statusKey: string;
  /** Absent to remove the text of this key. */
  statusText?: string;
}

/** Shows lines of text under a key. */
export interface SetWidgetExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "setWidget";
  widgetKey: string;
  /** Absent to remove the lines of this key. */
  widgetLines?: string[];
  /** Where to show them. */
  widgetPlacement?: WidgetPlacement;
  /**
   * `true` for a component: the client passes keys on with `widget_input`. Only for clients that declared `render`.
   */
  takesKeys?: boolean;
}

export type WidgetPlacement = "aboveEditor" | "belowEditor" | (string & {});

/** Sets the title of the window. */
export interface SetTitleExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "setTitle";
  title: string;
}

/** Replaces what the user is typing. */
export interface SetEditorTextExtensionUiRequestRecord {
  type: "extension_ui_request";
  id: string;
  method: "set_editor_text";
  text: string;
}

/** Text. */
export interface TextContent {
  type: "text";
  text: string;
}

/** An image as base64, without a `data:` prefix. */
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}

/** More of a block. */
export interface DeltaStep {
  type: "text_delta" | "thinking_delta" | "toolcall_delta";
  /** The index of the block in the message. */
  contentIndex: number;
  /** The text to append to the block; for a tool call, to the text of its arguments. */
  delta: string;
}

/** A text block starts. */
export interface TextStartStep {
  type: "text_start";
  contentIndex: number;
}

/** A text block is complete. */
export interface TextEndStep {
  type: "text_end";
  contentIndex: number;
  content: string;
}

/** A thinking block starts. */
export interface ThinkingStartStep {
  type: "thinking_start";
  contentIndex: number;
}

/** A thinking block is complete. */
export interface ThinkingEndStep {
  type: "thinking_end";
  contentIndex: number;
  content: string;
}

/** A tool call starts. */
export interface ToolcallStartStep {
  type: "toolcall_start";
  contentIndex: number;
  id: string;
  toolName: string;
}

/** A tool call is complete. The tool runs later. */
export interface ToolcallEndStep {
  type: "toolcall_end";
  contentIndex: number;
  toolCall: ToolCallBlock;
}

/** Each command as it is sent. */
export interface CommandMap {
  prompt: PromptCommand;
  steer: SteerCommand;
  follow_up: FollowUpCommand;
  abort: AbortCommand;
  clear_queue: ClearQueueCommand;
  get_state: GetStateCommand;
  get_messages: GetMessagesCommand;
  get_commands: GetCommandsCommand;
  get_completions: GetCompletionsCommand;
  get_protocol_info: GetProtocolInfoCommand;
  get_sandbox: GetSandboxCommand;
  set_sandbox: SetSandboxCommand;
  set_model: SetModelCommand;
  cycle_model: CycleModelCommand;
  get_available_models: GetAvailableModelsCommand;
  get_login_providers: GetLoginProvidersCommand;
  login: LoginCommand;
  set_thinking_level: SetThinkingLevelCommand;
  cycle_thinking_level: CycleThinkingLevelCommand;
  get_available_thinking_levels: GetAvailableThinkingLevelsCommand;
  set_steering_mode: SetSteeringModeCommand;
  set_follow_up_mode: SetFollowUpModeCommand;
  compact: CompactCommand;
  set_auto_compaction: SetAutoCompactionCommand;
  set_auto_retry: SetAutoRetryCommand;
  abort_retry: AbortRetryCommand;
  bash: BashCommand;
  abort_bash: AbortBashCommand;
  new_session: NewSessionCommand;
  switch_session: SwitchSessionCommand;
  fork: ForkCommand;
  clone: CloneCommand;
  get_fork_messages: GetForkMessagesCommand;
  get_entries: GetEntriesCommand;
  get_tree: GetTreeCommand;
  navigate_tree: NavigateTreeCommand;
  set_label: SetLabelCommand;
  list_sessions: ListSessionsCommand;
  delete_session: DeleteSessionCommand;
  get_session_stats: GetSessionStatsCommand;
  export_html: ExportHtmlCommand;
  get_last_assistant_text: GetLastAssistantTextCommand;
  set_session_name: SetSessionNameCommand;
  get_limits: GetLimitsCommand;
  set_limits: SetLimitsCommand;
  set_subagent_subscription: SetSubagentSubscriptionCommand;
  get_subagents: GetSubagentsCommand;
  get_subagent_messages: GetSubagentMessagesCommand;
  get_changes: GetChangesCommand;
  undo: UndoCommand;
  redo: RedoCommand;
  get_pending_changes: GetPendingChangesCommand;
  accept_changes: AcceptChangesCommand;
  discard_changes: DiscardChangesCommand;
  set_host_tools: SetHostToolsCommand;
  set_host_uri_schemes: SetHostUriSchemesCommand;
  set_approvals: SetApprovalsCommand;
  set_client_capabilities: SetClientCapabilitiesCommand;
  widget_input: WidgetInputCommand;
  approval_response: ApprovalResponseCommand;
}

/** What the success response to each command has as `data`. */
export interface CommandData {
  prompt: Accepted;
  steer: Accepted;
  follow_up: Accepted;
  abort: void;
  clear_queue: Queues;
  get_state: State;
  get_messages: Messages;
  get_commands: SlashCommands;
  get_completions: Completions;
  get_protocol_info: ProtocolInfo;
  get_sandbox: SandboxReport;
  set_sandbox: SandboxSummary;
  set_model: Model;
  cycle_model: CycledModel | null;
  get_available_models: Models;
  get_login_providers: LoginProviders;
  login: LoggedIn;
  set_thinking_level: void;
  cycle_thinking_level: Level | null;
  get_available_thinking_levels: Levels;
  set_steering_mode: void;
  set_follow_up_mode: void;
  compact: Compaction;
  set_auto_compaction: void;
  set_auto_retry: void;
  abort_retry: void;
  bash: ShellResult;
  abort_bash: void;
  new_session: Switched;
  switch_session: Switched;
  fork: Forked;
  clone: Switched;
  get_fork_messages: ForkMessages;
  get_entries: Entries;
  get_tree: Tree;
  navigate_tree: Navigated;
  set_label: Written;
  list_sessions: Sessions;
  delete_session: void;
  get_session_stats: SessionStatistics;
  export_html: Exported;
  get_last_assistant_text: LastText;
  set_session_name: void;
  get_limits: LimitsReport;
  set_limits: LimitsReport;
  set_subagent_subscription: SubagentSubscription;
  get_subagents: Subagents;
  get_subagent_messages: SubagentMessages;
  get_changes: ChangesReport;
  undo: RestoreReport;
  redo: RestoreReport;
  get_pending_changes: PendingReport;
  accept_changes: AcceptReport;
  discard_changes: DiscardReport;
  set_host_tools: HostToolNames;
  set_host_uri_schemes: UriSchemes;
  set_approvals: void;
  set_client_capabilities: void;
  widget_input: void;
  approval_response: void;
}

/** Each record that is not a response. */
export interface EventMap {
  agent_start: AgentStartRecord;
  turn_start: TurnStartRecord;
  turn_end: TurnEndRecord;
  message_start: MessageStartRecord;
  message_end: MessageEndRecord;
  tool_execution_start: ToolExecutionStartRecord;
  tool_execution_update: ToolExecutionUpdateRecord;
  tool_execution_end: ToolExecutionEndRecord;
  auto_retry_start: AutoRetryStartRecord;
  ttsr_triggered: TtsrTriggeredRecord;
  todo_reminder: TodoReminderRecord;
  limit_warning: LimitWarningRecord;
  run_changes: RunChangesRecord;
  files_restored: FilesRestoredRecord;
  pending_changes: PendingChangesRecord;
  auto_retry_end: AutoRetryEndRecord;
  extension_error: ExtensionErrorRecord;
  protected_path_changed: ProtectedPathChangedRecord;
  agent_end: AgentEndRecord;
  agent_settled: AgentSettledRecord;
  output_checked: OutputCheckedRecord;
  message_update: MessageUpdateRecord;
  queue_update: QueueUpdateRecord;
  compaction_start: CompactionStartRecord;
  compaction_end: CompactionEndRecord;
  summarization_retry_scheduled: SummarizationRetryScheduledRecord;
  summarization_retry_attempt_start: SummarizationRetryAttemptStartRecord;
  summarization_retry_finished: SummarizationRetryFinishedRecord;
  entry_appended: EntryAppendedRecord;
  thinking_level_changed: ThinkingLevelChangedRecord;
  session_info_changed: SessionInfoChangedRecord;
  bash_execution_update: BashExecutionUpdateRecord;
  extension_ui_request: ExtensionUiRequestRecord;
  host_tool_call: HostToolCallRecord;
  host_tool_cancel: HostToolCancelRecord;
  host_uri_request: HostUriRequestRecord;
  host_uri_cancel: HostUriCancelRecord;
  subagent_lifecycle: SubagentLifecycleRecord;
  subagent_progress: SubagentProgressRecord;
  subagent_event: SubagentEventRecord;
  approval_request: ApprovalRequestRecord;
  approval_resolved: ApprovalResolvedRecord;
  error: ErrorRecord;
}

export type CommandName = keyof CommandMap;
export type EventName = keyof EventMap;

/** The names of all commands. */
export const COMMANDS: readonly CommandName[] = [
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
];
