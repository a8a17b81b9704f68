//! What the command line and the user's settings want of the sandbox. The settings of a project have no say in it.

use std::path::PathBuf;

use bowline_core::sandbox::{SandboxLevel, SandboxMode, SandboxNetwork, SandboxWorkspace};
use bowline_sandbox::proxy::HostRules;
use bowline_sandbox::{Home, Wishes};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::settings::SettingsFile;

/// What `settings.json` sets below `sandbox`, but for the environment of commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct SandboxSettings {
    pub mode: Option<SandboxMode>,
    pub network: Option<SandboxNetwork>,
    pub writable: Vec<String>,
    pub readable: Vec<String>,
    pub home: Home,
    pub workspace: Option<SandboxWorkspace>,
    pub minimum: Option<SandboxLevel>,
    pub hosts: Vec<String>,
    pub denied_hosts: Vec<String>,
    pub denies_unix_sockets: bool,
    pub client_may_widen: bool,
}

/// Returns what the user wants. Flags take precedence over settings, but for lists, which add up.
pub(crate) fn sandbox_wishes(
    arguments: &Arguments,
    environment: &Environment,
    file: &SettingsFile,
) -> Result<Wishes, Failure> {
    let settings = &file.sandbox;
    let defaults = Wishes::default();
    let mode = arguments.sandbox.or(settings.mode).unwrap_or(defaults.mode);
    if let Some(network) = arguments.network
        && network != SandboxNetwork::Full
        && !mode.is_confined()
    {
        let (network, mode) = (network.as_str(), mode.as_str());
        return Err(Failure::Usage(format!(
            "--network {network} needs --sandbox read-only or workspace-write: with {mode}, tools use the network of this \
             machine"
        )));
    }
    let is_named = arguments.sandbox.or(settings.mode).is_some();
    if let Some(network) = settings.network
        && network != SandboxNetwork::Full
        && !is_named
    {
        let text = format!(
            "sandbox.network is \"{}\", but tools use the network of this machine unless sandbox.mode is \"read-only\" or \
             \"workspace-write\"; set it (\"full-access\" if that is what you want)",
            network.as_str()
        );
        return Err(wrong(environment, text));
    }
    if !arguments.writable.is_empty() && mode != SandboxMode::WorkspaceWrite {
        let effect = match mode {
            SandboxMode::ReadOnly => "tools write nothing",
            _ => "tools write whatever the user may",
        };
        return Err(Failure::Usage(format!(
            "--writable needs --sandbox workspace-write: with {}, {effect}",
            mode.as_str()
        )));
    }
    check_hosts(environment, "sandbox.hosts", &settings.hosts)?;
    check_hosts(environment, "sandbox.deniedHosts", &settings.denied_hosts)?;
    let workspace = arguments.workspace.or(settings.workspace).unwrap_or(defaults.workspace);
    if workspace == SandboxWorkspace::Overlay && mode != SandboxMode::WorkspaceWrite {
        let asked = if arguments.workspace.is_some() {
            "--workspace overlay"
        } else {
            "sandbox.workspace \"overlay\""
        };
        return Err(Failure::Usage(format!(
            "{asked} needs --sandbox workspace-write: with {}, nothing could be kept apart from the working folder; pass \
             --sandbox workspace-write, or --workspace direct",
            mode.as_str()
        )));
    }
    let mut writable = absolute(environment, "sandbox.writable", &settings.writable)?;
    // Unlike a setting, a flag is given for one folder, so its value may start there.
    writable.extend(arguments.writable.iter().map(|path| environment.expand(path)));
    Ok(Wishes {
        mode,
        network: arguments.network.or(settings.network).unwrap_or(defaults.network),
        writable,
        readable: absolute(environment, "sandbox.readable", &settings.readable)?,
        home: settings.home,
        workspace,
        minimum: settings.minimum.unwrap_or(defaults.minimum),
        hosts: settings.hosts.clone(),
        denied_hosts: settings.denied_hosts.clone(),
        unix_sockets: !settings.denies_unix_sockets,
        client_may_widen: arguments.client_may_widen || settings.client_may_widen,
    })
}

/// Says that something is wrong with the user's settings.
fn wrong(environment: &Environment, problem: String) -> Failure {
    Failure::Settings { path: SettingsFile::path(environment).display().to_string(), problem }
}

/// Checks the hosts of a setting, also where nothing is confined yet: a client may choose a mode later.
fn check_hosts(environment: &Environment, setting: &str, hosts: &[String]) -> Result<(), Failure> {
    let checked = HostRules::parse(hosts, &[]);
    checked.map(drop).map_err(|error| wrong(environment, format!("{setting}: {error}")))
}

/// Returns the paths of a setting. A relative one would be another folder in every project.
fn absolute(environment: &Environment, setting: &str, paths: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let check = |path: &String| {
        let is_absolute = path.starts_with('/') || path.starts_with("~/");
        if !is_absolute {
            let path = serde_json::Value::from(path.as_str());
            let problem = format!("{setting}: {path} must be an absolute path, or begin with ~/");
            return Err(wrong(environment, problem));
        }
        Ok(environment.expand(path))
    };
    paths.iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn wishes(line: &str, settings: &str) -> Result<Wishes, String> {
        let words = line.split_whitespace().map(ToOwned::to_owned).collect();
        let arguments = Arguments::parse(words, "pi", &[], false).map_err(|failure| failure.to_string())?;
        let environment = Environment {
            variables: HashMap::from([("HOME".to_owned(), "/home/me".to_owned())]),
            home: "/home/me/.bowline".into(),
            working_directory: "/home/me/project".into(),
            user_home: Some("/home/me".into()),
            temporary_directory: "/tmp".into(),
        };
        sandbox_wishes(&arguments, &environment, &SettingsFile::parse(settings)?)
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn nothing_is_wanted_by_default() {
        assert_eq!(wishes("--mode rpc", "{}"), Ok(Wishes::default()));
    }

    #[test]
    fn every_setting_is_read() {
        let settings = r#"{"sandbox": {"mode": "workspace-write", "network": "allow-list", "writable": ["/data", "~/cache"],
            "readable": ["~/.npmrc"], "home": "overlay", "workspace": "overlay", "minimum": "landlock", "hosts": ["crates.io"],
            "deniedHosts": ["a.example"], "unixSockets": "deny", "clientMayWiden": true}}"#;
        let expected = Wishes {
            mode: SandboxMode::WorkspaceWrite,
            network: SandboxNetwork::AllowList,
            writable: vec!["/data".into(), "/home/me/cache".into()],
            readable: vec!["/home/me/.npmrc".into()],
            home: Home::Overlay,
            workspace: SandboxWorkspace::Overlay,
            minimum: SandboxLevel::Landlock,
            hosts: vec!["crates.io".to_owned()],
            denied_hosts: vec!["a.example".to_owned()],
            unix_sockets: false,
            client_may_widen: true,
        };
        assert_eq!(wishes("--mode rpc", settings), Ok(expected));
    }

    #[test]
    fn flags_take_precedence_and_their_folders_add_up() {
        let settings = r#"{"sandbox": {"mode": "read-only", "network": "full", "writable": ["/data"]}}"#;
        let line = "--mode rpc --sandbox workspace-write --network none --writable ../other --writable /var/x \
                    --sandbox-eager --client-may-widen";
        let expected = Wishes {
            mode: SandboxMode::WorkspaceWrite,
            writable: vec!["/data".into(), "/home/me/project/../other".into(), "/var/x".into()],
            client_may_widen: true,
            ..Wishes::default()
        };
        assert_eq!(wishes(line, settings), Ok(expected));
        assert_eq!(
            wishes("--mode rpc --sandbox off", settings).map(|wishes| wishes.mode),
            Ok(SandboxMode::FullAccess)
        );
    }

    #[test]
    fn network_of_the_settings_waits_for_a_mode_that_is_named() {
        for (line, settings) in [
            ("--mode rpc", r#"{"sandbox": {"network": "full"}}"#),
            ("--mode rpc --sandbox off", r#"{"sandbox": {"network": "none"}}"#),
            ("--mode rpc", r#"{"sandbox": {"mode": "full-access", "network": "allow-list"}}"#),
        ] {
            assert!(wishes(line, settings).is_ok(), "{line} {settings}");
        }
    }

    #[test]
    fn mistakes_name_the_value_and_the_choices() {
        for (line, settings, expected) in [
            (
                "--mode rpc --sandbox on",
                "{}",
                "--sandbox: \"on\" is not a sandbox mode; there are read-only, workspace-write, external, full-access",
            ),
            ("--mode rpc --sandbox=", "{}", "--sandbox: \"\" is not a sandbox mode; "),
            ("--sandbox --mode rpc", "{}", "--sandbox: \"--mode\" is not a sandbox mode; "),
            ("--mode rpc --sandbox", "{}", "--sandbox needs a value: --sandbox MODE"),
            (
                "--mode rpc --network off",
                "{}",
                "--network: \"off\" is not a network; there are none, allow-list, full",
            ),
            (
                "--mode rpc --workspace overlay",
                "{}",
                "--workspace overlay needs --sandbox workspace-write: with full-access, ",
            ),
            (
                "--mode rpc --sandbox read-only",
                r#"{"sandbox": {"workspace": "overlay"}}"#,
                "sandbox.workspace \"overlay\" needs --sandbox workspace-write: with read-only, ",
            ),
            (
                "--mode rpc --workspace copy",
                "{}",
                "--workspace: \"copy\" is not a kind of workspace; there are direct, overlay",
            ),
            ("--mode rpc --writable=", "{}", "--writable: the name of a folder is missing"),
            (
                "--mode rpc --network none",
                "{}",
                "--network none needs --sandbox read-only or workspace-write: ",
            ),
            (
                "--mode rpc --sandbox external --network none",
                "{}",
                "--network none needs --sandbox read-only or workspace-write: with external, ",
            ),
            (
                "--mode rpc --writable /data",
                "{}",
                "--writable needs --sandbox workspace-write: with full-access, tools write whatever the user may",
            ),
            (
                "--mode rpc --sandbox read-only --writable /data",
                "{}",
                "--writable needs --sandbox workspace-write: with read-only, tools write nothing",
            ),
            (
                "--mode rpc",
                r#"{"sandbox": {"network": "none"}}"#,
                "/home/me/.bowline/settings.json: sandbox.network is \"none\", but tools use the network of this machine unless",
            ),
            (
                "--mode rpc",
                r#"{"sandbox": {"network": "allow-list"}}"#,
                "/home/me/.bowline/settings.json: sandbox.network is \"allow-list\", but",
            ),
            (
                "--mode rpc",
                r#"{"sandbox": {"writable": ["cache"]}}"#,
                "/home/me/.bowline/settings.json: sandbox.writable: \"cache\" must be an absolute path, or begin with ~/",
            ),
            (
                "--mode rpc",
                r#"{"sandbox": {"hosts": ["*"]}}"#,
                "/home/me/.bowline/settings.json: sandbox.hosts: \"*\" would allow every host",
            ),
            (
                "--mode rpc",
                r#"{"sandbox": {"deniedHosts": ["*.1.2.3.4"]}}"#,
                "/home/me/.bowline/settings.json: sandbox.deniedHosts: \"*.1.2.3.4\": a wildcard cannot be used",
            ),
            (
                "--mode rpc",
                r#"{"sandbox": {"readable": ["~other/.npmrc"]}}"#,
                "/home/me/.bowline/settings.json: sandbox.readable: \"~other/.npmrc\" must be",
            ),
        ] {
            let wrong = wishes(line, settings).unwrap_err();
            assert!(wrong.starts_with(expected), "{wrong}");
        }
    }
}
