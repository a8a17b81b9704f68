//! The configured servers: `mcpServers` in `settings.json` and in files named `mcp.json`.
//!
//! Nothing is started and no value is evaluated here. What is wrong with one server is reported and costs that server only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::names;

/// The largest file that is read.
const LARGEST_FILE: u64 = 1024 * 1024;

/// The most servers, and the most arguments, variables and headers of one.
const MOST_SERVERS: usize = 64;
const MOST_WORDS: usize = 1000;

/// The longest name of a server.
const LONGEST_NAME: usize = 128;

/// How long a server may take to answer by default, and at most.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60 * 1000;

/// What a server's description is made of, for errors.
const EXAMPLE_COMMAND: &str = r#"{"command": "uvx", "args": ["mcp-server-time"]}"#;
const EXAMPLE_URL: &str = r#"{"url": "https://example.org/mcp"}"#;

/// Headers that the protocol sets itself.
const RESERVED_HEADERS: &[&str] = &[
    "accept",
    "content-type",
    "content-length",
    "host",
    "last-event-id",
    "mcp-session-id",
    "mcp-protocol-version",
];

/// Where servers are described.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file of the user; a missing one describes none.
    File(PathBuf),
    /// A file of a project that the user trusts. It must really be in that folder.
    ProjectFile { path: PathBuf, folder: PathBuf },
    /// Servers that were read already, and the file that they come from.
    Servers { origin: PathBuf, servers: Map<String, Value> },
}

/// The configured servers, and what is wrong with the configuration.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// Those that can be used, also if they are disabled, in the order of the sources.
    pub servers: Vec<ServerConfig>,
    pub problems: Vec<Problem>,
}

/// Something that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// The server that cannot be used; none if the file cannot be read, or if only a part is ignored.
    pub server: Option<String>,
    pub text: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.file.display(), self.text)
    }
}

/// A server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Its name in the configuration.
    pub name: String,
    /// Its part of the names of tools.
    pub part: String,
    pub transport: Transport,
    /// How long it may be silent during a call.
    pub timeout: Duration,
    pub enabled: bool,
    pub start: Start,
    pub description: Option<String>,
    /// The file that describes it.
    pub origin: PathBuf,
    pub is_of_project: bool,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    Command {
        command: String,
        arguments: Vec<String>,
        /// Not yet evaluated.
        environment: Vec<(String, String)>,
        working_directory: Option<PathBuf>,
    },
    Http {
        url: String,
        /// Not yet evaluated.
        headers: Vec<(String, String)>,
    },
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Start {
    /// Before the first prompt is sent to a model.
    #[default]
    FirstUse,
    AtStart,
}

impl Transport {
    /// Returns the kind of the transport in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Command { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }

    /// Returns the program, or the address without what may be secret in it.
    pub fn target(&self) -> String {
        match self {
            Self::Command { command, arguments, .. } => {
                std::iter::once(command).chain(arguments).cloned().collect::<Vec<_>>().join(" ")
            }
            Self::Http { url, .. } => match Url::parse(url) {
                Ok(mut url) => {
                    url.set_query(None);
                    url.set_fragment(None);
                    let _ = url.set_password(None);
                    let _ = url.set_username("");
                    url.into()
                }
                Err(_) => String::new(),
            },
        }
    }
}

impl std::fmt::Debug for Transport {
    /// Shows only the kind: the rest may be secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.kind())
    }
}

impl Configuration {
    /// Reads the sources. A server of a later source replaces one of the same name.
    pub fn read(sources: &[Source]) -> Self {
        let mut configuration = Self::default();
        for source in sources {
            match source {
                Source::Servers { origin, servers } => configuration.add_all(origin, servers),
                Source::File(path) => configuration.add_file(path, read_file(path)),
                Source::ProjectFile { path, folder } => {
                    configuration.add_file(path, read_project_file(path, folder));
                    for server in configuration.servers.iter_mut().filter(|server| server.origin == *path) {
                        server.is_of_project = true;
                    }
                }
            }
        }
        let names: Vec<&str> = configuration.servers.iter().map(|server| server.name.as_str()).collect();
        let parts = names::server_parts(&names);
        for (server, part) in configuration.servers.iter_mut().zip(parts) {
            server.part = part;
        }
        configuration
    }

    /// Returns whether no server is described, not even wrongly.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.problems.is_empty()
    }

    /// Returns whether some server is to be started before it is needed.
    pub fn starts_early(&self) -> bool {
        self.servers.iter().any(|server| server.enabled && server.start == Start::AtStart)
    }

    fn add_file(&mut self, path: &Path, text: Result<String, bowline_files::Error>) {
        let text = match text {
            Ok(text) => text,
            Err(error) if error.is_not_found() => return,
            Err(error) => return self.problem(path, None, error.to_string()),
        };
        let text = text.trim_start_matches('\u{feff}');
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return self.problem(path, None, format!("this is not JSON: {error}")),
        };
        match value.get("mcpServers") {
            Some(Value::Object(servers)) => self.add_all(path, servers),
            Some(_) => self.problem(path, None, "mcpServers must be an object".to_owned()),
            None => {
                let example = format!(r#"{{"mcpServers": {{"time": {EXAMPLE_COMMAND}}}}}"#);
                self.problem(path, None, format!("\"mcpServers\" is missing; for example: {example}"));
            }
        }
    }

    fn add_all(&mut self, origin: &Path, servers: &Map<String, Value>) {
        for (name, value) in servers {
            if self.servers.len() >= MOST_SERVERS {
                let text = format!("only the first {MOST_SERVERS} servers are used");
                return self.problem(origin, None, text);
            }
            self.servers.retain(|server| server.name != *name);
            let mut ignored = Vec::new();
            match parse(name, value, origin, &mut ignored) {
                Ok(server) => self.servers.push(server),
                Err(text) => {
                    self.problem(origin, Some(name.clone()), format!("the server {}: {text}", shown(name)));
                }
            }
            for text in ignored {
                self.problem(origin, None, format!("the server {}: {text}", shown(name)));
            }
        }
    }

    fn problem(&mut self, file: &Path, server: Option<String>, text: String) {
        self.problems.push(Problem { file: file.to_owned(), server, text });
    }
}

fn read_file(path: &Path) -> Result<String, bowline_files::Error> {
    bowline_files::read_text(path, LARGEST_FILE)
}

fn read_project_file(path: &Path, folder: &Path) -> Result<String, bowline_files::Error> {
    let file = bowline_files::open_within(folder, path)?;
    let beginning = bowline_files::read_beginning(file, path, LARGEST_FILE)?;
    if beginning.is_cut {
        return Err(bowline_files::Error::TooLarge { path: path.to_owned(), limit: LARGEST_FILE });
    }
    String::from_utf8(beginning.bytes).map_err(|_| bowline_files::Error::NotText { path: path.to_owned() })
}

/// Returns a name in quotation marks, cut if it is long.
fn shown(name: &str) -> String {
    Value::String(crate::limits::beginning(name, LONGEST_NAME)).to_string()
}

/// Returns a server. What is ignored of its description is added to `ignored`.
fn parse(
    name: &str,
    value: &Value,
    origin: &Path,
    ignored: &mut Vec<String>,
) -> Result<ServerConfig, String> {
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("a name must have 1 to {LONGEST_NAME} bytes"));
    }
    let Value::Object(members) = value else {
        return Err(format!("this must be an object, for example {EXAMPLE_COMMAND}"));
    };
    let fields = Fields { members };
    let transport = transport(&fields)?;
    let known = match &transport {
        Transport::Command { .. } => &["command", "args", "env", "cwd"][..],
        Transport::Http { .. } => &["url", "headers"],
    };
    let common = ["type", "timeout", "enabled", "disabled", "start", "description"];
    for key in members.keys().filter(|key| !known.contains(&key.as_str()) && !common.contains(&key.as_str()))
    {
        let place = transport.kind();
        ignored.push(format!("{} has no effect for a server over {place} and is ignored", shown(key)));
    }
    let timeout = match fields.number("timeout", LONGEST_TIMEOUT)? {
        None => DEFAULT_TIMEOUT,
        Some(0) => return Err("timeout must be a number of milliseconds from 1".to_owned()),
        Some(milliseconds) => Duration::from_millis(milliseconds),
    };
    let start = match fields.text("start")? {
        None | Some("first-use") => Start::FirstUse,
        Some("at-start") => Start::AtStart,
        Some(_) => return Err("start must be \"first-use\" or \"at-start\"".to_owned()),
    };
    Ok(ServerConfig {
        name: name.to_owned(),
        part: String::new(),
        transport,
        timeout,
        enabled: fields.switch("enabled")?.unwrap_or(true) && !fields.switch("disabled")?.unwrap_or(false),
        start,
        description: fields.text("description")?.map(ToOwned::to_owned),
        origin: origin.to_owned(),
        is_of_project: false,
    })
}

fn transport(fields: &Fields<'_>) -> Result<Transport, String> {
    let command = fields.text("command")?.filter(|command| !command.trim().is_empty());
    let url = fields.text("url")?.filter(|url| !url.trim().is_empty());
    match (command, url) {
        (Some(_), Some(_)) => Err("it has both command and url; a server has one of them".to_owned()),
        (None, None) => {
            Err(format!("it needs a command or a url, for example {EXAMPLE_COMMAND} or {EXAMPLE_URL}"))
        }
        (Some(command), None) => {
            fields.check_type(&["stdio"], "command")?;
            Ok(Transport::Command {
                command: command.to_owned(),
                arguments: fields.texts("args")?,
                environment: fields.named_texts("env")?,
                working_directory: fields.text("cwd")?.map(PathBuf::from),
            })
        }
        (None, Some(url)) => {
            fields.check_type(&["http", "streamable-http", "streamableHttp"], "url")?;
            let address = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            if address.is_none_or(|address| address.host_str().is_none()) {
                return Err(format!("url must be an address, for example {EXAMPLE_URL}"));
            }
            let headers = fields.named_texts("headers")?;
            for (name, _) in &headers {
                check_header(name)?;
            }
            Ok(Transport::Http { url: url.to_owned(), headers })
        }
    }
}

fn check_header(name: &str) -> Result<(), String> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(format!("{} is not the name of a header", shown(name)));
    }
    if RESERVED_HEADERS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(format!("the header {} is set by the protocol itself", shown(name)));
    }
    Ok(())
}

/// Returns a header with an evaluated value, which is not repeated in an error.
pub(crate) fn header(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
}

/// The members of a server's description. As in pi, null is the same as no value. No value is repeated in an error: it may be
/// a key.
struct Fields<'a> {
    members: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        let wrong = || format!("{name} must be a text");
        self.get(name)
            .map(|value| value.as_str().filter(|text| !text.contains('\0')).ok_or_else(wrong))
            .transpose()
    }

    fn switch(&self, name: &str) -> Result<Option<bool>, String> {
        self.get(name)
            .map(|value| value.as_bool().ok_or_else(|| format!("{name} must be true or false")))
            .transpose()
    }

    fn number(&self, name: &str, most: u64) -> Result<Option<u64>, String> {
        let wrong = || format!("{name} must be a whole number up to {most}");
        self.get(name)
            .map(|value| value.as_u64().filter(|number| *number <= most).ok_or_else(wrong))
            .transpose()
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("{name} must be a list of at most {MOST_WORDS} texts");
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let list = value.as_array().filter(|list| list.len() <= MOST_WORDS).ok_or_else(wrong)?;
        let text = |value: &Value| value.as_str().filter(|text| !text.contains('\0')).map(ToOwned::to_owned);
        list.iter().map(text).collect::<Option<_>>().ok_or_else(wrong)
    }

    fn named_texts(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let wrong = || format!("{name} must be an object of at most {MOST_WORDS} texts");
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let members = value.as_object().filter(|members| members.len() <= MOST_WORDS).ok_or_else(wrong)?;
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        let pair = |(name, value): (&String, &Value)| {
            let value = value.as_str().filter(|value| !value.contains('\0'))?;
            is_name(name).then(|| (name.clone(), value.to_owned()))
        };
        members.iter().map(pair).collect::<Option<_>>().ok_or_else(wrong)
    }

    /// Checks `type`, which other clients write.
    fn check_type(&self, expected: &[&str], because: &str) -> Result<(), String> {
        match self.text("type")? {
            Some("sse") => Err(
                "type \"sse\" is the transport of old servers and is not supported; most of them also serve streamable \
                 HTTP: try \"type\": \"http\" with their newer address"
                    .to_owned(),
            ),
            Some(other) if !expected.contains(&other) => {
                Err(format!("type must be \"{}\" for a server with {because}", expected[0]))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(servers: &Value) -> Configuration {
        let servers = servers.as_object().unwrap().clone();
        Configuration::read(&[Source::Servers { origin: "settings.json".into(), servers }])
    }

    #[track_caller]
    fn refused(server: &Value) -> String {
        let configuration = read(&json!({"good": {"command": "x"}, "bad": server}));
        assert_eq!(configuration.servers.len(), 1, "the other server stays");
        let [problem] = &configuration.problems[..] else { panic!("{:?}", configuration.problems) };
        assert_eq!(problem.server.as_deref(), Some("bad"));
        problem.text.strip_prefix("the server \"bad\": ").unwrap().to_owned()
    }

    #[test]
    fn server_is_described_by_a_command_or_an_address() {
        let configuration = read(&json!({
            "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"A": "$B"}, "cwd": "sub", "timeout": 5000,
                     "start": "at-start", "description": "the time", "enabled": null},
            "web": {"type": "http", "url": "https://u:p@example.org/mcp?key=secret", "headers": {"X-Key": "!pass"}, "enabled": false},
        }));
        assert_eq!(configuration.problems, []);
        let [time, web] = &configuration.servers[..] else { panic!() };
        assert_eq!((time.timeout.as_secs(), time.start, time.enabled), (5, Start::AtStart, true));
        assert_eq!(
            (time.transport.kind(), time.transport.target().as_str()),
            ("stdio", "uvx mcp-server-time")
        );
        assert_eq!((web.enabled, web.timeout), (false, DEFAULT_TIMEOUT));
        assert_eq!(web.transport.target(), "https://example.org/mcp");
        assert!(
            !format!("{configuration:?}").contains("secret") && !format!("{configuration:?}").contains("$B")
        );
    }

    #[test]
    fn bad_server_is_explained_and_costs_only_itself() {
        for (server, expected) in [
            (json!(5), "this must be an object"),
            (json!({}), "it needs a command or a url"),
            (json!({"command": " "}), "it needs a command or a url"),
            (json!({"command": "a", "url": "http://b"}), "it has both"),
            (json!({"command": 5}), "command must be a text"),
            (json!({"command": "a", "args": "b"}), "args must be a list"),
            (json!({"command": "a", "args": [1]}), "args must be a list"),
            (json!({"command": "a", "env": {"K": 1}}), "env must be an object"),
            (json!({"command": "a", "env": {"K=": "1"}}), "env must be an object"),
            (json!({"command": "a\0b"}), "command must be a text"),
            (json!({"command": "a", "timeout": 0}), "timeout must be"),
            (json!({"command": "a", "timeout": -1}), "timeout must be"),
            (json!({"command": "a", "start": "soon"}), "start must be"),
            (json!({"command": "a", "enabled": "no"}), "enabled must be"),
            (json!({"command": "a", "type": "http"}), "type must be \"stdio\""),
            (json!({"url": "example.org"}), "url must be an address"),
            (json!({"url": "file:///etc/passwd"}), "url must be an address"),
            (json!({"url": "http://a", "type": "sse"}), "type \"sse\""),
            (json!({"url": "http://a", "headers": {"a b": "c"}}), "\"a b\" is not the name of a header"),
            (json!({"url": "http://a", "headers": {"Mcp-Session-Id": "c"}}), "the header"),
        ] {
            let text = refused(&server);
            assert!(text.starts_with(expected), "{server}: {text}");
        }
    }

    #[test]
    fn members_without_effect_are_reported() {
        let configuration = read(&json!({"a": {"command": "x", "headers": {}, "autoApprove": []}}));
        assert_eq!(configuration.servers.len(), 1);
        let texts: Vec<&str> = configuration.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].contains("\"headers\" has no effect for a server over stdio"), "{texts:?}");
    }

    #[test]
    fn later_source_replaces_a_server_and_broken_files_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("mcp.json");
        std::fs::write(&own, r#"{"mcpServers": {"a": {"command": "second"}, "b": {"command": "other"}}}"#)
            .unwrap();
        let broken = folder.path().join("broken.json");
        std::fs::write(&broken, "{").unwrap();
        let list = folder.path().join("list.json");
        std::fs::write(&list, r#"{"servers": {}}"#).unwrap();
        let first = json!({"a": {"command": "first"}});
        let configuration = Configuration::read(&[
            Source::Servers { origin: "settings.json".into(), servers: first.as_object().unwrap().clone() },
            Source::File(own),
            Source::File(folder.path().join("missing.json")),
            Source::File(broken),
            Source::File(list),
            Source::File(folder.path().to_owned()),
        ]);
        let targets: Vec<_> = configuration.servers.iter().map(|server| server.transport.target()).collect();
        assert_eq!(targets, ["second", "other"]);
        assert_eq!(configuration.problems.len(), 3, "{:?}", configuration.problems);
    }

    #[cfg(unix)]
    #[test]
    fn project_file_that_leads_out_of_the_project_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let real = outside.path().join("mcp.json");
        std::fs::write(&real, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
        let link = project.path().join("mcp.json");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let source = Source::ProjectFile { path: link, folder: project.path().to_owned() };
        let configuration = Configuration::read(&[source]);
        assert!(configuration.servers.is_empty());
        assert_eq!(configuration.problems.len(), 1);
    }
}
