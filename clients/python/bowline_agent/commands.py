"""A method for each command.

Generated from schema/pi.json: python3 clients/generator
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TYPE_CHECKING, cast

from .protocol import (
    AcceptReport,
    Accepted,
    ApprovalStyle,
    AskMode,
    AttachmentInput,
    ChangesReport,
    Compaction,
    Completions,
    CycledModel,
    DiscardReport,
    Entries,
    Exported,
    ForkMessages,
    Forked,
    HostTool,
    HostToolNames,
    HostUriScheme,
    ImageInput,
    LastText,
    Level,
    Levels,
    LimitSettings,
    LimitsReport,
    LoggedIn,
    LoginProviders,
    Messages,
    Model,
    Models,
    Navigated,
    PendingReport,
    ProtocolInfo,
    QueueMode,
    Queues,
    RestoreReport,
    SandboxMode,
    SandboxNetwork,
    SandboxReport,
    SandboxSummary,
    SessionScope,
    SessionStatistics,
    Sessions,
    ShellResult,
    SlashCommands,
    State,
    StreamingBehavior,
    SubagentMessages,
    SubagentSubscription,
    SubagentSubscriptionLevel,
    Subagents,
    Switched,
    ThinkingLevel,
    Tree,
    TreeFormat,
    UndoTarget,
    UriSchemes,
    Written,
)
from .timeouts import DEFAULT, Timeout

if TYPE_CHECKING:
    from .runs import Run, RunResult
    from .sync import SyncRun


class AsyncCommands:
    """The commands, as coroutines."""

    async def _command(self, name: str, fields: Dict[str, Any], timeout: Timeout) -> Any:
        raise NotImplementedError

    def _start_run(self, fields: Dict[str, Any], timeout: Timeout) -> Run:
        raise NotImplementedError

    async def _run_to_end(self, fields: Dict[str, Any], timeout: Optional[float]) -> RunResult:
        raise NotImplementedError

    def prompt(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        streaming_behavior: Optional[StreamingBehavior] = None,
        output_schema: Optional[Dict[str, Any]] = None,
        output_retries: Optional[int] = None,
        timeout: Timeout = DEFAULT,
    ) -> Run:
        """Starts a run with a user message. The message is in the session file before the response is
        sent.

        The message is sent at once. Iterate over the run for its events.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
            streaming_behavior: The queue for the message if a run is in progress; without it, the prompt
                is refused in that case.
            output_schema: A JSON Schema. The run ends with a JSON value that satisfies it, or fails with
                the error kind `invalid_output`.
            output_retries: How often the model is asked again if its output is wrong (default: 2); only
                with `outputSchema`.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
            "streamingBehavior": streaming_behavior,
            "outputSchema": output_schema,
            "outputRetries": output_retries,
        }
        return self._start_run(fields, timeout)

    async def prompt_and_wait(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        streaming_behavior: Optional[StreamingBehavior] = None,
        output_schema: Optional[Dict[str, Any]] = None,
        output_retries: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> RunResult:
        """Sends a message, waits for the end of its run and returns the result.

        After `timeout` seconds, and if the caller is cancelled, the run is aborted.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
            streaming_behavior: The queue for the message if a run is in progress; without it, the prompt
                is refused in that case.
            output_schema: A JSON Schema. The run ends with a JSON value that satisfies it, or fails with
                the error kind `invalid_output`.
            output_retries: How often the model is asked again if its output is wrong (default: 2); only
                with `outputSchema`.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
            "streamingBehavior": streaming_behavior,
            "outputSchema": output_schema,
            "outputRetries": output_retries,
        }
        return await self._run_to_end(fields, timeout)

    async def steer(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        timeout: Timeout = DEFAULT,
    ) -> Accepted:
        """Queues a message that the run takes up after the tool calls of the current turn.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
        }
        return cast(Accepted, await self._command("steer", fields, timeout))

    async def follow_up(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        timeout: Timeout = DEFAULT,
    ) -> Accepted:
        """Queues a message that the run takes up when it would otherwise end.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
        }
        return cast(Accepted, await self._command("follow_up", fields, timeout))

    async def abort(self, *, timeout: Timeout = DEFAULT) -> None:
        """Aborts the run: cancels the model request, kills running tools and gives up a pending retry."""
        await self._command("abort", {}, timeout)

    async def clear_queue(self, *, timeout: Timeout = DEFAULT) -> Queues:
        """Removes all messages from both queues."""
        return cast(Queues, await self._command("clear_queue", {}, timeout))

    async def get_state(self, *, timeout: Timeout = DEFAULT) -> State:
        """Returns the state of the agent."""
        return cast(State, await self._command("get_state", {}, timeout))

    async def get_messages(self, *, timeout: Timeout = DEFAULT) -> Messages:
        """Returns the messages in the context."""
        return cast(Messages, await self._command("get_messages", {}, timeout))

    async def get_commands(self, *, timeout: Timeout = DEFAULT) -> SlashCommands:
        """Returns the commands that a prompt can invoke with a leading slash."""
        return cast(SlashCommands, await self._command("get_commands", {}, timeout))

    async def get_completions(
        self,
        command: str,
        *,
        prefix: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Completions:
        """Returns what can follow the name of a slash command of an extension. Only commands with
        `hasCompletion` have any; for others, and if the extension does not answer within a second, the
        list is empty.

        Args:
            command: The name of the command.
            prefix: What the user has typed after the name so far.
        """
        fields = {
            "command": command,
            "prefix": prefix,
        }
        return cast(Completions, await self._command("get_completions", fields, timeout))

    async def get_protocol_info(self, *, timeout: Timeout = DEFAULT) -> ProtocolInfo:
        """Returns what this protocol supports, for clients that work with several versions or dialects."""
        return cast(ProtocolInfo, await self._command("get_protocol_info", {}, timeout))

    async def get_sandbox(
        self,
        *,
        connections: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> SandboxReport:
        """Returns what the tools may do, what of it was tried in the sandbox of this session, and what is
        not enforced. The sandbox is made first, if there is to be one and no tool has needed it yet.
        Fails with `sandbox_unavailable` if it cannot be made; then no tool runs either.

        Args:
            connections: Also returns the last connections through the proxy: host, port, bytes and
                decision.
        """
        return cast(SandboxReport, await self._command("get_sandbox", {"connections": connections}, timeout))

    async def set_sandbox(
        self,
        *,
        mode: Optional[SandboxMode] = None,
        network: Optional[SandboxNetwork] = None,
        timeout: Timeout = DEFAULT,
    ) -> SandboxSummary:
        """Changes what the tools may do, from the next call on; calls in progress go on as they began.
        Fails with `forbidden` if that is less strict than it is now, unless bowline was started with
        `--client-may-widen`, and with `invalid_argument` if a network other than `full` is asked for
        without a mode that confines.

        Args:
            mode: What tools may do to the machine; without it, as before.
            network: What they reach of the network; without it, as before.
        """
        fields = {
            "mode": mode,
            "network": network,
        }
        return cast(SandboxSummary, await self._command("set_sandbox", fields, timeout))

    async def set_model(self, provider: str, model_id: str, *, timeout: Timeout = DEFAULT) -> Model:
        """Sets the model, effective from the next request.

        Args:
            provider: The exact name of the provider.
            model_id: The exact id of the model.
        """
        fields = {
            "provider": provider,
            "modelId": model_id,
        }
        return cast(Model, await self._command("set_model", fields, timeout))

    async def cycle_model(self, *, timeout: Timeout = DEFAULT) -> Optional[CycledModel]:
        """Switches to the next available model. `data` is `null` if there is no other."""
        return cast(Optional[CycledModel], await self._command("cycle_model", {}, timeout))

    async def get_available_models(self, *, timeout: Timeout = DEFAULT) -> Models:
        """Returns the available models."""
        return cast(Models, await self._command("get_available_models", {}, timeout))

    async def get_login_providers(self, *, timeout: Timeout = DEFAULT) -> LoginProviders:
        """Returns the providers that a user may log in to, and whether there is a key for each."""
        return cast(LoginProviders, await self._command("get_login_providers", {}, timeout))

    async def login(self, provider_id: str, *, timeout: Timeout = DEFAULT) -> LoggedIn:
        """Logs the user in to a provider. If an extension carries out its logins, the extension shows and
        asks what it needs; otherwise the user is asked for the API key with an `input`, after they were
        shown the page where keys are made, if that is known. What comes of it is stored in `auth.json`
        and used from the next request on. Fails with `cancelled` if the user enters nothing, on `abort`
        and when the session changes. Other commands are carried out meanwhile.

        Args:
            provider_id: The `id` of a provider.
        """
        return cast(LoggedIn, await self._command("login", {"providerId": provider_id}, timeout))

    async def set_thinking_level(self, level: ThinkingLevel, *, timeout: Timeout = DEFAULT) -> None:
        """Sets the thinking level, effective from the next request.

        Args:
            level: The level. If the model does not have it, the next higher one is used, or else the
                highest it has.
        """
        await self._command("set_thinking_level", {"level": level}, timeout)

    async def cycle_thinking_level(self, *, timeout: Timeout = DEFAULT) -> Optional[Level]:
        """Switches to the model's next thinking level. `data` is `null` if the model has only one."""
        return cast(Optional[Level], await self._command("cycle_thinking_level", {}, timeout))

    async def get_available_thinking_levels(self, *, timeout: Timeout = DEFAULT) -> Levels:
        """Returns the thinking levels of the current model."""
        return cast(Levels, await self._command("get_available_thinking_levels", {}, timeout))

    async def set_steering_mode(self, mode: QueueMode, *, timeout: Timeout = DEFAULT) -> None:
        """Sets how many messages are taken from the steering queue at a time.

        Args:
            mode: One message, or all queued messages.
        """
        await self._command("set_steering_mode", {"mode": mode}, timeout)

    async def set_follow_up_mode(self, mode: QueueMode, *, timeout: Timeout = DEFAULT) -> None:
        """Sets how many messages are taken from the follow-up queue at a time.

        Args:
            mode: One message, or all queued messages.
        """
        await self._command("set_follow_up_mode", {"mode": mode}, timeout)

    async def compact(
        self,
        *,
        custom_instructions: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Compaction:
        """Replaces all but the newest messages with a summary. A run in progress is aborted first.

        Args:
            custom_instructions: What the summary should focus on.
        """
        fields = {
            "customInstructions": custom_instructions,
        }
        return cast(Compaction, await self._command("compact", fields, timeout))

    async def set_auto_compaction(self, enabled: bool, *, timeout: Timeout = DEFAULT) -> None:
        """Enables or disables automatic compaction when the context window is nearly full.

        Args:
            enabled: Applies until the process ends.
        """
        await self._command("set_auto_compaction", {"enabled": enabled}, timeout)

    async def set_auto_retry(self, enabled: bool, *, timeout: Timeout = DEFAULT) -> None:
        """Enables or disables automatic retries after transient errors.

        Args:
            enabled: Applies until the process ends.
        """
        await self._command("set_auto_retry", {"enabled": enabled}, timeout)

    async def abort_retry(self, *, timeout: Timeout = DEFAULT) -> None:
        """Gives up a pending retry and ends the run. Otherwise it does nothing."""
        await self._command("abort_retry", {}, timeout)

    async def bash(
        self,
        command: str,
        *,
        exclude_from_context: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> ShellResult:
        """Runs a shell command, concurrently with a run. The response is sent when the command has
        finished.

        Args:
            command: The shell command.
            exclude_from_context: Keeps the command and its output out of the context.
        """
        fields = {
            "command": command,
            "excludeFromContext": exclude_from_context,
        }
        return cast(ShellResult, await self._command("bash", fields, timeout))

    async def abort_bash(self, *, timeout: Timeout = DEFAULT) -> None:
        """Kills all commands started with `bash`, including their descendant processes."""
        await self._command("abort_bash", {}, timeout)

    async def new_session(
        self,
        *,
        parent_session: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Switched:
        """Starts an empty session. A run in progress is aborted first.

        Args:
            parent_session: The session file that the new session records as its parent.
        """
        return cast(Switched, await self._command("new_session", {"parentSession": parent_session}, timeout))

    async def switch_session(self, session_path: str, *, timeout: Timeout = DEFAULT) -> Switched:
        """Opens another session. A run in progress is aborted first.

        Args:
            session_path: The session file.
        """
        return cast(Switched, await self._command("switch_session", {"sessionPath": session_path}, timeout))

    async def fork(self, entry_id: str, *, timeout: Timeout = DEFAULT) -> Forked:
        """Starts a session with the conversation before an earlier user message. A run in progress is
        aborted first.

        Args:
            entry_id: The entry of the message, one of `get_fork_messages`.
        """
        return cast(Forked, await self._command("fork", {"entryId": entry_id}, timeout))

    async def clone(self, *, timeout: Timeout = DEFAULT) -> Switched:
        """Starts a session with a copy of the whole conversation. A run in progress is aborted first."""
        return cast(Switched, await self._command("clone", {}, timeout))

    async def get_fork_messages(self, *, timeout: Timeout = DEFAULT) -> ForkMessages:
        """Returns the user messages that the session can be forked at."""
        return cast(ForkMessages, await self._command("get_fork_messages", {}, timeout))

    async def get_entries(self, *, since: Optional[str] = None, timeout: Timeout = DEFAULT) -> Entries:
        """Returns the entries of the session file.

        Args:
            since: An entry id; only the entries after it in the file are returned.
        """
        return cast(Entries, await self._command("get_entries", {"since": since}, timeout))

    async def get_tree(self, *, format: Optional[TreeFormat] = None, timeout: Timeout = DEFAULT) -> Tree:
        """Returns the entries of the session file as a tree.

        Args:
            format: `nested`, the default, for nodes within nodes; `flat` for a list, which has the same
                depth however long the session is.
        """
        return cast(Tree, await self._command("get_tree", {"format": format}, timeout))

    async def navigate_tree(
        self,
        entry_id: str,
        *,
        summarize: Optional[bool] = None,
        custom_instructions: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Navigated:
        """Continues from another entry of the session. A run in progress is aborted first.

        Args:
            entry_id: The entry. For a user message, the conversation continues before it, so that it can
                be edited.
            summarize: Adds a summary of the abandoned branch.
            custom_instructions: What the summary should focus on; only with `summarize`.
        """
        fields = {
            "entryId": entry_id,
            "summarize": summarize,
            "customInstructions": custom_instructions,
        }
        return cast(Navigated, await self._command("navigate_tree", fields, timeout))

    async def set_label(
        self,
        entry_id: str,
        *,
        label: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Written:
        """Sets or removes the label of an entry.

        Args:
            entry_id: The entry.
            label: The label; without it, the entry's label is removed.
        """
        fields = {
            "entryId": entry_id,
            "label": label,
        }
        return cast(Written, await self._command("set_label", fields, timeout))

    async def list_sessions(
        self,
        *,
        scope: Optional[SessionScope] = None,
        search: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Sessions:
        """Lists sessions, most recently modified first.

        Args:
            scope: `project` lists the sessions of the working directory (the default), `all` lists every
                session.
            search: Text to find in the name, the id or the first message.
            limit: The maximum number of sessions.
            cursor: The `nextCursor` of an earlier response: continues after it.
        """
        fields = {
            "scope": scope,
            "search": search,
            "limit": limit,
            "cursor": cursor,
        }
        return cast(Sessions, await self._command("list_sessions", fields, timeout))

    async def delete_session(self, session_path: str, *, timeout: Timeout = DEFAULT) -> None:
        """Deletes a session that is not in use.

        Args:
            session_path: The session file.
        """
        await self._command("delete_session", {"sessionPath": session_path}, timeout)

    async def get_session_stats(self, *, timeout: Timeout = DEFAULT) -> SessionStatistics:
        """Returns statistics of the session over all its branches."""
        return cast(SessionStatistics, await self._command("get_session_stats", {}, timeout))

    async def export_html(
        self,
        *,
        output_path: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Exported:
        """Exports the session as an HTML page.

        Args:
            output_path: The output file; by default, a generated name in the working directory.
        """
        return cast(Exported, await self._command("export_html", {"outputPath": output_path}, timeout))

    async def get_last_assistant_text(self, *, timeout: Timeout = DEFAULT) -> LastText:
        """Returns the text of the newest model response that has any."""
        return cast(LastText, await self._command("get_last_assistant_text", {}, timeout))

    async def set_session_name(self, name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Sets the name of the session.

        Args:
            name: The name that session lists show. It is trimmed and must not be empty.
        """
        await self._command("set_session_name", {"name": name}, timeout)

    async def get_limits(self, *, timeout: Timeout = DEFAULT) -> LimitsReport:
        """Returns what runs and the session may spend, and what they have spent."""
        return cast(LimitsReport, await self._command("get_limits", {}, timeout))

    async def set_limits(
        self,
        *,
        run: Optional[LimitSettings] = None,
        session: Optional[LimitSettings] = None,
        timeout: Timeout = DEFAULT,
    ) -> LimitsReport:
        """Sets what runs and the session may spend, from now on, also for the run in progress. Limits that
        the user has set can only be made stricter unless bowline was started with `--client-may-widen`;
        else it fails with `forbidden`. All of the limits are set, or none if one is refused.

        Args:
            run: The limits of each run. What is absent stays; 0 means unlimited.
            session: The limits of the session. What is absent stays; 0 means unlimited.
        """
        fields = {
            "run": run,
            "session": session,
        }
        return cast(LimitsReport, await self._command("set_limits", fields, timeout))

    async def set_subagent_subscription(
        self,
        level: SubagentSubscriptionLevel,
        *,
        timeout: Timeout = DEFAULT,
    ) -> SubagentSubscription:
        """Sets which records about subagents are sent, also about those that are running. Without it there
        are none: the tool `task` only reports its progress, as every tool does.

        Args:
            level: `progress` for `subagent_lifecycle` and `subagent_progress`, `events` for
                `subagent_event` too, `off` for none.
        """
        fields = {
            "level": level,
        }
        return cast(SubagentSubscription, await self._command("set_subagent_subscription", fields, timeout))

    async def get_subagents(self, *, timeout: Timeout = DEFAULT) -> Subagents:
        """Returns the subagents that are running, subagents of subagents among them."""
        return cast(Subagents, await self._command("get_subagents", {}, timeout))

    async def get_subagent_messages(
        self,
        *,
        subagent_id: Optional[str] = None,
        session_file: Optional[str] = None,
        from_byte: Optional[float] = None,
        timeout: Timeout = DEFAULT,
    ) -> SubagentMessages:
        """Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It
        works while the subagent is running and for the last 256 that have ended.

        Args:
            subagent_id: The subagent.
            session_file: Its session file, in place of the id.
            from_byte: Where to begin: `nextByte` of the response before (default: 0).
        """
        fields = {
            "subagentId": subagent_id,
            "sessionFile": session_file,
            "fromByte": from_byte,
        }
        return cast(SubagentMessages, await self._command("get_subagent_messages", fields, timeout))

    async def get_changes(
        self,
        *,
        run: Optional[int] = None,
        entry_id: Optional[str] = None,
        diff: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> ChangesReport:
        """Returns what runs changed in files: those of the file tools `write` and `edit`, and those of
        commands.

        Args:
            run: Only this run.
            entry_id: Only runs that changed files after this entry.
            diff: Adds a unified diff of each run.
        """
        fields = {
            "run": run,
            "entryId": entry_id,
            "diff": diff,
        }
        return cast(ChangesReport, await self._command("get_changes", fields, timeout))

    async def undo(
        self,
        *,
        run: Optional[int] = None,
        to: Optional[UndoTarget] = None,
        dry_run: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> RestoreReport:
        """Restores files that runs changed; without `run` and `to`, those of the last run that is not
        undone. A file that has changed since is a conflict and left alone; new files are moved away.
        The conversation stays. Refused during a run.

        Args:
            run: Only this run, whatever followed it.
            to: How far back: everything from this run or turn on, or everything after this entry.
            dry_run: Only returns what would be done.
        """
        fields = {
            "run": run,
            "to": to,
            "dryRun": dry_run,
        }
        return cast(RestoreReport, await self._command("undo", fields, timeout))

    async def redo(self, *, dry_run: Optional[bool] = None, timeout: Timeout = DEFAULT) -> RestoreReport:
        """Changes files again that the last `undo` restored, with the same checks. Refused during a run.

        Args:
            dry_run: Only returns what would be done.
        """
        return cast(RestoreReport, await self._command("redo", {"dryRun": dry_run}, timeout))

    async def get_pending_changes(
        self,
        *,
        paths: Optional[List[str]] = None,
        diff: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> PendingReport:
        """Returns what the session changed and nobody has accepted, if bowline was started with
        `--workspace overlay`.

        Args:
            paths: Only these paths, relative to the working directory, and what is below them.
            diff: Adds a unified diff against the real workspace.
        """
        fields = {
            "paths": paths,
            "diff": diff,
        }
        return cast(PendingReport, await self._command("get_pending_changes", fields, timeout))

    async def accept_changes(
        self,
        *,
        paths: Optional[List[str]] = None,
        force: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> AcceptReport:
        """Applies pending changes to the real workspace. A path that has changed there since is a
        conflict; it, and what is protected or not supported, is left alone and stays pending. Refused
        with `busy` during a run, and while processes that tools started are running.

        Args:
            paths: Only these paths, relative to the working directory, and what is below them.
            force: Ends processes that tools left running.
        """
        fields = {
            "paths": paths,
            "force": force,
        }
        return cast(AcceptReport, await self._command("accept_changes", fields, timeout))

    async def discard_changes(
        self,
        *,
        paths: Optional[List[str]] = None,
        force: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> DiscardReport:
        """Throws pending changes away. The model is told. Refused with `busy` during a run, and while
        processes that tools started are running.

        Args:
            paths: Only these paths, relative to the working directory, and what is below them.
            force: Ends processes that tools left running.
        """
        fields = {
            "paths": paths,
            "force": force,
        }
        return cast(DiscardReport, await self._command("discard_changes", fields, timeout))

    async def set_host_tools(self, tools: List[HostTool], *, timeout: Timeout = DEFAULT) -> HostToolNames:
        """Replaces the tools that the client supplies. The model can call them from its next turn on, in
        this session and in those that follow it. Each call is a `host_tool_call`.

        Args:
            tools: The tools; none removes all.
        """
        return cast(HostToolNames, await self._command("set_host_tools", {"tools": tools}, timeout))

    async def set_host_uri_schemes(
        self,
        schemes: List[HostUriScheme],
        *,
        timeout: Timeout = DEFAULT,
    ) -> UriSchemes:
        """Replaces the schemes of the addresses that the client serves. When the model reads or writes
        `scheme://…`, the client is sent a `host_uri_request`.

        Args:
            schemes: The schemes; none removes all.
        """
        return cast(UriSchemes, await self._command("set_host_uri_schemes", {"schemes": schemes}, timeout))

    async def set_approvals(self, ask: AskMode, *, timeout: Timeout = DEFAULT) -> None:
        """Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than
        it is now, unless bowline was started with `--client-may-widen`.

        Args:
            ask: `never`: what would have to be asked about is refused. `on-request`: when a rule says so,
                and when a call wants more than the sandbox allows. `untrusted`: also about every call that
                may change something, unless a rule allows it.
        """
        await self._command("set_approvals", {"ask": ask}, timeout)

    async def set_client_capabilities(
        self,
        *,
        approvals: Optional[ApprovalStyle] = None,
        changes: Optional[bool] = None,
        render: Optional[bool] = None,
        columns: Optional[int] = None,
        rows: Optional[int] = None,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Says what the client can do. What is absent stays as it is.

        Args:
            approvals: How the client wants to be asked about tool calls: with a dialog (the default), or
                with `approval_request`.
            changes: Whether the client gets a `run_changes` record for each run that changed files.
            render: Whether the client shows components of pi's extensions: as `setWidget` with
                `takesKeys`, whose keys it passes on with `widget_input`. Sent again when the size changes.
            columns: The width for components in characters, by default 80.
            rows: The height for components in lines, by default 24.
        """
        fields = {
            "approvals": approvals,
            "changes": changes,
            "render": render,
            "columns": columns,
            "rows": rows,
        }
        await self._command("set_client_capabilities", fields, timeout)

    async def widget_input(
        self,
        widget_key: str,
        *,
        data: Optional[str] = None,
        close: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Passes on what the user does with a component of an extension.

        Args:
            widget_key: The `widgetKey` of the component.
            data: Keys as a terminal sends them, such as `\\u001b[A` for the arrow up.
            close: `true` if the user closes the component; `data` is ignored then.
        """
        await self._command("widget_input", {"widgetKey": widget_key, "data": data, "close": close}, timeout)

    async def approval_response(
        self,
        approval_id: str,
        *,
        decision: Optional[str] = None,
        message: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Answers an `approval_request`. It overtakes every other command. Fails if the approval is not
        open, and if the decision is none of the options, in which case the call is denied.

        Args:
            approval_id: The id of the request.
            decision: One of the `options` of the request. Whatever else is sent, also nothing, is a no.
            message: What the model reads if the call is denied.
        """
        fields = {
            "approvalId": approval_id,
            "decision": decision,
            "message": message,
        }
        await self._command("approval_response", fields, timeout)


class SyncCommands:
    """The commands, as functions that wait for the response."""

    def _command(self, name: str, fields: Dict[str, Any], timeout: Timeout) -> Any:
        raise NotImplementedError

    def _start_run(self, fields: Dict[str, Any], timeout: Timeout) -> SyncRun:
        raise NotImplementedError

    def _run_to_end(self, fields: Dict[str, Any], timeout: Optional[float]) -> RunResult:
        raise NotImplementedError

    def prompt(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        streaming_behavior: Optional[StreamingBehavior] = None,
        output_schema: Optional[Dict[str, Any]] = None,
        output_retries: Optional[int] = None,
        timeout: Timeout = DEFAULT,
    ) -> SyncRun:
        """Starts a run with a user message. The message is in the session file before the response is
        sent.

        The message is sent at once. Iterate over the run for its events.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
            streaming_behavior: The queue for the message if a run is in progress; without it, the prompt
                is refused in that case.
            output_schema: A JSON Schema. The run ends with a JSON value that satisfies it, or fails with
                the error kind `invalid_output`.
            output_retries: How often the model is asked again if its output is wrong (default: 2); only
                with `outputSchema`.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
            "streamingBehavior": streaming_behavior,
            "outputSchema": output_schema,
            "outputRetries": output_retries,
        }
        return self._start_run(fields, timeout)

    def prompt_and_wait(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        streaming_behavior: Optional[StreamingBehavior] = None,
        output_schema: Optional[Dict[str, Any]] = None,
        output_retries: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> RunResult:
        """Sends a message, waits for the end of its run and returns the result.

        After `timeout` seconds, and if the caller is cancelled, the run is aborted.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
            streaming_behavior: The queue for the message if a run is in progress; without it, the prompt
                is refused in that case.
            output_schema: A JSON Schema. The run ends with a JSON value that satisfies it, or fails with
                the error kind `invalid_output`.
            output_retries: How often the model is asked again if its output is wrong (default: 2); only
                with `outputSchema`.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
            "streamingBehavior": streaming_behavior,
            "outputSchema": output_schema,
            "outputRetries": output_retries,
        }
        return self._run_to_end(fields, timeout)

    def steer(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        timeout: Timeout = DEFAULT,
    ) -> Accepted:
        """Queues a message that the run takes up after the tool calls of the current turn.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
        }
        return cast(Accepted, self._command("steer", fields, timeout))

    def follow_up(
        self,
        message: str,
        *,
        images: Optional[List[ImageInput]] = None,
        attachments: Optional[List[AttachmentInput]] = None,
        timeout: Timeout = DEFAULT,
    ) -> Accepted:
        """Queues a message that the run takes up when it would otherwise end.

        Args:
            message: The text of the user message.
            images: The images of the user message.
            attachments: Images, which the model sees, and documents, whose text it reads. They are kept
                on the message.
        """
        fields = {
            "message": message,
            "images": images,
            "attachments": attachments,
        }
        return cast(Accepted, self._command("follow_up", fields, timeout))

    def abort(self, *, timeout: Timeout = DEFAULT) -> None:
        """Aborts the run: cancels the model request, kills running tools and gives up a pending retry."""
        self._command("abort", {}, timeout)

    def clear_queue(self, *, timeout: Timeout = DEFAULT) -> Queues:
        """Removes all messages from both queues."""
        return cast(Queues, self._command("clear_queue", {}, timeout))

    def get_state(self, *, timeout: Timeout = DEFAULT) -> State:
        """Returns the state of the agent."""
        return cast(State, self._command("get_state", {}, timeout))

    def get_messages(self, *, timeout: Timeout = DEFAULT) -> Messages:
        """Returns the messages in the context."""
        return cast(Messages, self._command("get_messages", {}, timeout))

    def get_commands(self, *, timeout: Timeout = DEFAULT) -> SlashCommands:
        """Returns the commands that a prompt can invoke with a leading slash."""
        return cast(SlashCommands, self._command("get_commands", {}, timeout))

    def get_completions(
        self,
        command: str,
        *,
        prefix: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Completions:
        """Returns what can follow the name of a slash command of an extension. Only commands with
        `hasCompletion` have any; for others, and if the extension does not answer within a second, the
        list is empty.

        Args:
            command: The name of the command.
            prefix: What the user has typed after the name so far.
        """
        fields = {
            "command": command,
            "prefix": prefix,
        }
        return cast(Completions, self._command("get_completions", fields, timeout))

    def get_protocol_info(self, *, timeout: Timeout = DEFAULT) -> ProtocolInfo:
        """Returns what this protocol supports, for clients that work with several versions or dialects."""
        return cast(ProtocolInfo, self._command("get_protocol_info", {}, timeout))

    def get_sandbox(
        self,
        *,
        connections: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> SandboxReport:
        """Returns what the tools may do, what of it was tried in the sandbox of this session, and what is
        not enforced. The sandbox is made first, if there is to be one and no tool has needed it yet.
        Fails with `sandbox_unavailable` if it cannot be made; then no tool runs either.

        Args:
            connections: Also returns the last connections through the proxy: host, port, bytes and
                decision.
        """
        return cast(SandboxReport, self._command("get_sandbox", {"connections": connections}, timeout))

    def set_sandbox(
        self,
        *,
        mode: Optional[SandboxMode] = None,
        network: Optional[SandboxNetwork] = None,
        timeout: Timeout = DEFAULT,
    ) -> SandboxSummary:
        """Changes what the tools may do, from the next call on; calls in progress go on as they began.
        Fails with `forbidden` if that is less strict than it is now, unless bowline was started with
        `--client-may-widen`, and with `invalid_argument` if a network other than `full` is asked for
        without a mode that confines.

        Args:
            mode: What tools may do to the machine; without it, as before.
            network: What they reach of the network; without it, as before.
        """
        fields = {
            "mode": mode,
            "network": network,
        }
        return cast(SandboxSummary, self._command("set_sandbox", fields, timeout))

    def set_model(self, provider: str, model_id: str, *, timeout: Timeout = DEFAULT) -> Model:
        """Sets the model, effective from the next request.

        Args:
            provider: The exact name of the provider.
            model_id: The exact id of the model.
        """
        return cast(Model, self._command("set_model", {"provider": provider, "modelId": model_id}, timeout))

    def cycle_model(self, *, timeout: Timeout = DEFAULT) -> Optional[CycledModel]:
        """Switches to the next available model. `data` is `null` if there is no other."""
        return cast(Optional[CycledModel], self._command("cycle_model", {}, timeout))

    def get_available_models(self, *, timeout: Timeout = DEFAULT) -> Models:
        """Returns the available models."""
        return cast(Models, self._command("get_available_models", {}, timeout))

    def get_login_providers(self, *, timeout: Timeout = DEFAULT) -> LoginProviders:
        """Returns the providers that a user may log in to, and whether there is a key for each."""
        return cast(LoginProviders, self._command("get_login_providers", {}, timeout))

    def login(self, provider_id: str, *, timeout: Timeout = DEFAULT) -> LoggedIn:
        """Logs the user in to a provider. If an extension carries out its logins, the extension shows and
        asks what it needs; otherwise the user is asked for the API key with an `input`, after they were
        shown the page where keys are made, if that is known. What comes of it is stored in `auth.json`
        and used from the next request on. Fails with `cancelled` if the user enters nothing, on `abort`
        and when the session changes. Other commands are carried out meanwhile.

        Args:
            provider_id: The `id` of a provider.
        """
        return cast(LoggedIn, self._command("login", {"providerId": provider_id}, timeout))

    def set_thinking_level(self, level: ThinkingLevel, *, timeout: Timeout = DEFAULT) -> None:
        """Sets the thinking level, effective from the next request.

        Args:
            level: The level. If the model does not have it, the next higher one is used, or else the
                highest it has.
        """
        self._command("set_thinking_level", {"level": level}, timeout)

    def cycle_thinking_level(self, *, timeout: Timeout = DEFAULT) -> Optional[Level]:
        """Switches to the model's next thinking level. `data` is `null` if the model has only one."""
        return cast(Optional[Level], self._command("cycle_thinking_level", {}, timeout))

    def get_available_thinking_levels(self, *, timeout: Timeout = DEFAULT) -> Levels:
        """Returns the thinking levels of the current model."""
        return cast(Levels, self._command("get_available_thinking_levels", {}, timeout))

    def set_steering_mode(self, mode: QueueMode, *, timeout: Timeout = DEFAULT) -> None:
        """Sets how many messages are taken from the steering queue at a time.

        Args:
            mode: One message, or all queued messages.
        """
        self._command("set_steering_mode", {"mode": mode}, timeout)

    def set_follow_up_mode(self, mode: QueueMode, *, timeout: Timeout = DEFAULT) -> None:
        """Sets how many messages are taken from the follow-up queue at a time.

        Args:
            mode: One message, or all queued messages.
        """
        self._command("set_follow_up_mode", {"mode": mode}, timeout)

    def compact(
        self,
        *,
        custom_instructions: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Compaction:
        """Replaces all but the newest messages with a summary. A run in progress is aborted first.

        Args:
            custom_instructions: What the summary should focus on.
        """
        fields = {
            "customInstructions": custom_instructions,
        }
        return cast(Compaction, self._command("compact", fields, timeout))

    def set_auto_compaction(self, enabled: bool, *, timeout: Timeout = DEFAULT) -> None:
        """Enables or disables automatic compaction when the context window is nearly full.

        Args:
            enabled: Applies until the process ends.
        """
        self._command("set_auto_compaction", {"enabled": enabled}, timeout)

    def set_auto_retry(self, enabled: bool, *, timeout: Timeout = DEFAULT) -> None:
        """Enables or disables automatic retries after transient errors.

        Args:
            enabled: Applies until the process ends.
        """
        self._command("set_auto_retry", {"enabled": enabled}, timeout)

    def abort_retry(self, *, timeout: Timeout = DEFAULT) -> None:
        """Gives up a pending retry and ends the run. Otherwise it does nothing."""
        self._command("abort_retry", {}, timeout)

    def bash(
        self,
        command: str,
        *,
        exclude_from_context: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> ShellResult:
        """Runs a shell command, concurrently with a run. The response is sent when the command has
        finished.

        Args:
            command: The shell command.
            exclude_from_context: Keeps the command and its output out of the context.
        """
        fields = {
            "command": command,
            "excludeFromContext": exclude_from_context,
        }
        return cast(ShellResult, self._command("bash", fields, timeout))

    def abort_bash(self, *, timeout: Timeout = DEFAULT) -> None:
        """Kills all commands started with `bash`, including their descendant processes."""
        self._command("abort_bash", {}, timeout)

    def new_session(self, *, parent_session: Optional[str] = None, timeout: Timeout = DEFAULT) -> Switched:
        """Starts an empty session. A run in progress is aborted first.

        Args:
            parent_session: The session file that the new session records as its parent.
        """
        return cast(Switched, self._command("new_session", {"parentSession": parent_session}, timeout))

    def switch_session(self, session_path: str, *, timeout: Timeout = DEFAULT) -> Switched:
        """Opens another session. A run in progress is aborted first.

        Args:
            session_path: The session file.
        """
        return cast(Switched, self._command("switch_session", {"sessionPath": session_path}, timeout))

    def fork(self, entry_id: str, *, timeout: Timeout = DEFAULT) -> Forked:
        """Starts a session with the conversation before an earlier user message. A run in progress is
        aborted first.

        Args:
            entry_id: The entry of the message, one of `get_fork_messages`.
        """
        return cast(Forked, self._command("fork", {"entryId": entry_id}, timeout))

    def clone(self, *, timeout: Timeout = DEFAULT) -> Switched:
        """Starts a session with a copy of the whole conversation. A run in progress is aborted first."""
        return cast(Switched, self._command("clone", {}, timeout))

    def get_fork_messages(self, *, timeout: Timeout = DEFAULT) -> ForkMessages:
        """Returns the user messages that the session can be forked at."""
        return cast(ForkMessages, self._command("get_fork_messages", {}, timeout))

    def get_entries(self, *, since: Optional[str] = None, timeout: Timeout = DEFAULT) -> Entries:
        """Returns the entries of the session file.

        Args:
            since: An entry id; only the entries after it in the file are returned.
        """
        return cast(Entries, self._command("get_entries", {"since": since}, timeout))

    def get_tree(self, *, format: Optional[TreeFormat] = None, timeout: Timeout = DEFAULT) -> Tree:
        """Returns the entries of the session file as a tree.

        Args:
            format: `nested`, the default, for nodes within nodes; `flat` for a list, which has the same
                depth however long the session is.
        """
        return cast(Tree, self._command("get_tree", {"format": format}, timeout))

    def navigate_tree(
        self,
        entry_id: str,
        *,
        summarize: Optional[bool] = None,
        custom_instructions: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Navigated:
        """Continues from another entry of the session. A run in progress is aborted first.

        Args:
            entry_id: The entry. For a user message, the conversation continues before it, so that it can
                be edited.
            summarize: Adds a summary of the abandoned branch.
            custom_instructions: What the summary should focus on; only with `summarize`.
        """
        fields = {
            "entryId": entry_id,
            "summarize": summarize,
            "customInstructions": custom_instructions,
        }
        return cast(Navigated, self._command("navigate_tree", fields, timeout))

    def set_label(
        self,
        entry_id: str,
        *,
        label: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Written:
        """Sets or removes the label of an entry.

        Args:
            entry_id: The entry.
            label: The label; without it, the entry's label is removed.
        """
        return cast(Written, self._command("set_label", {"entryId": entry_id, "label": label}, timeout))

    def list_sessions(
        self,
        *,
        scope: Optional[SessionScope] = None,
        search: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> Sessions:
        """Lists sessions, most recently modified first.

        Args:
            scope: `project` lists the sessions of the working directory (the default), `all` lists every
                session.
            search: Text to find in the name, the id or the first message.
            limit: The maximum number of sessions.
            cursor: The `nextCursor` of an earlier response: continues after it.
        """
        fields = {
            "scope": scope,
            "search": search,
            "limit": limit,
            "cursor": cursor,
        }
        return cast(Sessions, self._command("list_sessions", fields, timeout))

    def delete_session(self, session_path: str, *, timeout: Timeout = DEFAULT) -> None:
        """Deletes a session that is not in use.

        Args:
            session_path: The session file.
        """
        self._command("delete_session", {"sessionPath": session_path}, timeout)

    def get_session_stats(self, *, timeout: Timeout = DEFAULT) -> SessionStatistics:
        """Returns statistics of the session over all its branches."""
        return cast(SessionStatistics, self._command("get_session_stats", {}, timeout))

    def export_html(self, *, output_path: Optional[str] = None, timeout: Timeout = DEFAULT) -> Exported:
        """Exports the session as an HTML page.

        Args:
            output_path: The output file; by default, a generated name in the working directory.
        """
        return cast(Exported, self._command("export_html", {"outputPath": output_path}, timeout))

    def get_last_assistant_text(self, *, timeout: Timeout = DEFAULT) -> LastText:
        """Returns the text of the newest model response that has any."""
        return cast(LastText, self._command("get_last_assistant_text", {}, timeout))

    def set_session_name(self, name: str, *, timeout: Timeout = DEFAULT) -> None:
        """Sets the name of the session.

        Args:
            name: The name that session lists show. It is trimmed and must not be empty.
        """
        self._command("set_session_name", {"name": name}, timeout)

    def get_limits(self, *, timeout: Timeout = DEFAULT) -> LimitsReport:
        """Returns what runs and the session may spend, and what they have spent."""
        return cast(LimitsReport, self._command("get_limits", {}, timeout))

    def set_limits(
        self,
        *,
        run: Optional[LimitSettings] = None,
        session: Optional[LimitSettings] = None,
        timeout: Timeout = DEFAULT,
    ) -> LimitsReport:
        """Sets what runs and the session may spend, from now on, also for the run in progress. Limits that
        the user has set can only be made stricter unless bowline was started with `--client-may-widen`;
        else it fails with `forbidden`. All of the limits are set, or none if one is refused.

        Args:
            run: The limits of each run. What is absent stays; 0 means unlimited.
            session: The limits of the session. What is absent stays; 0 means unlimited.
        """
        return cast(LimitsReport, self._command("set_limits", {"run": run, "session": session}, timeout))

    def set_subagent_subscription(
        self,
        level: SubagentSubscriptionLevel,
        *,
        timeout: Timeout = DEFAULT,
    ) -> SubagentSubscription:
        """Sets which records about subagents are sent, also about those that are running. Without it there
        are none: the tool `task` only reports its progress, as every tool does.

        Args:
            level: `progress` for `subagent_lifecycle` and `subagent_progress`, `events` for
                `subagent_event` too, `off` for none.
        """
        fields = {
            "level": level,
        }
        return cast(SubagentSubscription, self._command("set_subagent_subscription", fields, timeout))

    def get_subagents(self, *, timeout: Timeout = DEFAULT) -> Subagents:
        """Returns the subagents that are running, subagents of subagents among them."""
        return cast(Subagents, self._command("get_subagents", {}, timeout))

    def get_subagent_messages(
        self,
        *,
        subagent_id: Optional[str] = None,
        session_file: Optional[str] = None,
        from_byte: Optional[float] = None,
        timeout: Timeout = DEFAULT,
    ) -> SubagentMessages:
        """Returns what the session file of a subagent holds from an offset on, about 768 KiB at most. It
        works while the subagent is running and for the last 256 that have ended.

        Args:
            subagent_id: The subagent.
            session_file: Its session file, in place of the id.
            from_byte: Where to begin: `nextByte` of the response before (default: 0).
        """
        fields = {
            "subagentId": subagent_id,
            "sessionFile": session_file,
            "fromByte": from_byte,
        }
        return cast(SubagentMessages, self._command("get_subagent_messages", fields, timeout))

    def get_changes(
        self,
        *,
        run: Optional[int] = None,
        entry_id: Optional[str] = None,
        diff: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> ChangesReport:
        """Returns what runs changed in files: those of the file tools `write` and `edit`, and those of
        commands.

        Args:
            run: Only this run.
            entry_id: Only runs that changed files after this entry.
            diff: Adds a unified diff of each run.
        """
        fields = {
            "run": run,
            "entryId": entry_id,
            "diff": diff,
        }
        return cast(ChangesReport, self._command("get_changes", fields, timeout))

    def undo(
        self,
        *,
        run: Optional[int] = None,
        to: Optional[UndoTarget] = None,
        dry_run: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> RestoreReport:
        """Restores files that runs changed; without `run` and `to`, those of the last run that is not
        undone. A file that has changed since is a conflict and left alone; new files are moved away.
        The conversation stays. Refused during a run.

        Args:
            run: Only this run, whatever followed it.
            to: How far back: everything from this run or turn on, or everything after this entry.
            dry_run: Only returns what would be done.
        """
        return cast(RestoreReport, self._command("undo", {"run": run, "to": to, "dryRun": dry_run}, timeout))

    def redo(self, *, dry_run: Optional[bool] = None, timeout: Timeout = DEFAULT) -> RestoreReport:
        """Changes files again that the last `undo` restored, with the same checks. Refused during a run.

        Args:
            dry_run: Only returns what would be done.
        """
        return cast(RestoreReport, self._command("redo", {"dryRun": dry_run}, timeout))

    def get_pending_changes(
        self,
        *,
        paths: Optional[List[str]] = None,
        diff: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> PendingReport:
        """Returns what the session changed and nobody has accepted, if bowline was started with
        `--workspace overlay`.

        Args:
            paths: Only these paths, relative to the working directory, and what is below them.
            diff: Adds a unified diff against the real workspace.
        """
        fields = {
            "paths": paths,
            "diff": diff,
        }
        return cast(PendingReport, self._command("get_pending_changes", fields, timeout))

    def accept_changes(
        self,
        *,
        paths: Optional[List[str]] = None,
        force: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> AcceptReport:
        """Applies pending changes to the real workspace. A path that has changed there since is a
        conflict; it, and what is protected or not supported, is left alone and stays pending. Refused
        with `busy` during a run, and while processes that tools started are running.

        Args:
            paths: Only these paths, relative to the working directory, and what is below them.
            force: Ends processes that tools left running.
        """
        return cast(AcceptReport, self._command("accept_changes", {"paths": paths, "force": force}, timeout))

    def discard_changes(
        self,
        *,
        paths: Optional[List[str]] = None,
        force: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> DiscardReport:
        """Throws pending changes away. The model is told. Refused with `busy` during a run, and while
        processes that tools started are running.

        Args:
            paths: Only these paths, relative to the working directory, and what is below them.
            force: Ends processes that tools left running.
        """
        fields = {
            "paths": paths,
            "force": force,
        }
        return cast(DiscardReport, self._command("discard_changes", fields, timeout))

    def set_host_tools(self, tools: List[HostTool], *, timeout: Timeout = DEFAULT) -> HostToolNames:
        """Replaces the tools that the client supplies. The model can call them from its next turn on, in
        this session and in those that follow it. Each call is a `host_tool_call`.

        Args:
            tools: The tools; none removes all.
        """
        return cast(HostToolNames, self._command("set_host_tools", {"tools": tools}, timeout))

    def set_host_uri_schemes(
        self,
        schemes: List[HostUriScheme],
        *,
        timeout: Timeout = DEFAULT,
    ) -> UriSchemes:
        """Replaces the schemes of the addresses that the client serves. When the model reads or writes
        `scheme://…`, the client is sent a `host_uri_request`.

        Args:
            schemes: The schemes; none removes all.
        """
        return cast(UriSchemes, self._command("set_host_uri_schemes", {"schemes": schemes}, timeout))

    def set_approvals(self, ask: AskMode, *, timeout: Timeout = DEFAULT) -> None:
        """Sets when the user is asked about tool calls. Fails with `forbidden` if that is less strict than
        it is now, unless bowline was started with `--client-may-widen`.

        Args:
            ask: `never`: what would have to be asked about is refused. `on-request`: when a rule says so,
                and when a call wants more than the sandbox allows. `untrusted`: also about every call that
                may change something, unless a rule allows it.
        """
        self._command("set_approvals", {"ask": ask}, timeout)

    def set_client_capabilities(
        self,
        *,
        approvals: Optional[ApprovalStyle] = None,
        changes: Optional[bool] = None,
        render: Optional[bool] = None,
        columns: Optional[int] = None,
        rows: Optional[int] = None,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Says what the client can do. What is absent stays as it is.

        Args:
            approvals: How the client wants to be asked about tool calls: with a dialog (the default), or
                with `approval_request`.
            changes: Whether the client gets a `run_changes` record for each run that changed files.
            render: Whether the client shows components of pi's extensions: as `setWidget` with
                `takesKeys`, whose keys it passes on with `widget_input`. Sent again when the size changes.
            columns: The width for components in characters, by default 80.
            rows: The height for components in lines, by default 24.
        """
        fields = {
            "approvals": approvals,
            "changes": changes,
            "render": render,
            "columns": columns,
            "rows": rows,
        }
        self._command("set_client_capabilities", fields, timeout)

    def widget_input(
        self,
        widget_key: str,
        *,
        data: Optional[str] = None,
        close: Optional[bool] = None,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Passes on what the user does with a component of an extension.

        Args:
            widget_key: The `widgetKey` of the component.
            data: Keys as a terminal sends them, such as `\\u001b[A` for the arrow up.
            close: `true` if the user closes the component; `data` is ignored then.
        """
        self._command("widget_input", {"widgetKey": widget_key, "data": data, "close": close}, timeout)

    def approval_response(
        self,
        approval_id: str,
        *,
        decision: Optional[str] = None,
        message: Optional[str] = None,
        timeout: Timeout = DEFAULT,
    ) -> None:
        """Answers an `approval_request`. It overtakes every other command. Fails if the approval is not
        open, and if the decision is none of the options, in which case the call is denied.

        Args:
            approval_id: The id of the request.
            decision: One of the `options` of the request. Whatever else is sent, also nothing, is a no.
            message: What the model reads if the call is denied.
        """
        fields = {
            "approvalId": approval_id,
            "decision": decision,
            "message": message,
        }
        self._command("approval_response", fields, timeout)
