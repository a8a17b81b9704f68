//! Virtual models: an extension chooses the model for each request.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_core::model::InputKind;
use bowline_core::stream::{FailureKind, StreamError};
use bowline_core::thinking::ThinkingLevel;
use bowline_dialect::write_json;
use bowline_llm::{NewVirtualModel, Route, RouteRequest, Router};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::process::connection::exited;
use crate::process::extension::ProcessExtension;
use crate::protocol::{AnsweredBy, RouteResult, ToExtension, VirtualModelRegistration};

/// How long an extension may take to choose, not counting the time that it waits for models.
const ROUTE_LIMIT: Duration = Duration::from_secs(30);

/// Returns a virtual model for the session.
pub(crate) fn new_virtual_model(
    extension: &Arc<ProcessExtension>,
    registered: &VirtualModelRegistration,
) -> NewVirtualModel {
    let (provider, id) = registered.name.split_once('/').unwrap_or_default();
    let router = ProcessRouter { extension: Arc::downgrade(extension), name: registered.name.clone() };
    let or =
        |given: &[ThinkingLevel]| if given.is_empty() { vec![ThinkingLevel::Off] } else { given.to_vec() };
    NewVirtualModel {
        provider: provider.to_owned(),
        id: id.to_owned(),
        name: registered.label.clone().unwrap_or_else(|| id.to_owned()),
        thinking_levels: or(&registered.thinking_levels),
        context_window: registered.context_window,
        max_tokens: registered.max_tokens,
        input: registered.input.clone().unwrap_or_else(|| vec![InputKind::Text, InputKind::Image]),
        router: Arc::new(router),
    }
}

/// A virtual model whose extension chooses.
struct ProcessRouter {
    extension: Weak<ProcessExtension>,
    name: String,
}

impl Router for ProcessRouter {
    fn route(&self, request: RouteRequest) -> BoxFuture<'static, Result<Route, StreamError>> {
        let name = self.name.clone();
        let Some(extension) = self.extension.upgrade() else {
            return Box::pin(std::future::ready(Err(unavailable(&name))));
        };
        let gone = exited(extension.id());
        let started = extension.start_call(|line, id| {
            let (system_prompt, messages) = match &request.conversation {
                Some((system, messages)) => (Some(&**system), Some(&**messages)),
                None => (None, None),
            };
            let previous = request.previous.as_ref().map(|answered| AnsweredBy {
                provider: &answered.provider,
                model_id: &answered.model,
                thinking_level: answered.thinking,
            });
            let record = ToExtension::Route {
                id,
                name: &self.name,
                model: &request.model,
                thinking_level: request.thinking,
                reason: request.reason.as_str(),
                previous,
                failed: request.failed.as_deref(),
                system_prompt,
                messages,
            };
            write_json(line, &record);
        });
        Box::pin(async move {
            let Ok((guard, end)) = started else { return Err(unavailable(&name)) };
            let answer = guard.answer(end, Some(ROUTE_LIMIT), CancellationToken::new()).await;
            let value = answer.map_err(|problem| {
                if problem == gone {
                    return unavailable(&name);
                }
                let kind = bowline_llm::failure_kind_of(&problem);
                StreamError::new(kind, format!("The virtual model {name} chose no model: {problem}"))
            })?;
            let RouteResult { provider, model_id, thinking_level } =
                serde_json::from_value(value).map_err(|problem| {
                    let text = format!("The virtual model {name} returned an invalid choice: {problem}.");
                    StreamError::new(FailureKind::Protocol, text)
                })?;
            Ok(Route { provider, model: model_id, thinking: thinking_level })
        })
    }
}

/// Returns the error for an extension that is not running. It is started again soon, so a retry may succeed.
fn unavailable(name: &str) -> StreamError {
    let text = format!("The extension of the virtual model {name} is not running.");
    StreamError::new(FailureKind::Unavailable, text)
}

impl fmt::Debug for ProcessRouter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ProcessRouter").field(&self.name).finish()
    }
}
