/** The commands. `options` has their optional fields, and how long to wait. */
export class Commands {
    /** Sends a command whose optional fields are among the options of the call. */
    #call(name, fields, options) {
        const { timeoutMs, signal, ...optional } = options;
        return this.command(name, { ...optional, ...fields }, { timeoutMs, signal });
    }
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
    prompt(message, options = {}) {
        return this.#call("prompt", { message }, options);
    }
    /**
     * Queues a message that the run takes up after the tool calls of the current turn.
     *
     * @param message The text of the user message.
     * @param options.images The images of the user message.
     * @param options.attachments Images, which the model sees, and documents, whose text it reads. They are kept on the
     *   message.
     */
    steer(message, options = {}) {
        return this.#call("steer", { message }, options);
    }
    /**
     * Queues a message that the run takes up when it would otherwise end.
     *
     * @param message The text of the user message.
     * @param options.images The images of the user message.
     * @param options.attachments Images, which the model sees, and documents, whose text it reads. They are kept on the
     *   message.
     */
    followUp(message, options = {}) {
        return this.#call("follow_up", { message }, options);
    }
    /** Aborts the run: cancels the model request, kills running tools and gives up a pending retry. */
    abort(options = {}) {
        return this.#call("abort", {}, options);
    }
    /** Removes all messages from both queues. */
    clearQueue(options = {}) {
        return this.#call("clear_queue", {}, options);
    }
    /** Returns the state of the agent. */
    getState(options = {}) {
        return this.#call("get_state", {}, options);
    }
    /** Returns the messages in the context. */
    getMessages(options = {}) {
        return this.#call("get_messages", {}, options);
    }
    /** Returns the commands that a prompt can invoke with a leading slash. */
    getCommands(options = {}) {
        return this.#call("get_commands", {}, options);
    }
    /**
     * Returns what can follow the name of a slash command of an extension. Only commands with `hasCompletion` have any;
     * for others, and if the extension does not answer within a second, the list is empty.
     *
     * @param command The name of the command.
     * @param options.prefix What the user has typed after the name so far.
     */
    getCompletions(command, options = {}) {
        return this.#call("get_completions", { command }, options);
    }
    /** Returns what this protocol supports, for clients that work with several versions or dialects. */
    getProtocolInfo(options = {}) {
        return this.#call("get_protocol_info", {}, options);
    }
    /**
     * Returns what the tools may do, what of it was tried in the sandbox of this session, and what is not enforced. The
     * sandbox is made first, if there is to be one and no tool has needed it yet. Fails with `sandbox_unavailable` if it
     * cannot be made; then no tool runs either.
     *
     * @param options.connections Also returns the last connections through the proxy: host, port, bytes and decision.
     */
    getSandbox(options = {}) {
        return this.#call("get_sandbox", {}, options);
    }
    /**
     * Changes what the tools may do, from the next call on; calls in progress go on as they began. Fails with `forbidden`
     * if that is less strict than it is now, unless bowline was started with `--client-may-widen`, and with
     * `invalid_argument` if a network other than `full` is asked for without a mode that confines.
     *
     * @param options.mode What tools may do to the machine; without it, as before.
     * @param options.network What they reach of the network; without it, as before.
     */
    setSandbox(options = {}) {
        return this.#call("set_sandbox", {}, options);
    }
    /**
     * Sets the model, effective from the next request.
     *
     * @param provider The exact name of the provider.
     * @param modelId The exact id of the model.
     */
    setModel(provider, modelId, options = {}) {
        return this.#call("set_model", { provider, modelId }, options);
    }
    /** Switches to the next available model. `data` is `null` if there is no other. */
    cycleModel(options = {}) {
        return this.#call("cycle_model", {}, options);
    }
    /** Returns the available models. */
    getAvailableModels(options = {}) {
        return this.#call("get_available_models", {}, options);
    }
    /** Returns the providers that a user may log in to, and whether there is a key for each. */
    getLoginProviders(options = {}) {
        return this.#call("get_login_providers", {}, options);
    }
    /**
     * Logs the user in to a provider. If an extension carries out its logins, the extension shows and asks what it needs;
     * otherwise the user is asked for the API key with an `input`, after they were shown the page where keys are made, if
     * that is known. What comes of it is stored in `auth.json` and used from the next request on. Fails with `cancelled`
     * if the user enters nothing, on `abort` and when the session changes. Other commands are carried out meanwhile.
     *
     * @param providerId The `id` of a provider.
     */
    login(providerId, options = {}) {
        return this.#call("login", { providerId }, options);
    }
    /**
     * Sets the thinking level, effective from the next request.
     *
     * @param level The level. If the model does not have it, the next higher one is used, or else the highest it has.
     */
    setThinkingLevel(level, options = {}) {
        return this.#call("set_thinking_level", { level }, options);
    }
    /** Switches to the model's next thinking level. `data` is `null` if the model has only one. */
    cycleThinkingLevel(options = {}) {
        return this.#call("cycle_thinking_level", {}, options);
    }
    /** Returns the thinking levels of the current model. */
    getAvailableThinkingLevels(options = {}) {
        return this.#call("get_available_thinking_levels", {}, options);
    }
    /**
     * Sets how many messages are taken from the steering queue at a time.
     *
     * @param mode One message, or all queued messages.
     */
    setSteeringMode(mode, options = {}) {
        return this.#call("set_steering_mode", { mode }, options);
    }
    /**
     * Sets how many messages are taken from the follow-up queue at a time.
     *
     * @param mode One message, or all queued messages.
     */
    setFollowUpMode(mode, options = {}) {
        return this.#call("set_follow_up_mode", { mode }, options);
    }
    /**
     * Replaces all but the newest messages with a summary. A run in progress is aborted first.
     *
     * @param options.customInstructions What the summary should focus on.
     */
    compact(options = {}) {
        return this.#call("compact", {}, options);
    }
    /**
     * Enables or disables automatic compaction when the context window is nearly full.
     *
     * @param enabled Applies until the process ends.
     */
    setAutoCompaction(enabled, options = {}) {
        return this.#call("set_auto_compaction", { enabled }, options);
    }
    /**
     * Enables or disables automatic retries after transient errors.
     *
     * @param enabled Applies until the process ends.
     */
    setAutoRetry(enabled, options = {}) {
        return this.#call("set_auto_retry", { enabled }, options);
    }
    /** Gives up a pending retry and ends the run. Otherwise it does nothing. */
    abortRetry(options = {}) {
        return this.#call("abort_retry", {}, options);
    }
    /**
     * Runs a shell command, concurrently with a run. The response is sent when the command has finished.
     *
     * @param command The shell command.
     * @param options.excludeFromContext Keeps the command and its output out of the context.
     */
    bash(command, options = {}) {
        return this.#call("bash", { command }, options);
    }
    /** Kills all commands started with `bash`, including their descendant processes. */
    abortBash(options = {}) {
        return this.#call("abort_bash", {}, options);
    }
    /**
     * Starts an empty session. A run in progress is aborted first.
     *
     * @param options.parentSession The session file that the new session records as its parent.
     */
    newSession(options = {}) {
        return this.#call("new_session", {}, options);
    }
    /**
     * Opens another session. A run in progress is aborted first.
     *
     * @param sessionPath The session file.
     */
    switchSession(sessionPath, options = {}) {
        return this.#call("switch_session", { sessionPath }, options);
    }
    /**
     * Starts a session with the conversation before an earlier user message. A run in progress is aborted first.
     *
     * @param entryId The entry of the message, one of `get_fork_messages`.
     */
    fork(entryId, options = {}) {
        return this.#call("fork", { entryId }, options);
    }
    /** Starts a session with a copy of the whole conversation. A run in progress is aborted first. */
    clone(options = {}) {
        return this.#call("clone", {}, options);
    }
    /** Returns the user messages that the session can be forked at. */
    getForkMessages(options = {}) {
        return this.#call("get_fork_messages", {}, options);
    }
    /**
     * Returns the entries of the session file.
     *
     * @param options.since An entry id; only the entries after it in the file are returned.
     */
    getEntries(options = {}) {
        return this.#call("get_entries", {}, options);
    }
    /**
     * Returns the entries of the session file as a tree.
     *
     * @param options.format `nested`, the default, for nodes within nodes; `flat` for a list, which has the same depth
     *   however long the session is.
     */
    getTree(options = {}) {
        return this.#call("get_tree", {}, options);
    }
    /**
     * Continues from another entry of the session. A run in progress is aborted first.
     *
     * @param entryId The entry. For a user message, the conversation continues before it, so that it can be edited.
     * @param options.summarize Adds a summary of the abandoned branch.
     * @param options.customInstructions What the summary should focus on; only with `summarize`.
     */
    navigateTree(entryId, options = {}) {
        return this.#call("navigate_tree", { entryId }, options);
    }
    /**
     * Sets or removes the label of an entry.
     *
     * @param entryId The entry.
     * @param options.label The label; without it, the entry's label is removed.
     */
    setLabel(entryId, options = {}) {
        return this.#call("set_label", { entryId }, options);
    }
    /**
     * Lists sessions, most recently modified first.
     *
     * @param options.scope `project` lists the sessions of the working directory (the default), `all` lists every
     *   session.
     * @param options.search Text to find in the name, the id or the first message.
     * @param options.limit The maximum number of sessions.
     * @param options.cursor The `nextCursor` of an earlier response: continues after it.
     */
    listSessions(options = {}) {
        return this.#call("list_sessions", {}, options);
    }
    /**
     * Deletes a session that is not in use.
     *
     * @param sessionPath The session file.
     */
    deleteSession(sessionPath, options = {}) {
        return this.#call("delete_session", { sessionPath }, options);
    }
    /** Returns statistics of the session over all its branches. */
    getSessionStats(options = {}) {
        return this.#call("get_session_stats", {}, options);
    }
    /**
     * Exports the session as an HTML page.
     *
     * @param options.outputPath The output file; by default, a generated name in the working directory.
     */
    exportHtml(options = {}) {
        return this.#call("export_html", {}, options);
    }
    /** Returns the text of the newest model response that has any. */
    getLastAssistantText(options = {}) {
        return this.#call("get_last_assistant_text", {}, options);
    }
    /**
     * Sets the name of the session.
     *
     * @param name The name that session lists show. It is trimmed and must not be empty.
     */
    setSessionName(name, options = {}) {
        return this.#call("set_session_name", { name }, options);
    }
    /** Returns what runs and the session may spend, and what they have spent. */
    getLimits(options = {}) {
        return this.#call("get_limits", {}, options);
    }
    /**
     * Sets what runs and the session may spend, from now on, also for the run in progress. Limits that the user has set
     * can only be made stricter unless bowline was started with `--client-may-widen`; else it fails with `forbidden`. All
     * of the limits are set, or none if one is refused.
     *
     * @param options.run The limits of each run. What is absent stays; 0 means unlimited.
     * @param options.session The limits of the session. What is absent stays; 0 means unlimited.
     */
    setLimits(options = {}) {
        return this.#call("set_limits", {}, options);
    }
    /**
     * Sets which records about subagents are sent, also about those that are running. Without it there are none: the tool
     * `task` only reports its progress, as every tool does.
     *
     * @param level `progress` for `subagent_lifecycle` and `subagent_progress`, `events` for `subagent_event` too, `off`
     *   for none.
     */
    setSubagentSubscription(level, options = {}) {
        return this.#call("set_subagent_subscription", { level }, options);
    }
    /** Returns the subagents that are running, subagents of subagents among them. */
    getSubagents(options = {}) {
        return this.#call("get_subagents", {}, options);
    }
    /**
     * Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It works while the
     * subagent is running and for the last 256 that have ended.
     *
     * @param options.subagentId The subagent.
     * @param options.sessionFile Its session file, in place of the id.
     * @param options.fromByte Where to begin: `nextByte` of the response before (default: 0).
     */
    getSubagentMessages(options = {}) {
        return this.#call("get_subagent_messages", {}, options);
    }
    /**
     * Returns what runs changed in files: those of the file tools `write` and `edit`, and those of commands.
     *
     * @param options.run Only this run.
     * @param options.entryId Only runs that changed files after this entry.
     * @param options.diff Adds a unified diff of each run.
     */
    getChanges(options = {}) {
        return this.#call("get_changes", {}, options);
    }
    /**
     * Restores files that runs changed; without `run` and `to`, those of the last run that is not undone. A file that has
     * changed since is a conflict and left alone; new files are moved away. The conversation stays. Refused during a run.
     *
     * @param options.run Only this run, whatever followed it.
     * @param options.to How far back: everything from this run or turn on, or everything after this entry.
     * @param options.dryRun Only returns what would be done.
     */
    undo(options = {}) {
        return this.#call("undo", {}, options);
    }
    /**
     * Changes files again that the last `undo` restored, with the same checks. Refused during a run.
     *
     * @param options.dryRun Only returns what would be done.
     */
    redo(options = {}) {
        return this.#call("redo", {}, options);
    }
    /**
     * Returns what the session changed and nobody has accepted, if bowline was started with `--workspace overlay`.
     *
     * @param options.paths Only these paths, relative to the working directory, and what is below them.
     * @param options.diff Adds a unified diff against the real workspace.
     */
    getPendingChanges(options = {}) {
        return this.#call("get_pending_changes", {}, options);
    }
    /**
     * Applies pending changes to the real workspace. A path that has changed there since is a conflict; it, and what is
     * protected or not supported, is left alone and stays pending. Refused with `busy` during a run, and while processes
     * that tools started are running.
     *
     * @param options.paths Only these paths, relative to the working directory, and what is below them.
     * @param options.force Ends processes that tools left running.
     */
    acceptChanges(options = {}) {
        return this.#call("accept_changes", {}, options);
    }
    /**
     * Throws pending changes away. The model is told. Refused with `busy` during a run, and while processes that tools
     * started are running.
     *
     * @param options.paths Only these paths, relative to the working directory, and what is below them.
     * @param options.force Ends processes that tools left running.
     */
    discardChanges(options = {}) {
        return this.#call("discard_changes", {}, options);
    }
    /**
     * Replaces the tools that the client supplies. The model can call them from its next turn on, in this session and in
     * those that follow it. Each call is a `host_tool_call`.
     *
     * @param tools The tools; none removes all.
     */
    setHostTools(tools, options = {}) {
        return this.#call("set_host_tools", { tools }, options);
    }
    /**
     * Replaces the schemes of the addresses that the client serves. When the model reads or writes `scheme://…`, the
     * client is sent a `host_uri_request`.
     *
     * @param schemes The schemes; none removes all.
     */
    setHostUriSchemes(schemes, options = {}) {
        return this.#call("set_host_uri_schemes", { schemes }, options);
    }
    /**
     * Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than it is now, unless
     * bowline was started with `--client-may-widen`.
     *
     * @param ask `never`: what would have to be asked about is refused. `on-request`: when a rule says so, and when a
     *   call wants more than the sandbox allows. `untrusted`: also about every call that may change something, unless a
     *   rule allows it.
     */
    setApprovals(ask, options = {}) {
        return this.#call("set_approvals", { ask }, options);
    }
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
    setClientCapabilities(options = {}) {
        return this.#call("set_client_capabilities", {}, options);
    }
    /**
     * Passes on what the user does with a component of an extension.
     *
     * @param widgetKey The `widgetKey` of the component.
     * @param options.data Keys as a terminal sends them, such as `\u001b[A` for the arrow up.
     * @param options.close `true` if the user closes the component; `data` is ignored then.
     */
    widgetInput(widgetKey, options = {}) {
        return this.#call("widget_input", { widgetKey }, options);
    }
    /**
     * Answers an `approval_request`. It overtakes every other command. Fails if the approval is not open, and if the
     * decision is none of the options, in which case the call is denied.
     *
     * @param approvalId The id of the request.
     * @param options.decision One of the `options` of the request. Whatever else is sent, also nothing, is a no.
     * @param options.message What the model reads if the call is denied.
     */
    approvalResponse(approvalId, options = {}) {
        return this.#call("approval_response", { approvalId }, options);
    }
}
