//! What takes part in sessions from outside, in the order in which hooks call it.

use std::sync::Arc;

use bowline_engine::Host;
use bowline_extension::Resources;
use bowline_extension_host::command_hooks::{CommandHooks, HookSources};
use bowline_extension_host::{McpHost, McpOptions};
use bowline_tools::Options;
use serde_json::Value;

use crate::environment::Environment;
use crate::settings_file::SettingsFile;

/// Returns the hosts of sessions. Command hooks come first, so that extensions see what they have changed.
pub(crate) fn choose(
    environment: &Environment,
    file: &SettingsFile,
    resources: &Resources,
    options: &Options,
    mcp: McpOptions,
) -> Vec<Arc<dyn Host>> {
    let hooks = (!file.hooks.is_empty()).then(|| Value::from(file.hooks.clone()));
    let sources = HookSources {
        settings: hooks.map(|hooks| (SettingsFile::path(environment), hooks)),
        imports_claude: file.imports_claude_hooks,
        own_folder: environment.home.clone(),
        home: environment.user_home.clone(),
        resources: resources.clone(),
    };
    let hooks = CommandHooks::new(sources, Arc::new(options.clone()));
    vec![Arc::new(hooks), Arc::new(McpHost::new(mcp))]
}
