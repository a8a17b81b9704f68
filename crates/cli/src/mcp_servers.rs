//! What the command line gives to MCP servers: the values and the HTTP clients of the providers, and the settings.

use std::sync::Arc;

use bowline_extension::Resources;
use bowline_extension_host::McpOptions;
use bowline_llm::Providers;
use bowline_mcp::Host;
use bowline_tools::{BoxFuture, Options};

use crate::environment::Environment;
use crate::settings::SettingsFile;
use crate::terminal::note;

/// Evaluates values as those of keys are, and reaches servers as providers are reached.
struct ProvidersHost(Providers);

impl Host for ProvidersHost {
    fn evaluate(&self, value: String) -> BoxFuture<'static, Result<String, String>> {
        let providers = self.0.clone();
        Box::pin(async move { providers.evaluate(&value).await.map(|value| value.expose().to_owned()) })
    }

    fn http_client(&self, address: String) -> BoxFuture<'static, Result<bowline_mcp::HttpClient, String>> {
        let providers = self.0.clone();
        Box::pin(async move { providers.http_client(&address).await })
    }
}

/// Returns what is known of MCP servers. Nothing is read here.
pub(crate) fn options(
    environment: &Environment,
    file: &SettingsFile,
    providers: &Providers,
    resources: &Resources,
    tools: &Options,
    can_ask: bool,
) -> McpOptions {
    McpOptions {
        settings: file.mcp_servers.clone(),
        settings_file: environment.home.join("settings.json"),
        own_folder: environment.home.clone(),
        resources: resources.clone(),
        tools: Arc::new(tools.clone()),
        host: Arc::new(ProvidersHost(providers.clone())),
        can_ask,
        start_limit: file.mcp_start_timeout(),
        has_files: true,
        note: Arc::new(|text| note(format_args!("bowline: {text}"))),
    }
}
