//! What extensions ask for: one arm each.

mod call_wishes;
mod credentials;
mod exec;
mod model;
mod session;
mod ui;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::process::connection::Connection;
use crate::process::extension::ProcessExtension;
use crate::protocol::RequestBody;

/// What answering needs.
pub(crate) struct Asked<'request> {
    pub extension: &'request Arc<ProcessExtension>,
    pub connection: &'request Arc<Connection>,
    pub id: &'request str,
    pub cancel: CancellationToken,
}

/// Returns the answer to a request. A request that is cancelled is answered soon.
pub(crate) async fn answer(
    extension: &Arc<ProcessExtension>,
    connection: &Arc<Connection>,
    id: &str,
    method: &str,
    parameters: Map<String, Value>,
    cancel: CancellationToken,
) -> Result<Value, String> {
    let asked = Asked { extension, connection, id, cancel };
    match RequestBody::parse(method, parameters)? {
        RequestBody::Select(params) => ui::select(&asked, params).await,
        RequestBody::Confirm(params) => ui::confirm(&asked, params).await,
        RequestBody::Input(params) => ui::input(&asked, params).await,
        RequestBody::Editor(params) => ui::editor(&asked, params).await,
        RequestBody::Custom(params) => ui::custom(&asked, params).await,
        RequestBody::Complete(params) => model::answer(&asked, *params, model::Delivery::AtTheEnd).await,
        RequestBody::Stream(params) => model::answer(&asked, *params, model::Delivery::InPieces).await,
        RequestBody::ListModels(params) => model::list(&asked, &params).await,
        RequestBody::ModelAuth(params) => credentials::auth(&asked, &params).await,
        RequestBody::ModelAuthStatus(params) => credentials::status(&asked, params.provider).await,
        RequestBody::StoreCredential(params) => credentials::store(&asked, params).await,
        RequestBody::ExecuteTool(params) => session::execute_tool(&asked, params).await,
        RequestBody::NewSession(params) => session::new(&asked, params).await,
        RequestBody::Fork(params) => session::fork(&asked, params).await,
        RequestBody::SwitchSession(params) => session::switch(&asked, params).await,
        RequestBody::Navigate(params) => session::navigate(&asked, params).await,
        RequestBody::Reload(_) => session::reload(&asked).await,
        RequestBody::WaitIdle(_) => session::wait_idle(&asked).await,
        RequestBody::Entries(params) => session::entries(&asked, params).await,
        RequestBody::Commands(_) => session::commands(&asked).await,
        RequestBody::SystemPrompt(params) => session::system_prompt(&asked, params).await,
        RequestBody::SystemPromptOptions(_) => session::system_prompt_options(&asked).await,
        RequestBody::Context(_) => session::context(&asked).await,
        RequestBody::Compact(params) => session::compact(&asked, params).await,
        RequestBody::Setting(params) => Ok(setting(settings_for(extension), params.key.as_deref())),
        RequestBody::Exec(params) => exec::run(&asked, params).await,
    }
}

/// The settings that hold keys: in the headers, variables and addresses of servers.
const PRIVATE_SETTINGS: [&str; 2] = ["mcpServers", "httpProxy"];

/// Returns the settings that an extension may know. One of a project gets no key of the user's.
fn settings_for(extension: &ProcessExtension) -> Value {
    let mut settings = (extension.plan.settings)();
    if !extension.is_of_user()
        && let Some(members) = settings.as_object_mut()
    {
        members.retain(|name, _| !PRIVATE_SETTINGS.contains(&name.as_str()));
    }
    settings
}

/// Returns a setting by its key, with dots between the levels; `null` if it is not set.
fn setting(settings: Value, key: Option<&str>) -> Value {
    match key {
        None => settings,
        Some(key) => {
            let mut value = &settings;
            for part in key.split('.') {
                value = value.get(part).unwrap_or(&Value::Null);
            }
            value.clone()
        }
    }
}

/// Returns an answer as JSON.
fn json(value: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// What is said of a request that was cancelled.
const CANCELLED: &str = "cancelled";

/// What is said of a request to a session that has ended.
const NO_SESSION: &str = "the session has ended";
