//! Each command of the schema, sent with its method to the real program. A command without a trial here fails.

use std::fs;

use bowline_client::*;
use serde_json::{Map, Value, json};

use crate::trial::{Trial, bash};

/// What a trial of a command gets.
struct Talk {
    trial: Trial,
    client: Client,
}

/// Makes a test of each trial, and a list of their names.
macro_rules! trials {
    ($($name:ident)*) => {
        const TRIALS: &[&str] = &[$(stringify!($name)),*];

        mod each {
            $(#[tokio::test]
            async fn $name() {
                let talk = super::Talk::start(&[]).await;
                super::$name(&talk).await;
                talk.client.stop().await;
            })*
        }
    };
}

trials! {
    prompt steer follow_up abort clear_queue get_state get_messages get_commands get_completions get_protocol_info
    get_sandbox set_sandbox set_model cycle_model get_available_models get_login_providers login set_thinking_level
    cycle_thinking_level get_available_thinking_levels set_steering_mode set_follow_up_mode compact
    set_auto_compaction set_auto_retry abort_retry bash_command abort_bash new_session switch_session fork clone
    get_fork_messages get_entries get_tree navigate_tree set_label list_sessions delete_session get_session_stats
    export_html get_last_assistant_text set_session_name get_limits set_limits set_subagent_subscription
    get_subagents get_subagent_messages get_changes undo redo get_pending_changes accept_changes discard_changes
    set_host_tools set_host_uri_schemes set_approvals set_client_capabilities widget_input approval_response
}

#[test]
fn every_command_has_a_trial() {
    let mut tried: Vec<_> = TRIALS.iter().map(|name| name.strip_suffix("_command").unwrap_or(name)).collect();
    let mut commands = COMMANDS;
    tried.sort_unstable();
    commands.sort_unstable();
    assert_eq!(tried, commands);
}

impl Talk {
    async fn start(arguments: &[&str]) -> Self {
        let trial = Trial::new();
        let steps = [bash("echo kept >kept.txt"), json!({ "text": "Written." })];
        let mut builder = trial.client(&steps);
        for argument in arguments {
            builder = builder.argument(argument);
        }
        let client = builder.start().await.unwrap();
        Self { trial, client }
    }

    /// Has a run, which writes `kept.txt`.
    async fn run(&self) {
        let run = self.client.prompt_and_wait("first").await.unwrap();
        assert_eq!((run.outcome, run.text.as_str()), (Outcome::Done, "Written."));
    }

    /// Has a run, and returns the entry of the user message.
    async fn entry(&self) -> String {
        self.run().await;
        self.client.get_fork_messages().await.unwrap().messages[0].entry_id.clone()
    }

    async fn state(&self) -> State {
        self.client.get_state().await.unwrap()
    }

    async fn session_file(&self) -> String {
        self.state().await.session_file.unwrap()
    }
}

#[track_caller]
fn refused<Data: std::fmt::Debug>(result: Result<Data, Error>, code: &str) {
    assert_eq!(result.unwrap_err().code(), Some(code));
}

async fn prompt(talk: &Talk) {
    let mut events = talk.client.events_of(|kind| kind == "agent_settled");
    assert_eq!(talk.client.prompt("hi").await.unwrap().disposition, Disposition::Started);
    refused(talk.client.prompt("again").await, "busy");
    let document = AttachmentInput {
        file_name: Some("a.txt".to_owned()),
        extracted_text: Some("words".to_owned()),
        ..AttachmentInput::new(AttachmentInputType::Document)
    };
    let queued = PromptCommand {
        streaming_behavior: Some(StreamingBehavior::FollowUp),
        attachments: Some(vec![document]),
        ..PromptCommand::new("more")
    };
    assert_eq!(talk.client.call(queued).await.unwrap().disposition, Disposition::Queued);
    assert!(matches!(events.next().await.unwrap(), Some(Event::AgentSettled(_))));
    assert_eq!(talk.client.get_session_stats().await.unwrap().user_messages, 2);
}

async fn steer(talk: &Talk) {
    assert_eq!(talk.client.steer("left").await.unwrap().disposition, Disposition::Queued);
    assert_eq!(talk.state().await.pending_message_count, 1);
}

async fn follow_up(talk: &Talk) {
    assert_eq!(talk.client.follow_up("then").await.unwrap().disposition, Disposition::Queued);
    assert_eq!(talk.state().await.pending_message_count, 1);
}

async fn abort(talk: &Talk) {
    let run = talk.client.run("hi").await.unwrap();
    talk.client.abort().await.unwrap();
    assert!(!talk.state().await.is_streaming);
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Aborted);
}

async fn clear_queue(talk: &Talk) {
    talk.client.steer("left").await.unwrap();
    let queues = talk.client.clear_queue().await.unwrap();
    assert_eq!((queues.steering, queues.follow_up), (vec!["left".to_owned()], Vec::new()));
}

async fn get_state(talk: &Talk) {
    let state = talk.state().await;
    assert_eq!(state.cwd, talk.trial.workspace.work().to_str().unwrap());
    assert_eq!(state.model.unwrap().provider, "scripted");
    assert_eq!(state.further, Map::new(), "a field that the schema does not have");
}

async fn get_messages(talk: &Talk) {
    talk.run().await;
    let messages = talk.client.get_messages().await.unwrap().messages;
    let [Message::User(_), Message::Assistant(_), Message::ToolResult(_), Message::Assistant(last)] =
        &messages[..]
    else {
        panic!("other messages: {messages:?}");
    };
    assert_eq!(last.stop_reason, StopReason::Stop);
}

async fn get_commands(talk: &Talk) {
    assert!(talk.client.get_commands().await.unwrap().commands.is_empty());
}

async fn get_completions(talk: &Talk) {
    let command =
        GetCompletionsCommand { prefix: Some("a".to_owned()), ..GetCompletionsCommand::new("none") };
    assert!(talk.client.call(command).await.unwrap().completions.is_empty());
    assert!(talk.client.get_completions("none").await.unwrap().completions.is_empty());
}

async fn get_protocol_info(talk: &Talk) {
    let info = talk.client.get_protocol_info().await.unwrap();
    assert_eq!((info.name.as_str(), info.dialect.as_str()), ("bowline", "pi"));
    let mut names = info.commands;
    names.sort();
    let mut commands = COMMANDS;
    commands.sort_unstable();
    assert_eq!(names, commands);
}

async fn get_sandbox(talk: &Talk) {
    let report = talk.client.get_sandbox().await.unwrap();
    assert_eq!(report.mode, SandboxMode::FullAccess);
}

async fn set_sandbox(talk: &Talk) {
    let command = SetSandboxCommand { mode: Some(SandboxMode::ReadOnly), ..SetSandboxCommand::default() };
    assert_eq!(talk.client.call(command).await.unwrap().mode, SandboxMode::ReadOnly);
    let wider = SetSandboxCommand { mode: Some(SandboxMode::FullAccess), ..SetSandboxCommand::default() };
    refused(talk.client.call(wider).await, "forbidden");
    refused(talk.client.set_sandbox().await, "invalid_argument");
}

async fn set_model(talk: &Talk) {
    assert_eq!(talk.client.set_model("scripted", "demo").await.unwrap().id, "demo");
    refused(talk.client.set_model("nobody", "nothing").await, "model_not_found");
}

async fn cycle_model(talk: &Talk) {
    assert_eq!(talk.client.cycle_model().await.unwrap(), None);
}

async fn get_available_models(talk: &Talk) {
    let models = talk.client.get_available_models().await.unwrap().models;
    assert!(models.iter().all(|model| model.provider == "scripted"), "{models:?}");
}

async fn get_login_providers(talk: &Talk) {
    let providers = talk.client.get_login_providers().await.unwrap().providers;
    let anthropic = providers.iter().find(|provider| provider.id == "anthropic").unwrap();
    assert!(!anthropic.authenticated);
}

/// The dialog for the key is closed at once, because nobody answers.
async fn login(talk: &Talk) {
    refused(talk.client.login("anthropic").await, "cancelled");
}

async fn set_thinking_level(talk: &Talk) {
    talk.client.set_thinking_level(ThinkingLevel::Low).await.unwrap();
    assert_eq!(talk.state().await.thinking_level, ThinkingLevel::Low);
    let other = ThinkingLevel::Unknown("deep".to_owned());
    refused(talk.client.set_thinking_level(other).await, "invalid_argument");
}

async fn cycle_thinking_level(talk: &Talk) {
    let before = talk.state().await.thinking_level;
    assert_ne!(talk.client.cycle_thinking_level().await.unwrap().unwrap().level, before);
}

async fn get_available_thinking_levels(talk: &Talk) {
    let levels = talk.client.get_available_thinking_levels().await.unwrap().levels;
    assert!(levels.contains(&ThinkingLevel::Medium));
}

async fn set_steering_mode(talk: &Talk) {
    talk.client.set_steering_mode(QueueMode::All).await.unwrap();
    assert_eq!(talk.state().await.steering_mode, QueueMode::All);
}

async fn set_follow_up_mode(talk: &Talk) {
    talk.client.set_follow_up_mode(QueueMode::All).await.unwrap();
    assert_eq!(talk.state().await.follow_up_mode, QueueMode::All);
}

async fn compact(talk: &Talk) {
    refused(talk.client.compact().await, "nothing_to_do");
    let trial = Trial::new().settings(json!({ "compaction": { "keepRecentTokens": 1 } }));
    let client = trial.client(&[json!({ "text": "A summary." })]).start().await.unwrap();
    for text in ["one ", "two "] {
        client.prompt_and_wait(text.repeat(500)).await.unwrap();
    }
    let instructions = Some("names".to_owned());
    let compaction = client
        .call(CompactCommand { custom_instructions: instructions, ..CompactCommand::default() })
        .await
        .unwrap();
    assert!(compaction.summary.contains("A summary."), "{compaction:?}");
    client.stop().await;
}

async fn set_auto_compaction(talk: &Talk) {
    talk.client.set_auto_compaction(false).await.unwrap();
    assert!(!talk.state().await.auto_compaction_enabled);
}

async fn set_auto_retry(talk: &Talk) {
    talk.client.set_auto_retry(false).await.unwrap();
    assert!(!talk.state().await.auto_retry_enabled);
}

async fn abort_retry(_: &Talk) {
    let trial = Trial::new().settings(json!({ "retry": { "baseDelayMs": 60_000, "maxRetries": 2 } }));
    let failing = json!({ "text": "x", "error": { "kind": "unavailable", "message": "overloaded" } });
    let client = trial.client(&[failing]).start().await.unwrap();
    let mut run = client.run("hi").await.unwrap();
    while let Some(event) = run.next().await.unwrap() {
        if let Event::AutoRetryStart(_) = event {
            client.abort_retry().await.unwrap();
        }
    }
    assert_eq!(run.finish().await.unwrap().outcome, Outcome::Aborted);
    client.stop().await;
}

async fn bash_command(talk: &Talk) {
    let result = talk.client.bash("echo out; exit 3").await.unwrap();
    assert_eq!((result.output.as_str(), result.exit_code), ("out\n", Some(3)));
    let quiet = BashCommand { exclude_from_context: Some(true), ..BashCommand::new("echo quiet") };
    assert_eq!(talk.client.call(quiet).await.unwrap().output, "quiet\n");
    let messages = talk.client.get_messages().await.unwrap().messages;
    let [Message::BashExecution(shown), Message::BashExecution(hidden)] = &messages[..] else {
        panic!("other messages: {messages:?}");
    };
    assert_eq!((shown.exclude_from_context, hidden.exclude_from_context), (None, Some(true)));
}

async fn abort_bash(talk: &Talk) {
    let mut updates = talk.client.events_of(|kind| kind == "bash_execution_update");
    let stopping = async {
        updates.next().await.unwrap();
        talk.client.abort_bash().await.unwrap();
    };
    let (result, ()) = tokio::join!(talk.client.bash("echo on; sleep 60"), stopping);
    assert!(result.unwrap().cancelled);
}

async fn new_session(talk: &Talk) {
    talk.run().await;
    let parent = Some("the first".to_owned());
    let command = NewSessionCommand { parent_session: parent, ..NewSessionCommand::default() };
    assert!(!talk.client.call(command).await.unwrap().cancelled);
    assert_eq!(talk.state().await.message_count, 0);
    talk.client.new_session().await.unwrap();
}

async fn switch_session(talk: &Talk) {
    talk.run().await;
    let file = talk.session_file().await;
    talk.client.new_session().await.unwrap();
    talk.client.switch_session(&file).await.unwrap();
    assert_eq!(talk.session_file().await, file);
    refused(talk.client.switch_session("nowhere.jsonl").await, "session_unavailable");
}

async fn fork(talk: &Talk) {
    let entry = talk.entry().await;
    assert_eq!(talk.client.fork(entry).await.unwrap().text, "first");
    assert_eq!(talk.state().await.message_count, 0);
}

async fn clone(talk: &Talk) {
    talk.run().await;
    let before = talk.state().await.session_id;
    talk.client.clone_session().await.unwrap();
    let state = talk.state().await;
    assert_ne!(state.session_id, before);
    assert_eq!(state.message_count, 4);
}

async fn get_fork_messages(talk: &Talk) {
    assert!(talk.client.get_fork_messages().await.unwrap().messages.is_empty());
    assert!(!talk.entry().await.is_empty());
}

async fn get_entries(talk: &Talk) {
    let entry = talk.entry().await;
    let since = GetEntriesCommand { since: Some(entry.clone()), ..GetEntriesCommand::default() };
    let entries = talk.client.call(since).await.unwrap();
    assert_eq!(entries.entries[0].parent_id.as_ref(), Some(&entry));
    let all = talk.client.get_entries().await.unwrap();
    assert_eq!(all.leaf_id, entries.leaf_id);
    assert!(all.entries.len() > entries.entries.len());
}

async fn get_tree(talk: &Talk) {
    let entry = talk.entry().await;
    let tree = talk.client.get_tree().await.unwrap();
    assert!(serde_json::to_string(&tree).unwrap().contains(&entry));
    let flat = GetTreeCommand { format: Some(TreeFormat::Flat), ..GetTreeCommand::default() };
    assert!(talk.client.call(flat).await.unwrap().tree.is_empty());
}

async fn navigate_tree(talk: &Talk) {
    let entry = talk.entry().await;
    assert_eq!(talk.client.navigate_tree(entry).await.unwrap().text.as_deref(), Some("first"));
    assert_eq!(talk.state().await.message_count, 0);
}

async fn set_label(talk: &Talk) {
    let entry = talk.entry().await;
    let command = SetLabelCommand { label: Some("start".to_owned()), ..SetLabelCommand::new(&entry) };
    assert_ne!(talk.client.call(command).await.unwrap().entry_id, "");
    let tree = serde_json::to_value(talk.client.get_tree().await.unwrap()).unwrap();
    assert!(tree.to_string().contains("\"label\":\"start\""), "{tree}");
    talk.client.set_label(entry).await.unwrap();
}

async fn list_sessions(talk: &Talk) {
    talk.run().await;
    let command = ListSessionsCommand { search: Some("first".to_owned()), ..ListSessionsCommand::default() };
    let sessions = talk.client.call(command).await.unwrap();
    assert_eq!((sessions.sessions.len(), sessions.next_cursor), (1, None));
    assert_eq!(talk.client.list_sessions().await.unwrap().sessions[0].first_message, "first");
}

async fn delete_session(talk: &Talk) {
    talk.run().await;
    let file = talk.session_file().await;
    talk.client.new_session().await.unwrap();
    talk.client.delete_session(&file).await.unwrap();
    assert!(!fs::exists(file).unwrap());
}

async fn get_session_stats(talk: &Talk) {
    talk.run().await;
    assert_eq!(talk.client.get_session_stats().await.unwrap().tool_calls, 1);
}

async fn export_html(talk: &Talk) {
    talk.run().await;
    let page = talk.trial.workspace.work().join("page.html");
    let output_path = Some(page.to_str().unwrap().to_owned());
    let exported =
        talk.client.call(ExportHtmlCommand { output_path, ..ExportHtmlCommand::default() }).await.unwrap();
    assert_eq!(exported.path, page.to_str().unwrap());
    assert!(fs::read_to_string(page).unwrap().contains("Written."));
    assert!(fs::exists(talk.client.export_html().await.unwrap().path).unwrap());
}

async fn get_last_assistant_text(talk: &Talk) {
    assert_eq!(talk.client.get_last_assistant_text().await.unwrap().text, None);
    talk.run().await;
    assert_eq!(talk.client.get_last_assistant_text().await.unwrap().text.as_deref(), Some("Written."));
}

async fn set_session_name(talk: &Talk) {
    talk.client.set_session_name(" a name ").await.unwrap();
    assert_eq!(talk.state().await.session_name.as_deref(), Some("a name"));
    refused(talk.client.set_session_name(" ").await, "invalid_argument");
}

async fn get_limits(talk: &Talk) {
    assert_eq!(talk.client.get_limits().await.unwrap().run.used.turns, 0);
}

async fn set_limits(talk: &Talk) {
    let run = Some(LimitSettings { turns: Some(1), ..LimitSettings::default() });
    let report = talk.client.call(SetLimitsCommand { run, ..SetLimitsCommand::default() }).await.unwrap();
    assert_eq!(report.run.limits.turns, Some(1));
    let run = talk.client.prompt_and_wait("hi").await.unwrap();
    let Outcome::Failed { kind, .. } = run.outcome else { panic!("it did not fail: {run:?}") };
    assert_eq!(kind, Some(ErrorKind::TooManyTurns));
    talk.client.set_limits().await.unwrap();
}

async fn set_subagent_subscription(talk: &Talk) {
    let level = SubagentSubscriptionLevel::Events;
    assert_eq!(talk.client.set_subagent_subscription(level.clone()).await.unwrap().level, level);
}

async fn get_subagents(talk: &Talk) {
    assert!(talk.client.get_subagents().await.unwrap().subagents.is_empty());
}

async fn get_subagent_messages(talk: &Talk) {
    let subagent_id = Some("none".to_owned());
    let command = GetSubagentMessagesCommand { subagent_id, ..GetSubagentMessagesCommand::default() };
    refused(talk.client.call(command).await, "invalid_argument");
    refused(talk.client.get_subagent_messages().await, "invalid_argument");
}

async fn get_changes(talk: &Talk) {
    talk.run().await;
    let report = talk.client.get_changes().await.unwrap();
    assert_eq!(report.runs[0].files[0].path, "kept.txt");
    let report = talk
        .client
        .call(GetChangesCommand { diff: Some(true), ..GetChangesCommand::default() })
        .await
        .unwrap();
    assert!(report.runs[0].diff.as_ref().unwrap().contains("+kept"));
}

async fn undo(talk: &Talk) {
    talk.run().await;
    let trying = UndoCommand { dry_run: Some(true), ..UndoCommand::default() };
    assert_eq!(talk.client.call(trying).await.unwrap().restored, ["kept.txt"]);
    assert!(talk.trial.has("kept.txt"));
    assert_eq!(talk.client.undo().await.unwrap().restored, ["kept.txt"]);
    assert!(!talk.trial.has("kept.txt"));
}

async fn redo(talk: &Talk) {
    talk.run().await;
    talk.client.undo().await.unwrap();
    assert_eq!(talk.client.redo().await.unwrap().restored, ["kept.txt"]);
    assert!(talk.trial.has("kept.txt"));
}

/// Has a run in a workspace that is an overlay.
async fn overlay() -> Option<Talk> {
    let talk = Talk::start(&["--sandbox", "workspace-write", "--workspace", "overlay"]).await;
    if let Err(error) = talk.client.get_sandbox().await {
        bowline_testkit::sandbox_is_missing(&error.to_string());
        return None;
    }
    talk.run().await;
    assert!(!talk.trial.has("kept.txt"));
    Some(talk)
}

async fn get_pending_changes(talk: &Talk) {
    assert!(!talk.client.get_pending_changes().await.unwrap().enabled);
    if let Some(talk) = overlay().await {
        let report = talk.client.get_pending_changes().await.unwrap();
        assert_eq!(report.changes[0].path, "kept.txt");
        talk.client.stop().await;
    }
}

async fn accept_changes(talk: &Talk) {
    assert!(talk.client.accept_changes().await.is_err());
    if let Some(talk) = overlay().await {
        let paths = Some(vec!["kept.txt".to_owned()]);
        let report = talk
            .client
            .call(AcceptChangesCommand { paths, ..AcceptChangesCommand::default() })
            .await
            .unwrap();
        assert_eq!(report.accepted, ["kept.txt"]);
        assert!(talk.trial.has("kept.txt"));
        talk.client.stop().await;
    }
}

async fn discard_changes(talk: &Talk) {
    assert!(talk.client.discard_changes().await.is_err());
    if let Some(talk) = overlay().await {
        talk.client.discard_changes().await.unwrap();
        assert!(talk.client.get_pending_changes().await.unwrap().changes.is_empty());
        assert!(!talk.trial.has("kept.txt"));
        talk.client.stop().await;
    }
}

async fn set_host_tools(talk: &Talk) {
    let schema = Map::from_iter([("type".to_owned(), Value::from("object"))]);
    let names = talk.client.set_host_tools(vec![HostTool::new("now", "The time.", schema)]).await.unwrap();
    assert_eq!(names.tool_names, ["now"]);
    assert!(talk.state().await.tools.contains(&"now".to_owned()));
}

async fn set_host_uri_schemes(talk: &Talk) {
    let schemes = talk.client.set_host_uri_schemes(vec![HostUriScheme::new("notes")]).await.unwrap();
    assert_eq!(schemes.schemes, ["notes"]);
}

async fn set_approvals(talk: &Talk) {
    talk.client.set_approvals(AskMode::Untrusted).await.unwrap();
    assert_eq!(talk.state().await.approvals.unwrap().ask, AskMode::Untrusted);
}

async fn set_client_capabilities(talk: &Talk) {
    let command =
        SetClientCapabilitiesCommand { changes: Some(true), ..SetClientCapabilitiesCommand::default() };
    talk.client.call(command).await.unwrap();
    talk.client.set_client_capabilities().await.unwrap();
    let mut changes = talk.client.events_of(|kind| kind == "run_changes");
    talk.run().await;
    assert!(matches!(changes.next().await.unwrap(), Some(Event::RunChanges(_))));
}

async fn widget_input(talk: &Talk) {
    let error = talk.client.widget_input("none").await.unwrap_err();
    assert!(error.to_string().contains("none"), "{error}");
}

async fn approval_response(talk: &Talk) {
    talk.client.set_approvals(AskMode::Untrusted).await.unwrap();
    let records = SetClientCapabilitiesCommand {
        approvals: Some(ApprovalStyle::Record),
        ..SetClientCapabilitiesCommand::default()
    };
    talk.client.call(records).await.unwrap();
    let mut run = talk.client.run("hi").await.unwrap();
    while let Some(event) = run.next().await.unwrap() {
        if let Event::ApprovalRequest(request) = event {
            let (decision, message) = (Some("deny".to_owned()), Some("Not today.".to_owned()));
            let answer =
                ApprovalResponseCommand { decision, message, ..ApprovalResponseCommand::new(&request.id) };
            talk.client.call(answer).await.unwrap();
            assert!(talk.client.approval_response(request.id).await.is_err(), "it is not open any more");
        }
    }
    let messages = serde_json::to_string(&run.finish().await.unwrap().messages).unwrap();
    assert!(messages.contains("Not today."), "{messages}");
}
