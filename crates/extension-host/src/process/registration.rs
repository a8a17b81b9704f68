//! What an extension has registered, checked: everything that it sends has a bound.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::hook::{HookKind, HookRole, Subscription};
use serde_json::Value;

use crate::protocol::{
    CommandRegistration, FlagRegistration, FlagType, HookRegistration, McpServerRegistration,
    ModelRegistration, ProviderRegistration, Registration, ToolRegistration, Unregister,
    VirtualModelRegistration, Want,
};

/// The most of each kind that an extension may register.
const MOST_TOOLS: usize = 200;
const MOST_COMMANDS: usize = 500;
const MOST_FLAGS: usize = 100;
const MOST_PROVIDERS: usize = 50;
const MOST_SERVERS: usize = 50;
const MOST_VIRTUAL_MODELS: usize = 100;

/// The most tools that a hook is limited to.
const MOST_FILTERED: usize = 1000;

/// The most models of a provider, and the longest description of one in bytes.
pub(crate) const MOST_MODELS: usize = 2000;
const LONGEST_PROVIDER: usize = 4 * 1024 * 1024;

/// The longest name and description, in bytes.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 64 * 1024;

/// The longest id of a virtual model, in bytes.
const LONGEST_MODEL_ID: usize = 200;

/// The longest JSON Schema of a tool's arguments, in bytes.
const LONGEST_PARAMETERS: usize = 256 * 1024;

/// The longest description of an MCP server, in bytes.
const LONGEST_SERVER: usize = 256 * 1024;

/// Hooks that extensions of pi take part in and that never occur: those of older versions, and one about something that
/// bowline does not do.
const IDLE_HOOKS: [&str; 4] =
    ["session_switch", "session_fork", "session_directory", "cache_warming_decision"];

/// The name of the hook for what other extensions emit.
const BUS: &str = "bus";

/// Everything that an extension has registered.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    pub tools: Vec<ToolRegistration>,
    pub commands: Vec<CommandRegistration>,
    pub flags: Vec<FlagRegistration>,
    pub providers: Vec<ProviderRegistration>,
    pub mcp_servers: Vec<McpServerRegistration>,
    pub virtual_models: Vec<VirtualModelRegistration>,
    hooks: BTreeMap<HookKind, Hook>,
    pub takes_bus: bool,
    pub wants_entries: bool,
}

#[derive(Debug)]
struct Hook {
    is_awaited: bool,
    /// The tools that it is about; all of them if absent.
    tools: Option<Vec<String>>,
}

/// What a registration changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub tools: bool,
    pub commands: bool,
    /// The names of the providers.
    pub providers: BTreeSet<String>,
    /// The names of the MCP servers.
    pub mcp_servers: BTreeSet<String>,
    /// The names of the virtual models.
    pub virtual_models: BTreeSet<String>,
    /// What could not be registered, and why.
    pub problems: Vec<String>,
}

impl Registered {
    /// Returns what an extension has registered that has a say in every tool call.
    pub fn of_guard() -> Self {
        let hook = Hook { is_awaited: true, tools: None };
        Self { hooks: BTreeMap::from([(HookKind::ToolCall, hook)]), ..Self::default() }
    }

    /// Adds what an extension registers. What is wrong is left out.
    pub fn add(&mut self, registration: Registration) -> Changed {
        let mut changed = Changed::default();
        let Registration {
            ext: _,
            tools,
            commands,
            flags,
            hooks,
            providers,
            mcp_servers,
            virtual_models,
            wants,
        } = registration;
        let problems = &mut changed.problems;
        let put_tools = put_all(&mut self.tools, tools, check_tool, |tool| &tool.name, problems);
        let put_commands =
            put_all(&mut self.commands, commands, check_command, |command| &command.name, problems);
        put_all(&mut self.flags, flags, check_flag, |flag| &flag.name, problems);
        changed.providers =
            put_all(&mut self.providers, providers, check_provider, |provider| &provider.name, problems);
        changed.mcp_servers =
            put_all(&mut self.mcp_servers, mcp_servers, check_server, |server| &server.name, problems);
        changed.virtual_models =
            put_all(&mut self.virtual_models, virtual_models, check_virtual, |model| &model.name, problems);
        (changed.tools, changed.commands) = (!put_tools.is_empty(), !put_commands.is_empty());
        for hook in hooks {
            if let Err(problem) = self.add_hook(hook) {
                changed.problems.push(problem);
            }
        }
        self.wants_entries |= wants.contains(&Want::Entries);
        cut(&mut self.tools, MOST_TOOLS, "tools", &mut changed.problems);
        cut(&mut self.commands, MOST_COMMANDS, "commands", &mut changed.problems);
        cut(&mut self.flags, MOST_FLAGS, "flags", &mut changed.problems);
        cut(&mut self.providers, MOST_PROVIDERS, "providers", &mut changed.problems);
        cut(&mut self.mcp_servers, MOST_SERVERS, "MCP servers", &mut changed.problems);
        cut(&mut self.virtual_models, MOST_VIRTUAL_MODELS, "virtual models", &mut changed.problems);
        changed
    }

    /// Gives a provider the models that it has listed.
    pub fn set_models(&mut self, provider: &str, models: Vec<ModelRegistration>) {
        if let Some(known) = self.providers.iter_mut().find(|known| known.name == provider) {
            known.models = models;
        }
    }

    /// Removes what an extension takes back.
    pub fn remove(&mut self, names: &Unregister) -> Changed {
        let Unregister { ext: _, tools, commands, hooks, providers, mcp_servers, virtual_models } = names;
        self.virtual_models.retain(|model| !virtual_models.contains(&model.name));
        self.mcp_servers.retain(|server| !mcp_servers.contains(&server.name));
        self.providers.retain(|provider| !providers.contains(&provider.name));
        self.tools.retain(|tool| !tools.contains(&tool.name));
        self.commands.retain(|command| !commands.contains(&command.name));
        for name in hooks {
            match HookKind::parse(name) {
                Some(hook) => drop(self.hooks.remove(&hook)),
                None => self.takes_bus &= name != BUS,
            }
        }
        Changed {
            tools: !tools.is_empty(),
            commands: !commands.is_empty(),
            providers: BTreeSet::new(),
            mcp_servers: BTreeSet::new(),
            virtual_models: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Returns the names of the providers.
    pub fn provider_names(&self) -> BTreeSet<String> {
        self.providers.iter().map(|provider| provider.name.clone()).collect()
    }

    /// Returns the names of the MCP servers.
    pub fn server_names(&self) -> BTreeSet<String> {
        self.mcp_servers.iter().map(|server| server.name.clone()).collect()
    }

    /// Returns the names of the virtual models.
    pub fn virtual_model_names(&self) -> BTreeSet<String> {
        self.virtual_models.iter().map(|model| model.name.clone()).collect()
    }

    /// Returns how the extension takes part in a hook.
    pub fn subscription(&self, hook: HookKind, tool: Option<&str>) -> Subscription {
        match self.hooks.get(&hook) {
            None => Subscription::None,
            Some(Hook { tools: Some(tools), .. })
                if tool.is_some_and(|tool| !tools.iter().any(|known| known == tool)) =>
            {
                Subscription::None
            }
            Some(Hook { is_awaited: true, .. }) => Subscription::Awaited,
            Some(Hook { is_awaited: false, .. }) => Subscription::Told,
        }
    }

    /// Returns the names of the hooks that the extension takes part in.
    pub fn hook_names(&self) -> Vec<&'static str> {
        let taken = HookKind::ALL.iter().filter(|hook| self.hooks.contains_key(hook));
        taken.map(|hook| hook.as_str()).collect()
    }

    /// Returns the values of the flags, of those that the user gave and the defaults of the others.
    pub fn flag_values(
        &self,
        mut given: impl FnMut(&FlagRegistration) -> Option<Value>,
    ) -> BTreeMap<String, Value> {
        let values = self.flags.iter().filter_map(|flag| {
            let value = given(flag).or_else(|| flag.default.clone());
            Some((flag.name.clone(), value?))
        });
        values.collect()
    }

    fn add_hook(&mut self, registration: HookRegistration) -> Result<(), String> {
        let HookRegistration { event, r#await, filter } = registration;
        if event == BUS {
            self.takes_bus = true;
            return Ok(());
        }
        let Some(hook) = HookKind::parse(&event) else {
            // A later version may have it.
            return if IDLE_HOOKS.contains(&&*event) {
                Ok(())
            } else {
                Err(format!("there is no hook {}", shortened(&event)))
            };
        };
        let is_awaited = r#await && hook.role() != HookRole::Streams;
        let tools = filter.and_then(|filter| filter.tool_name);
        let known = self.hooks.entry(hook).or_insert(Hook { is_awaited, tools: tools.clone() });
        // An extension with two handlers is called if either of them wants it.
        known.is_awaited |= is_awaited;
        known.tools = match (known.tools.take(), tools) {
            (Some(mut known), Some(more)) => {
                known.extend(more);
                known.sort_unstable();
                known.dedup();
                // A hook with more than that is asked about every tool, which never lets one slip past a guard.
                Some(known).filter(|known| known.len() <= MOST_FILTERED)
            }
            _ => None,
        };
        Ok(())
    }
}

fn check_tool(tool: &ToolRegistration) -> Result<(), String> {
    if !is_name(&tool.name) {
        return Err(name_problem("tool", &tool.name));
    }
    let name = &tool.name;
    if tool.parameters["type"] != "object" {
        return Err(format!("the parameters of the tool {name} must be a JSON Schema of the type object"));
    }
    if tool.parameters.to_string().len() > LONGEST_PARAMETERS {
        return Err(format!("the parameters of the tool {name} are longer than {LONGEST_PARAMETERS} bytes"));
    }
    let advice = tool.prompt_snippet.iter().chain(&tool.prompt_guidelines).map(String::len).sum::<usize>();
    if tool.description.len() + advice > LONGEST_DESCRIPTION {
        return Err(format!("the description of the tool {name} is longer than {LONGEST_DESCRIPTION} bytes"));
    }
    Ok(())
}

fn check_command(command: &CommandRegistration) -> Result<(), String> {
    let name = &command.name;
    let is_right = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.contains(|letter: char| letter.is_whitespace() || letter.is_control() || letter == '/');
    if !is_right {
        return Err(format!(
            "{} is not the name of a command: it has 1 to {LONGEST_NAME} bytes without spaces and slashes",
            shortened(name)
        ));
    }
    if command.description.as_ref().is_some_and(|text| text.len() > LONGEST_DESCRIPTION) {
        return Err(format!("the description of the command {name} is too long"));
    }
    Ok(())
}

fn check_flag(flag: &FlagRegistration) -> Result<(), String> {
    if !is_name(&flag.name) {
        return Err(name_problem("flag", &flag.name));
    }
    let fits = match (&flag.default, flag.r#type) {
        (None | Some(Value::Null), _) => true,
        (Some(default), FlagType::Boolean) => default.is_boolean(),
        (Some(default), FlagType::String) => default.is_string(),
    };
    if fits { Ok(()) } else { Err(format!("the default of the flag {} is of the wrong type", flag.name)) }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Checks the size of a provider; what it says is checked where it is added.
fn check_provider(provider: &ProviderRegistration) -> Result<(), String> {
    let name = &provider.name;
    if !is_name(name) {
        return Err(name_problem("provider", name));
    }
    if provider.models.len() > MOST_MODELS {
        return Err(format!("the provider {name} has more than {MOST_MODELS} models"));
    }
    if serde_json::to_vec(provider).is_ok_and(|text| text.len() > LONGEST_PROVIDER) {
        return Err(format!(
            "the description of the provider {name} is longer than {LONGEST_PROVIDER} bytes"
        ));
    }
    Ok(())
}

/// Checks the size of the description of a server; what it says is checked where it is started.
fn check_server(server: &McpServerRegistration) -> Result<(), String> {
    if !is_name(&server.name) {
        return Err(name_problem("MCP server", &server.name));
    }
    if server.config.to_string().len() > LONGEST_SERVER {
        return Err(format!(
            "the description of the MCP server {} is longer than {LONGEST_SERVER} bytes",
            server.name
        ));
    }
    Ok(())
}

fn check_virtual(model: &VirtualModelRegistration) -> Result<(), String> {
    let VirtualModelRegistration { name, label, .. } = model;
    let (provider, id) = name.split_once('/').unwrap_or_default();
    let is_id = !id.is_empty()
        && id.len() <= LONGEST_MODEL_ID
        && !id.contains(|letter: char| letter.is_control() || letter.is_whitespace());
    if !is_name(provider) || !is_id {
        return Err(format!(
            "{} is not the name of a virtual model: it has the name of a provider, a slash, and an id of 1 to {LONGEST_MODEL_ID} bytes without spaces",
            shortened(name)
        ));
    }
    if label.as_ref().is_some_and(|label| label.len() > LONGEST_MODEL_ID) {
        return Err(format!("the label of the virtual model {} is too long", shortened(name)));
    }
    Ok(())
}

fn name_problem(what: &str, name: &str) -> String {
    format!(
        "{} is not the name of a {what}: it has 1 to {LONGEST_NAME} letters, digits, '_', '-' and '.'",
        shortened(name)
    )
}

/// Returns a name as an error shows it.
fn shortened(name: &str) -> String {
    format!("{:?}", name.chars().take(LONGEST_NAME).collect::<String>())
}

/// Adds elements, each in place of the one of its name, and leaves out what is wrong. Returns the names of the others.
fn put_all<T>(
    list: &mut Vec<T>,
    elements: Vec<T>,
    check: impl Fn(&T) -> Result<(), String>,
    name: impl Fn(&T) -> &String,
    problems: &mut Vec<String>,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for element in elements {
        if let Err(problem) = check(&element) {
            problems.push(problem);
            continue;
        }
        names.insert(name(&element).clone());
        match list.iter().position(|known| name(known) == name(&element)) {
            Some(index) => list[index] = element,
            None => list.push(element),
        }
    }
    names
}

fn cut<T>(list: &mut Vec<T>, most: usize, what: &str, problems: &mut Vec<String>) {
    if list.len() > most {
        list.truncate(most);
        problems.push(format!("an extension has at most {most} {what}; the others are not used"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn add(registered: &mut Registered, parts: Value) -> Vec<String> {
        registered.add(serde_json::from_value(parts).unwrap()).problems
    }

    #[test]
    fn wrong_parts_are_left_out_and_named() {
        let mut registered = Registered::default();
        let problems = add(
            &mut registered,
            json!({
                "tools": [
                    {"name": "good", "description": "", "parameters": {"type": "object"}},
                    {"name": "no schema", "description": "", "parameters": {"type": "object"}},
                    {"name": "list", "description": "", "parameters": {"type": "array"}},
                    {"name": "nothing", "description": "", "parameters": null},
                ],
                "commands": [{"name": "a"}, {"name": "a b"}, {"name": ""}],
                "flags": [{"name": "f", "type": "boolean", "default": "x"}],
                "hooks": [{"event": "session_switch"}, {"event": "tool_call"}, {"event": "tool_cal"}],
            }),
        );
        assert_eq!(registered.tools.len(), 1);
        assert_eq!(registered.commands.len(), 1);
        assert!(registered.flags.is_empty());
        assert_eq!(problems.len(), 7, "{problems:#?}");
    }

    #[test]
    fn hooks_are_waited_for_unless_the_extension_or_the_hook_says_otherwise() {
        let mut registered = Registered::default();
        let hooks = json!([
            {"event": "input"},
            {"event": "agent_end", "await": false},
            {"event": "message_update"},
            {"event": "tool_call", "filter": {"toolName": ["bash"]}},
            {"event": "tool_call", "filter": {"toolName": ["edit"]}},
        ]);
        assert_eq!(add(&mut registered, json!({ "hooks": hooks })), [""; 0]);
        for (hook, tool, expected) in [
            (HookKind::Input, None, Subscription::Awaited),
            (HookKind::AgentEnd, None, Subscription::Told),
            (HookKind::MessageUpdate, None, Subscription::Told),
            (HookKind::ToolCall, Some("bash"), Subscription::Awaited),
            (HookKind::ToolCall, Some("edit"), Subscription::Awaited),
            (HookKind::ToolCall, Some("read"), Subscription::None),
            (HookKind::Context, None, Subscription::None),
        ] {
            assert_eq!(registered.subscription(hook, tool), expected, "{hook:?}");
        }
    }

    #[test]
    fn later_registrations_replace_and_take_back() {
        let mut registered = Registered::default();
        let tool = |text: &str| json!({"name": "t", "description": text, "parameters": {"type": "object"}});
        add(&mut registered, json!({ "tools": [tool("old")], "hooks": [{"event": "input"}] }));
        add(&mut registered, json!({ "tools": [tool("new")] }));
        assert_eq!(registered.tools[0].description, "new");
        let names = json!({"tools": ["t"], "hooks": ["input"]});
        let changed = registered.remove(&serde_json::from_value(names).unwrap());
        assert!(changed.tools && !changed.commands && registered.tools.is_empty());
        assert_eq!(registered.subscription(HookKind::Input, None), Subscription::None);
    }
}
