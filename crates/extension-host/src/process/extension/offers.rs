//! What an extension offers to its session: tools, commands and providers, as its process registers them.

use std::collections::BTreeSet;
use std::sync::Arc;

use bowline_core::extension_info::ExtensionStatus;
use bowline_core::slash_command::{CommandKind, SlashCommand};
use bowline_engine::{ExtensionInput, OfferedTool};

use super::ProcessExtension;
use crate::mcp::{Owner, Surroundings};
use crate::process::connection::lock;
use crate::process::provider;
use crate::process::registration::{Changed, Registered};
use crate::process::router;
use crate::process::tool::ProcessTool;
use crate::protocol::{McpServerRegistration, ProviderRegistration, Registration, Unregister};

/// Which providers are asked for their models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    All,
    /// Those that have no models yet, or whose models depend on a login.
    Unlisted,
}

impl ProcessExtension {
    /// Registers what a process offers; `anew` forgets what an earlier process offered.
    pub async fn register(self: &Arc<Self>, registration: Registration, anew: bool) {
        let mut keep = None;
        let changed = {
            let mut state = lock(&self.state);
            if anew {
                state.registered = Registered::default();
            }
            let mut changed = state.registered.add(registration);
            if anew {
                // Those that are still there stay in use while the others are added.
                self.additions.keep_only(&state.registered.provider_names());
                let virtual_models = state.registered.virtual_model_names();
                self.additions.keep_only_virtual(|model| virtual_models.contains(&model.full_name()));
                keep = Some(state.registered.server_names());
                (changed.tools, changed.commands) = (true, true);
            }
            changed
        };
        if let (Some(names), Some(group)) = (keep, self.group.upgrade()) {
            group.servers.keep_only(&self.owner(), &names).await;
        }
        self.announce(changed).await;
        if !self.is_starting() {
            self.list_in_background();
        }
    }

    /// Takes back what a process offered.
    pub async fn unregister(self: &Arc<Self>, names: Unregister) {
        for name in &names.providers {
            self.additions.remove(name);
        }
        for (provider, id) in names.virtual_models.iter().filter_map(|name| name.split_once('/')) {
            self.additions.remove_virtual(provider, id);
        }
        if let Some(group) = self.group.upgrade() {
            group.servers.remove(&self.owner(), &names.mcp_servers).await;
        }
        let changed = lock(&self.state).registered.remove(&names);
        self.announce(changed).await;
    }

    /// Tells the session what the extension has registered so far.
    pub async fn announce_all(self: &Arc<Self>) {
        let all = {
            let registered = &lock(&self.state).registered;
            Changed {
                tools: true,
                commands: true,
                providers: registered.provider_names(),
                mcp_servers: registered.server_names(),
                virtual_models: registered.virtual_model_names(),
                problems: Vec::new(),
            }
        };
        if self.status() != ExtensionStatus::Starting {
            self.announce(all).await;
        }
    }

    /// Tells whether the session still waits for its extensions.
    fn is_starting(&self) -> bool {
        self.group.upgrade().is_some_and(|group| group.is_starting())
    }

    /// Tells the session what has changed.
    async fn announce(self: &Arc<Self>, changed: Changed) {
        let Changed { tools, commands, providers, mcp_servers, virtual_models, problems } = changed;
        for problem in problems {
            self.fail("register", problem).await;
        }
        // The first extension that has a tool of a name wins, so those that start together are announced in order.
        if self.is_starting() {
            return;
        }
        self.add_providers(&providers).await;
        self.add_virtual_models(&virtual_models).await;
        self.start_servers(&mcp_servers).await;
        if tools {
            let tools = self.offered_tools();
            self.link.send(ExtensionInput::Tools { extension: Arc::clone(&self.name), tools }).await;
        }
        if commands {
            let commands = self.offered_commands();
            self.link.send(ExtensionInput::Commands { extension: Arc::clone(&self.name), commands }).await;
        }
        self.link.send(ExtensionInput::Changed).await;
    }

    /// Asks the process for the models of its providers: of all that it can list, or of those that have none yet.
    pub async fn list_models(self: &Arc<Self>, listing: Listing) {
        for name in self.listed_providers(listing) {
            match provider::list_models(self, &name).await {
                Ok(models) => lock(&self.state).registered.set_models(&name, models),
                Err(problem) => self.fail("provider", format!("The provider \"{name}\": {problem}.")).await,
            }
        }
    }

    fn listed_providers(&self, listing: Listing) -> Vec<String> {
        let state = lock(&self.state);
        let depends_on_login = |provider: &ProviderRegistration| {
            provider.login.as_ref().is_some_and(|login| login.modifies_models)
        };
        let is_wanted = |provider: &&ProviderRegistration| match listing {
            Listing::All => provider.refresh || depends_on_login(provider),
            Listing::Unlisted => provider.refresh && provider.models.is_empty() || depends_on_login(provider),
        };
        state.registered.providers.iter().filter(is_wanted).map(|provider| provider.name.clone()).collect()
    }

    /// Adds the providers that it can list the models of, as it has listed them.
    pub async fn add_listed_providers(self: &Arc<Self>) {
        let listed = self.listed_providers(Listing::All).into_iter().collect();
        self.add_providers(&listed).await;
    }

    /// Adds some of its providers to those of the session.
    async fn add_providers(self: &Arc<Self>, names: &BTreeSet<String>) {
        let providers: Vec<_> = {
            let state = lock(&self.state);
            let known = state.registered.providers.iter();
            known.filter(|provider| names.contains(&provider.name)).cloned().collect()
        };
        for registered in &providers {
            let provider = provider::new_provider(self, registered);
            if let Err(problem) = self.additions.add(&registered.name, provider) {
                self.fail("register", problem).await;
            }
        }
    }

    /// Adds some of its virtual models to the models of the session.
    async fn add_virtual_models(self: &Arc<Self>, names: &BTreeSet<String>) {
        let models: Vec<_> = {
            let state = lock(&self.state);
            let known = state.registered.virtual_models.iter();
            known.filter(|model| names.contains(&model.name)).cloned().collect()
        };
        for registered in &models {
            if let Err(problem) = self.additions.add_virtual(router::new_virtual_model(self, registered)) {
                self.fail("register_virtual_model", problem).await;
            }
        }
    }

    /// Starts some of its MCP servers.
    async fn start_servers(self: &Arc<Self>, names: &BTreeSet<String>) {
        let servers: Vec<_> = {
            let state = lock(&self.state);
            let known = state.registered.mcp_servers.iter();
            known.filter(|server| names.contains(&server.name)).cloned().collect()
        };
        let (Some(group), false) = (self.group.upgrade(), servers.is_empty()) else { return };
        let Some(options) = &self.plan.mcp else {
            let text = format!("MCP servers are turned off, so those of {} are not started", self.name);
            return (self.plan.report)(&text);
        };
        for McpServerRegistration { name, config } in servers {
            let surroundings = Surroundings {
                options,
                directory: self.about.directory.clone(),
                session_id: self.about.session_id.clone(),
                link: self.link.clone(),
            };
            if let Err(problem) = group.servers.put(surroundings, &self.owner(), &name, config).await {
                self.fail("registerMcpServer", problem).await;
            }
        }
    }

    /// Returns who registers MCP servers.
    fn owner(&self) -> Owner {
        Owner { path: Arc::clone(&self.name), is_of_project: !self.is_of_user() }
    }

    /// Takes its providers from the session, so that whoever comes after it can have them.
    pub fn remove_providers(&self) {
        self.additions.clear();
    }

    /// Adds the providers that have to be asked for their models, once they have answered. The answer comes through
    /// whoever has called this.
    fn list_in_background(self: &Arc<Self>) {
        if self.listed_providers(Listing::Unlisted).is_empty() {
            return;
        }
        let extension = Arc::clone(self);
        tokio::spawn(async move {
            extension.list_models(Listing::Unlisted).await;
            extension.add_listed_providers().await;
            extension.link.send(ExtensionInput::Changed).await;
        });
    }

    /// Lists the models of a provider anew if they depend on its login, which has just changed.
    pub fn list_after_login(self: &Arc<Self>, provider: &str) {
        let depends = {
            let state = lock(&self.state);
            let known = state.registered.providers.iter().find(|known| known.name == provider);
            known.and_then(|known| known.login.as_ref()).is_some_and(|login| login.modifies_models)
        };
        if depends {
            self.list_in_background();
        }
    }

    fn offered_tools(self: &Arc<Self>) -> Vec<OfferedTool> {
        let state = lock(&self.state);
        let tools = state.registered.tools.iter().map(|tool| OfferedTool {
            tool: Arc::new(ProcessTool::new(Arc::clone(self), tool)),
            snippet: tool.prompt_snippet.clone(),
            guidelines: tool.prompt_guidelines.clone(),
            is_active: tool.default_active,
            source_info: Some(self.found.source.clone()),
        });
        tools.collect()
    }

    fn offered_commands(&self) -> Vec<SlashCommand> {
        let state = lock(&self.state);
        let commands = state.registered.commands.iter().map(|command| SlashCommand {
            name: command.name.clone(),
            description: command.description.clone(),
            argument_hint: None,
            has_completion: command.has_completion,
            kind: CommandKind::Extension,
            source_info: self.found.source.clone(),
        });
        commands.collect()
    }
}
