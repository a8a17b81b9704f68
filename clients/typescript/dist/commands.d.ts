/**
 * A method for each command.
 *
 * Generated from schema/pi.json: python3 clients/generator typescript
 */
import type { CallOptions } from "./calls.js";
import type { AcceptChangesCommand, AcceptReport, Accepted, ApprovalResponseCommand, AskMode, BashCommand, ChangesReport, CommandData, CommandMap, CommandName, CompactCommand, Compaction, Completions, CycledModel, DiscardChangesCommand, DiscardReport, Entries, ExportHtmlCommand, Exported, FollowUpCommand, ForkMessages, Forked, GetChangesCommand, GetCompletionsCommand, GetEntriesCommand, GetPendingChangesCommand, GetSandboxCommand, GetSubagentMessagesCommand, GetTreeCommand, HostTool, HostToolNames, HostUriScheme, LastText, Level, Levels, LimitsReport, ListSessionsCommand, LoggedIn, LoginProviders, Messages, Model, Models, NavigateTreeCommand, Navigated, NewSessionCommand, PendingReport, PromptCommand, ProtocolInfo, QueueMode, Queues, RedoCommand, RestoreReport, SandboxReport, SandboxSummary, SessionStatistics, Sessions, SetClientCapabilitiesCommand, SetLabelCommand, SetLimitsCommand, SetSandboxCommand, ShellResult, SlashCommands, State, SteerCommand, SubagentMessages, SubagentSubscription, SubagentSubscriptionLevel, Subagents, Switched, ThinkingLevel, Tree, UndoCommand, UriSchemes, WidgetInputCommand, Written } from "./protocol.js";
/** The fields of a command that are not its type or its id. */
export type FieldsOf<Name extends CommandName> = Omit<CommandMap[Name], "id" | "type">;
/** The commands. `options` has their optional fields, and how long to wait. */
export declare abstract class Commands {
    #private;
    /** Sends a command and returns the data of its response. */
    abstract command<Name extends CommandName>(name: Name, fields: FieldsOf<Name>, options?: CallOptions): Promise<CommandData[Name]>;
    /**
     * Starts a run with a user message. The message is in the session file before the response is sent.
     *
     * @param message The text of the user message.
     * @param options.images The images of the user message.
     * @param options.attachments Images, which the model sees, and documents, whose text it reads. They are kept on the
     *   message.
     * @param options.streamingBehavior The queue for the message if a run is in progress; without it, the prompt is
     *   refused in that case.
     * @param options.outputSchema A JSON Schema. The run ends with a JSON value that satisfies it, or fails with the
     *   error kind `invalid_output`.
     * @param options.outputRetries How often the model is asked again if its output is wrong (default: 2); only with
     *   `outputSchema`.
     */
    prompt(message: string, options?: Pick<PromptCommand, "images" | "attachments" | "streamingBehavior" | "outputSchema" | "outputRetries"> & CallOptions): Promise<Accepted>;
    /**
     * Queues a message that the run takes up after the tool calls of the current turn.
     *
     * @param message The text of the user message.
     * @param options.images The images of the user message.
     * @param options.attachments Images, which the model sees, and documents, whose text it reads. They are kept on the
     *   message.
     */
    steer(message: string, options?: Pick<SteerCommand, "images" | "attachments"> & CallOptions): Promise<Accepted>;
    /**
     * Queues a message that the run takes up when it would otherwise end.
     *
     * @param message The text of the user message.
     * @param options.images The images of the user message.
     * @param options.attachments Images, which the model sees, and documents, whose text it reads. They are kept on the
     *   message.
     */
    followUp(message: string, options?: Pick<FollowUpCommand, "images" | "attachments"> & CallOptions): Promise<Accepted>;
    /** Aborts the run: cancels the model request, kills running tools and gives up a pending retry. */
    abort(options?: CallOptions): Promise<void>;
    /** Removes all messages from both queues. */
    clearQueue(options?: CallOptions): Promise<Queues>;
    /** Returns the state of the agent. */
    getState(options?: CallOptions): Promise<State>;
    /** Returns the messages in the context. */
    getMessages(options?: CallOptions): Promise<Messages>;
    /** Returns the commands that a prompt can invoke with a leading slash. */
    getCommands(options?: CallOptions): Promise<SlashCommands>;
    /**
     * Returns what can follow the name of a slash command of an extension. Only commands with `hasCompletion` have any;
     * for others, and if the extension does not answer within a second, the list is empty.
     *
     * @param command The name of the command.
     * @param options.prefix What the user has typed after the name so far.
     */
    getCompletions(command: string, options?: Pick<GetCompletionsCommand, "prefix"> & CallOptions): Promise<Completions>;
    /** Returns what this protocol supports, for clients that work with several versions or dialects. */
    getProtocolInfo(options?: CallOptions): Promise<ProtocolInfo>;
    /**
     * Returns what the tools may do, what of it was tried in the sandbox of this session, and what is not enforced. The
     * sandbox is made first, if there is to be one and no tool has needed it yet. Fails with `sandbox_unavailable` if it
     * cannot be made; then no tool runs either.
     *
     * @param options.connections Also returns the last connections through the proxy: host, port, bytes and decision.
     */
    getSandbox(options?: Pick<GetSandboxCommand, "connections"> & CallOptions): Promise<SandboxReport>;
    /**
     * Changes what the tools may do, from the next call on; calls in progress go on as they began. Fails with `forbidden`
     * if that is less strict than it is now, unless bowline was started with `--client-may-widen`, and with
     * `invalid_argument` if a network other than `full` is asked for without a mode that confines.
     *
     * @param options.mode What tools may do to the machine; without it, as before.
     * @param options.network What they reach of the network; without it, as before.
     */
    setSandbox(options?: Pick<SetSandboxCommand, "mode" | "network"> & CallOptions): Promise<SandboxSummary>;
    /**
     * Sets the model, effective from the next request.
     *
     * @param provider The exact name of the provider.
     * @param modelId The exact id of the model.
     */
    setModel(provider: string, modelId: string, options?: CallOptions): Promise<Model>;
    /** Switches to the next available model. `data` is `null` if there is no other. */
    cycleModel(options?: CallOptions): Promise<CycledModel | null>;
    /** Returns the available models. */
    getAvailableModels(options?: CallOptions): Promise<Models>;
    /** Returns the providers that a user may log in to, and whether there is a key for each. */
    getLoginProviders(options?: CallOptions): Promise<LoginProviders>;
    /**
     * Logs the user in to a provider. If an extension carries out its logins, the extension shows and asks what it needs;
     * otherwise the user is asked for the API key with an `input`, after they were shown the page where keys are made, if
     * that is known. What comes of it is stored in `auth.json` and used from the next request on. Fails with `cancelled`
     * if the user enters nothing, on `abort` and when the session changes. Other commands are carried out meanwhile.
     *
     * @param providerId The `id` of a provider.
     */
    login(providerId: string, options?: CallOptions): Promise<LoggedIn>;
    /**
     * Sets the thinking level, effective from the next request.
     *
     * @param level The level. If the model does not have it, the next higher one is used, or else the highest it has.
     */
    setThinkingLevel(level: ThinkingLevel, options?: CallOptions): Promise<void>;
    /** Switches to the model's next thinking level. `data` is `null` if the model has only one. */
    cycleThinkingLevel(options?: CallOptions): Promise<Level | null>;
    /** Returns the thinking levels of the current model. */
    getAvailableThinkingLevels(options?: CallOptions): Promise<Levels>;
    /**
     * Sets how many messages are taken from the steering queue at a time.
     *
     * @param mode One message, or all queued messages.
     */
    setSteeringMode(mode: QueueMode, options?: CallOptions): Promise<void>;
    /**
     * Sets how many messages are taken from the follow-up queue at a time.
     *
     * @param mode One message, or all queued messages.
     */
    setFollowUpMode(mode: QueueMode, options?: CallOptions): Promise<void>;
    /**
     * Replaces all but the newest messages with a summary. A run in progress is aborted first.
     *
     * @param options.customInstructions What the summary should focus on.
     */
    compact(options?: Pick<CompactCommand, "customInstructions"> & CallOptions): Promise<Compaction>;
    /**
     * Enables or disables automatic compaction when the context window is nearly full.
     *
     * @param enabled Applies until the process ends.
     */
    setAutoCompaction(enabled: boolean, options?: CallOptions): Promise<void>;
    /**
     * Enables or disables automatic retries after transient errors.
     *
     * @param enabled Applies until the process ends.
     */
    setAutoRetry(enabled: boolean, options?: CallOptions): Promise<void>;
    /** Gives up a pending retry and ends the run. Otherwise it does nothing. */
    abortRetry(options?: CallOptions): Promise<void>;
    /**
     * Runs a shell command, concurrently with a run. The response is sent when the command has finished.
     *
     * @param command The shell command.
     * @param options.excludeFromContext Keeps the command and its output out of the context.
     */
    bash(command: string, options?: Pick<BashCommand, "excludeFromContext"> & CallOptions): Promise<ShellResult>;
    /** Kills all commands started with `bash`, including their descendant processes. */
    abortBash(options?: CallOptions): Promise<void>;
    /**
     * Starts an empty session. A run in progress is aborted first.
     *
     * @param options.parentSession The session file that the new session records as its parent.
     */
    newSession(options?: Pick<NewSessionCommand, "parentSession"> & CallOptions): Promise<Switched>;
    /**
     * Opens another session. A run in progress is aborted first.
     *
     * @param sessionPath The session file.
     */
    switchSession(sessionPath: string, options?: CallOptions): Promise<Switched>;
    /**
     * Starts a session with the conversation before an earlier user message. A run in progress is aborted first.
     *
     * @param entryId The entry of the message, one of `get_fork_messages`.
     */
    fork(entryId: string, options?: CallOptions): Promise<Forked>;
    /** Starts a session with a copy of the whole conversation. A run in progress is aborted first. */
    clone(options?: CallOptions): Promise<Switched>;
    /** Returns the user messages that the session can be forked at. */
    getForkMessages(options?: CallOptions): Promise<ForkMessages>;
    /**
     * Returns the entries of the session file.
     *
     * @param options.since An entry id; only the entries after it in the file are returned.
     */
    getEntries(options?: Pick<GetEntriesCommand, "since"> & CallOptions): Promise<Entries>;
    /**
     * Returns the entries of the session file as a tree.
     *
     * @param options.format `nested`, the default, for nodes within nodes; `flat` for a list, which has the same depth
     *   however long the session is.
     */
    getTree(options?: Pick<GetTreeCommand, "format"> & CallOptions): Promise<Tree>;
    /**
     * Continues from another entry of the session. A run in progress is aborted first.
     *
     * @param entryId The entry. For a user message, the conversation continues before it, so that it can be edited.
     * @param options.summarize Adds a summary of the abandoned branch.
     * @param options.customInstructions What the summary should focus on; only with `summarize`.
     */
    navigateTree(entryId: string, options?: Pick<NavigateTreeCommand, "summarize" | "customInstructions"> & CallOptions): Promise<Navigated>;
    /**
     * Sets or removes the label of an entry.
     *
     * @param entryId The entry.
     * @param options.label The label; without it, the entry's label is removed.
     */
    setLabel(entryId: string, options?: Pick<SetLabelCommand, "label"> & CallOptions): Promise<Written>;
    /**
     * Lists sessions, most recently modified first.
     *
     * @param options.scope `project` lists the sessions of the working directory (the default), `all` lists every
     *   session.
     * @param options.search Text to find in the name, the id or the first message.
     * @param options.limit The maximum number of sessions.
     * @param options.cursor The `nextCursor` of an earlier response: continues after it.
     */
    listSessions(options?: Pick<ListSessionsCommand, "scope" | "search" | "limit" | "cursor"> & CallOptions): Promise<Sessions>;
    /**
     * Deletes a session that is not in use.
     *
     * @param sessionPath The session file.
     */
    deleteSession(sessionPath: string, options?: CallOptions): Promise<void>;
    /** Returns statistics of the session over all its branches. */
    getSessionStats(options?: CallOptions): Promise<SessionStatistics>;
    /**
     * Exports the session as an HTML page.
     *
     * @param options.outputPath The output file; by default, a generated name in the working directory.
     */
    exportHtml(options?: Pick<ExportHtmlCommand, "outputPath"> & CallOptions): Promise<Exported>;
    /** Returns the text of the newest model response that has any. */
    getLastAssistantText(options?: CallOptions): Promise<LastText>;
    /**
     * Sets the name of the session.
     *
     * @param name The name that session lists show. It is trimmed and must not be empty.
     */
    setSessionName(name: string, options?: CallOptions): Promise<void>;
    /** Returns what runs and the session may spend, and what they have spent. */
    getLimits(options?: CallOptions): Promise<LimitsReport>;
    /**
     * Sets what runs and the session may spend, from now on, also for the run in progress. Limits that the user has set
     * can only be made stricter unless bowline was started with `--client-may-widen`; else it fails with `forbidden`. All
     * of the limits are set, or none if one is refused.
     *
     * @param options.run The limits of each run. What is absent stays; 0 means unlimited.
     * @param options.session The limits of the session. What is absent stays; 0 means unlimited.
     */
    setLimits(options?: Pick<SetLimitsCommand, "run" | "session"> & CallOptions): Promise<LimitsReport>;
    /**
     * Sets which records about subagents are sent, also about those that are running. Without it there are none: the tool
     * `task` only reports its progress, as every tool does.
     *
     * @param level `progress` for `subagent_lifecycle` and `subagent_progress`, `events` for `subagent_event` too, `off`
     *   for none.
     */
    setSubagentSubscription(level: SubagentSubscriptionLevel, options?: CallOptions): Promise<SubagentSubscription>;
    /** Returns the subagents that are running, subagents of subagents among them. */
    getSubagents(options?: CallOptions): Promise<Subagents>;
    /**
     * Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It works while the
     * subagent is running and for the last 256 that have ended.
     *
     * @param options.subagentId The subagent.
     * @param options.sessionFile Its session file, in place of the id.
     * @param options.fromByte Where to begin: `nextByte` of the response before (default: 0).
     */
    getSubagentMessages(options?: Pick<GetSubagentMessagesCommand, "subagentId" | "sessionFile" | "fromByte"> & CallOptions): Promise<SubagentMessages>;
    /**
     * Returns what runs changed in files: those of the file tools `write` and `edit`, and those of commands.
     *
     * @param options.run Only this run.
     * @param options.entryId Only runs that changed files after this entry.
     * @param options.diff Adds a unified diff of each run.
     */
    getChanges(options?: Pick<GetChangesCommand, "run" | "entryId" | "diff"> & CallOptions): Promise<ChangesReport>;
    /**
     * Restores files that runs changed; without `run` and `to`, those of the last run that is not undone. A file that has
     * changed since is a conflict and left alone; new files are moved away. The conversation stays. Refused during a run.
     *
     * @param options.run Only this run, whatever followed it.
     * @param options.to How far back: everything from this run or turn on, or everything after this entry.
     * @param options.dryRun Only returns what would be done.
     */
    undo(options?: Pick<UndoCommand, "run" | "to" | "dryRun"> & CallOptions): Promise<RestoreReport>;
    /**
     * Changes files again that the last `undo` restored, with the same checks. Refused during a run.
     *
     * @param options.dryRun Only returns what would be done.
     */
    redo(options?: Pick<RedoCommand, "dryRun"> & CallOptions): Promise<RestoreReport>;
    /**
     * Returns what the session changed and nobody has accepted, if bowline was started with `--workspace overlay`.
     *
     * @param options.paths Only these paths, relative to the working directory, and what is below them.
     * @param options.diff Adds a unified diff against the real workspace.
     */
    getPendingChanges(options?: Pick<GetPendingChangesCommand, "paths" | "diff"> & CallOptions): Promise<PendingReport>;
    /**
     * Applies pending changes to the real workspace. A path that has changed there since is a conflict; it, and what is
     * protected or not supported, is left alone and stays pending. Refused with `busy` during a run, and while processes
     * that tools started are running.
     *
     * @param options.paths Only these paths, relative to the working directory, and what is below them.
     * @param options.force Ends processes that tools left running.
     */
    acceptChanges(options?: Pick<AcceptChangesCommand, "paths" | "force"> & CallOptions): Promise<AcceptReport>;
    /**
     * Throws pending changes away. The model is told. Refused with `busy` during a run, and while processes that tools
     * started are running.
     *
     * @param options.paths Only these paths, relative to the working directory, and what is below them.
     * @param options.force Ends processes that tools left running.
     */
    discardChanges(options?: Pick<DiscardChangesCommand, "paths" | "force"> & CallOptions): Promise<DiscardReport>;
    /**
     * Replaces the tools that the client supplies. The model can call them from its next turn on, in this session and in
     * those that follow it. Each call is a `host_tool_call`.
     *
     * @param tools The tools; none removes all.
     */
    setHostTools(tools: HostTool[], options?: CallOptions): Promise<HostToolNames>;
    /**
     * Replaces the schemes of the addresses that the client serves. When the model reads or writes `scheme://…`, the
     * client is sent a `host_uri_request`.
     *
     * @param schemes The schemes; none removes all.
     */
    setHostUriSchemes(schemes: HostUriScheme[], options?: CallOptions): Promise<UriSchemes>;
    /**
     * Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than it is now, unless
     * bowline was started with `--client-may-widen`.
     *
     * @param ask `never`: what would have to be asked about is refused. `on-request`: when a rule says so, and when a
     *   call wants more than the sandbox allows. `untrusted`: also about every call that may change something, unless a
     *   rule allows it.
     */
    setApprovals(ask: AskMode, options?: CallOptions): Promise<void>;
    /**
     * Says what the client can do. What is absent stays as it is.
     *
     * @param options.approvals How the client wants to be asked about tool calls: with a dialog (the default), or with
     *   `approval_request`.
     * @param options.changes Whether the client gets a `run_changes` record for each run that changed files.
     * @param options.render Whether the client shows components of pi's extensions: as `setWidget` with `takesKeys`,
     *   whose keys it passes on with `widget_input`. Sent again when the size changes.
     * @param options.columns The width for components in characters, by default 80.
     * @param options.rows The height for components in lines, by default 24.
     */
    setClientCapabilities(options?: Pick<SetClientCapabilitiesCommand, "approvals" | "changes" | "render" | "columns" | "rows"> & CallOptions): Promise<void>;
    /**
     * Passes on what the user does with a component of an extension.
     *
     * @param widgetKey The `widgetKey` of the component.
     * @param options.data Keys as a terminal sends them, such as `\u001b[A` for the arrow up.
     * @param options.close `true` if the user closes the component; `data` is ignored then.
     */
    widgetInput(widgetKey: string, options?: Pick<WidgetInputCommand, "data" | "close"> & CallOptions): Promise<void>;
    /**
     * Answers an `approval_request`. It overtakes every other command. Fails if the approval is not open, and if the
     * decision is none of the options, in which case the call is denied.
     *
     * @param approvalId The id of the request.
     * @param options.decision One of the `options` of the request. Whatever else is sent, also nothing, is a no.
     * @param options.message What the model reads if the call is denied.
     */
    approvalResponse(approvalId: string, options?: Pick<ApprovalResponseCommand, "decision" | "message"> & CallOptions): Promise<void>;
}
