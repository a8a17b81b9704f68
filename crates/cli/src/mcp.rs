//! `bowline mcp`: the configured MCP servers, whether they work, and calls of their tools.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::message::Content;
use bowline_extension_host::McpOptions;
use bowline_mcp::{
    Configuration, Listener, NoAsker, Notice, ServerConfig, ServerContext, Servers, Severity, Start, Status,
    Timing,
};
use bowline_tools::{CallContext, Outcome, TodoList};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::blocking::block_on;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;
use crate::similar::nearest;
use crate::table::{Align, render};
use crate::terminal::{note, plain_line, say};
use crate::{resources, startup};

pub(crate) const USAGE: &str = "\
bowline mcp list                    show the configured MCP servers
bowline mcp test [SERVER...]        start servers and show what they offer; all of them by default
bowline mcp call SERVER TOOL [JSON] call a tool with these arguments; - reads them from stdin

Servers are described by \"mcpServers\" in settings.json and in mcp.json, which are in ~/.bowline, and in .bowline/mcp.json and
.pi/mcp.json of a project that is trusted. --json prints list and test as one JSON object per line, and the whole result
of a call. The exit code is 1 if a server cannot be used or a call fails.
";

/// The longest arguments that are read from stdin.
const LONGEST_ARGUMENTS: u64 = 16 * 1024 * 1024;

/// Runs a subcommand.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    for warning in &arguments.warnings {
        note(format_args!("bowline: {warning}"));
    }
    match words[..] {
        ["list", ..] => Mcp::read(arguments)?.list(),
        ["test", ..] => Mcp::read(arguments)?.test(&words[1..]),
        ["call", server, tool] => Mcp::read(arguments)?.call(server, tool, &given(None)?),
        ["call", server, tool, json] => Mcp::read(arguments)?.call(server, tool, &given(Some(json))?),
        ["call", ..] => Err(Failure::Usage(
            "what is to be called? bowline mcp call SERVER TOOL '{\"name\": \"value\"}'".to_owned(),
        )),
        // Other words are refused with the command line.
        _ => say(USAGE).map(|()| ExitCode::from(2)),
    }
}

/// Returns the arguments of a call.
fn given(json: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let text = match json {
        None => return Ok(Map::new()),
        Some("-") => {
            let mut text = String::new();
            let mut stdin = std::io::Read::take(std::io::stdin().lock(), LONGEST_ARGUMENTS);
            std::io::Read::read_to_string(&mut stdin, &mut text)
                .map_err(Failure::io("reading the arguments from stdin"))?;
            text
        }
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::Usage(
            "the arguments must be a JSON object, such as {\"city\": \"Paris\"}".to_owned(),
        )),
        Err(error) => Err(Failure::Usage(format!("the arguments are not JSON: {error}"))),
    }
}

/// The configuration and the output format.
struct Mcp {
    configuration: Configuration,
    options: McpOptions,
    environment: Environment,
    as_json: bool,
}

/// Shows what happens to servers beside the result, which says what failed.
struct ToStderr;

impl Listener for ToStderr {
    fn notice(&self, notice: Notice) {
        if notice.severity == Severity::Warning {
            note(format_args!("bowline: {}", notice.text));
        }
    }

    fn changed(&self) {}
}

impl Mcp {
    fn read(arguments: &Arguments) -> Result<Self, Failure> {
        let environment = Environment::read(arguments.working_directory.as_deref())?;
        let file = SettingsFile::of_user(&environment)?;
        let resources = resources::choose(arguments, &environment, &file);
        let options = startup::mcp_options(arguments, &environment, &file, &resources)?;
        let configuration = options.configuration(&environment.working_directory);
        for problem in &configuration.problems {
            note(format_args!("bowline: {problem}"));
        }
        Ok(Self { configuration, options, environment, as_json: arguments.json })
    }

    fn list(&self) -> Result<ExitCode, Failure> {
        let is_wrong = self.configuration.problems.iter().any(|problem| problem.server.is_some());
        let code = if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        let servers = &self.configuration.servers;
        if self.as_json {
            let lines: String = servers.iter().map(|server| format!("{}\n", described(server))).collect();
            say(&lines)?;
            return Ok(code);
        }
        if servers.is_empty() {
            note("bowline: no MCP server is configured; see bowline help mcp");
            return Ok(code);
        }
        let rows: Vec<[String; 5]> = servers.iter().map(row).collect();
        let columns = ["server", "kind", "start", "target", "from"].map(|title| (title, Align::Left));
        say(&render(columns, &rows))?;
        Ok(code)
    }

    fn test(&self, names: &[&str]) -> Result<ExitCode, Failure> {
        let chosen = self.choose(names)?;
        if chosen.is_empty() {
            note("bowline: no MCP server is configured; see bowline help mcp");
            return Ok(ExitCode::FAILURE);
        }
        let results = self.run(async |servers: &Servers| {
            start_all(servers, &chosen, Timing::default().longest_start).await
        })?;
        let mut all_work = true;
        for (name, (result, took)) in chosen.iter().zip(results) {
            all_work &= result.as_ref().is_ok_and(|status| status.state == "ready");
            let text = match (result, self.as_json) {
                (Ok(status), true) => format!("{}\n", tested(&status, took)),
                (Ok(status), false) => shown(&status, took),
                (Err(error), true) => {
                    format!("{}\n", json!({"name": name, "state": "failed", "problem": error.to_string()}))
                }
                (Err(error), false) => format!("{name}: failed\n  {error}\n"),
            };
            say(&text)?;
        }
        Ok(if all_work { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn call(&self, server: &str, tool: &str, arguments: &Map<String, Value>) -> Result<ExitCode, Failure> {
        self.choose(&[server])?;
        let directory = self.environment.working_directory.clone();
        let outcome = self.run(async |servers: &Servers| {
            let status = servers.start_one(server, Timing::default().longest_start).await?;
            if let Some(problem) = status.problem {
                return Err(bowline_mcp::Error::Unavailable {
                    server: server.to_owned(),
                    reason: format!("{problem}."),
                });
            }
            let tool = servers.tool(server, tool)?;
            let context = CallContext {
                working_directory: directory,
                cancel: CancellationToken::new(),
                progress: Arc::new(|progress| {
                    note(bowline_core::message::join_text(&progress.content));
                }),
                environment: Vec::new(),
                takes_images: true,
                session_id: None,
                call_id: None,
                todos: TodoList::default(),
                grants: bowline_core::sandbox::Grants::default(),
                editor: None,
            };
            Ok(tool.call(context, arguments.clone()).await)
        })?;
        let outcome = outcome.unwrap_or_else(|error| Outcome::error(error.to_string()));
        if self.as_json {
            let result =
                json!({"content": outcome.content, "details": outcome.details, "isError": outcome.is_error});
            say(&format!("{result}\n"))?;
        } else {
            let mut text = String::new();
            for block in &outcome.content {
                match block {
                    Content::Text { text: block } => text.push_str(block),
                    Content::Image { data, mime_type } => {
                        let _ = write!(text, "[image: {mime_type}, {} bytes in base64]", data.len());
                    }
                }
                text.push('\n');
            }
            if outcome.is_error {
                note(text.trim_end());
            } else {
                say(&text)?;
            }
        }
        Ok(if outcome.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Returns the enabled servers, or those that are named.
    fn choose(&self, names: &[&str]) -> Result<Vec<String>, Failure> {
        let servers = &self.configuration.servers;
        if names.is_empty() {
            let enabled = servers.iter().filter(|server| server.enabled);
            return Ok(enabled.map(|server| server.name.clone()).collect());
        }
        for name in names {
            match servers.iter().find(|server| server.name == *name) {
                Some(server) if server.enabled => {}
                Some(_) => return Err(Failure::Usage(format!("the MCP server {name} is disabled"))),
                None => {
                    let near = nearest(name, servers.iter().map(|server| server.name.as_str()));
                    let hint = near.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                    return Err(Failure::Usage(format!(
                        "there is no MCP server named \"{name}\"{hint} (bowline mcp list shows them)"
                    )));
                }
            }
        }
        Ok(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Runs something with servers, and ends them.
    fn run<T>(&self, work: impl AsyncFnOnce(&Servers) -> T) -> Result<T, Failure> {
        block_on(async {
            let servers = servers(&self.configuration, &self.options, &self.environment, Arc::new(ToStderr));
            let result = work(&servers).await;
            servers.stop().await;
            result
        })
    }
}

/// Returns the configured servers without a session. Whoever asks for it ends them.
pub(crate) fn servers(
    configuration: &Configuration,
    options: &McpOptions,
    environment: &Environment,
    listener: Arc<dyn Listener>,
) -> Servers {
    let context = ServerContext {
        working_directory: environment.working_directory.clone(),
        tools: Arc::clone(&options.tools),
        host: Arc::clone(&options.host),
        asker: Arc::new(NoAsker),
        listener,
        timing: Timing { backoff: [Duration::ZERO; 3], ..Timing::default() },
    };
    Servers::new(configuration, context)
}

/// Starts servers at the same time, and returns what became of each and how long it took.
pub(crate) async fn start_all(
    servers: &Servers,
    names: &[String],
    limit: Duration,
) -> Vec<(Result<Status, bowline_mcp::Error>, Duration)> {
    let tests = names.iter().map(|name| async move {
        let began = Instant::now();
        let result = servers.start_one(name, limit).await;
        (result, began.elapsed())
    });
    futures_util::future::join_all(tests).await
}

fn row(server: &ServerConfig) -> [String; 5] {
    let start = match (server.enabled, server.start) {
        (false, _) => "disabled",
        (true, Start::FirstUse) => "first use",
        (true, Start::AtStart) => "at start",
    };
    [
        server.name.clone(),
        server.transport.kind().to_owned(),
        start.to_owned(),
        server.transport.target(),
        server.origin.display().to_string(),
    ]
}

fn described(server: &ServerConfig) -> Value {
    json!({
        "name": server.name,
        "kind": server.transport.kind(),
        "target": server.transport.target(),
        "enabled": server.enabled,
        "start": if server.start == Start::AtStart { "at-start" } else { "first-use" },
        "timeout": u64::try_from(server.timeout.as_millis()).unwrap_or(u64::MAX),
        "description": server.description,
        "file": server.origin,
    })
}

fn tested(status: &Status, took: Duration) -> Value {
    let tools: Vec<Value> = status
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "fullName": tool.full_name, "description": tool.description}))
        .collect();
    json!({
        "name": status.config.name,
        "state": status.state,
        "problem": status.problem,
        "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "server": status.identity,
        "protocolVersion": status.protocol_version,
        "instructions": status.instructions,
        "tools": tools,
        "prompts": status.prompts,
        "hasResources": status.has_resources,
        "omitted": status.omitted,
    })
}

/// Returns the result of a test as text.
fn shown(status: &Status, took: Duration) -> String {
    let name = plain_line(&status.config.name);
    if let Some(problem) = &status.problem {
        return format!("{name}: {}\n  {problem}\n", status.state);
    }
    let mut text = format!("{name}: {} in {} ms", status.state, took.as_millis());
    if let (Some(identity), Some(version)) = (&status.identity, &status.protocol_version) {
        let _ = write!(text, " ({}, protocol {version})", plain_line(identity));
    }
    text.push('\n');
    let first_line = |text: &str| {
        let line = text.lines().next().unwrap_or_default();
        if line.chars().count() > 70 {
            line.chars().take(69).chain(['…']).collect()
        } else {
            line.to_owned()
        }
    };
    let width = status.tools.iter().map(|tool| tool.full_name.len()).max().unwrap_or_default();
    for tool in &status.tools {
        let _ = writeln!(text, "  {:width$}  {}", tool.full_name, plain_line(&first_line(&tool.description)));
    }
    for prompt in &status.prompts {
        let _ = writeln!(text, "  {}", plain_line(prompt));
    }
    if status.has_resources {
        text.push_str("  resources: list_mcp_resources, read_mcp_resource\n");
    }
    for omitted in &status.omitted {
        let _ = writeln!(text, "  note: {}", plain_line(omitted));
    }
    text
}
