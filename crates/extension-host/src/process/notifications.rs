//! What an extension tells bowline to do: one arm each.

use std::sync::Arc;

use bowline_core::command::{Command, Draft, Queue};
use bowline_core::message::{Content, join_text};
use bowline_core::ui::{Display, NotifyLevel, OpenUrl, WidgetPlacement};
use bowline_engine::{Delivery, ExtensionInput};
use tokio::sync::oneshot;

use crate::process::displays::Displays;
use crate::process::extension::ProcessExtension;
use crate::protocol::{DeliverAs, NotificationBody, Notify, NotifyType, OpenUrlParams, Placement, QueueName};

/// Carries out a notification. What is wrong with it is reported to the client.
pub(crate) async fn carry_out(extension: &Arc<ProcessExtension>, displays: &mut Displays, notify: Notify) {
    let Notify { ext: _, method, params } = notify;
    let link = &extension.link;
    let body = match NotificationBody::parse(&method, params) {
        Ok(body) => body,
        Err(problem) => return extension.fail("notify", problem).await,
    };
    let display = match body {
        NotificationBody::Notify(params) => Display::Notify {
            message: params.message,
            level: params.r#type.map(|level| match level {
                NotifyType::Info => NotifyLevel::Info,
                NotifyType::Warning => NotifyLevel::Warning,
                NotifyType::Error => NotifyLevel::Error,
            }),
        },
        NotificationBody::SetStatus(params) => Display::Status { key: params.key, text: params.text },
        NotificationBody::SetWidget(params) => {
            let connection = extension.connection();
            let component = connection.and_then(|connection| connection.component_key(&params.key));
            let group = extension.group.upgrade();
            if component.is_none() && group.is_some_and(|group| group.component_keys.has(&params.key)) {
                let problem = format!("{:?} is the key of a component; choose another one", params.key);
                return extension.fail("notify", problem).await;
            }
            let takes_keys = component.is_some();
            Display::Widget {
                key: component.map_or(params.key, |component| component.to_string()),
                lines: params.lines,
                placement: params.placement.map(|placement| match placement {
                    Placement::AboveEditor => WidgetPlacement::AboveEditor,
                    Placement::BelowEditor => WidgetPlacement::BelowEditor,
                }),
                takes_keys,
            }
        }
        NotificationBody::SetTitle(params) => Display::Title { title: params.title },
        NotificationBody::SetEditorText(params) => Display::EditorText { text: params.text },
        NotificationBody::OpenUrl(OpenUrlParams { url, launch_url, instructions }) => {
            if let Some(other) =
                [Some(&url), launch_url.as_ref()].into_iter().flatten().find(|url| !is_web(url))
            {
                let problem = format!("{other:?} is not an address that begins with https:// or http://");
                return extension.fail("notify", problem).await;
            }
            Display::OpenUrl(OpenUrl { url, launch_url, instructions })
        }
        body => {
            displays.flush(link).await;
            return act(extension, &method, body).await;
        }
    };
    displays.show(display, link).await;
}

/// Carries out what is not shown.
async fn act(extension: &Arc<ProcessExtension>, method: &str, body: NotificationBody) {
    let link = &extension.link;
    let input = match body {
        NotificationBody::SendMessage(params) => ExtensionInput::SendMessage {
            message: params.message.into(),
            delivery: match params.deliver_as {
                Some(DeliverAs::FollowUp) => Delivery::FollowUp,
                Some(DeliverAs::NextTurn) => Delivery::NextTurn,
                Some(DeliverAs::Steer) | None => Delivery::Steer,
            },
            triggers_turn: params.trigger_turn,
        },
        NotificationBody::SendUserMessage(params) => ExtensionInput::SendUserMessage {
            message: draft(params.content.into_blocks()),
            queue: params.deliver_as.map(|queue| match queue {
                QueueName::Steer => Queue::Steering,
                QueueName::FollowUp => Queue::FollowUp,
            }),
            expands_templates: params.expand_prompt_templates,
        },
        NotificationBody::AppendEntry(params) => {
            ExtensionInput::AppendEntry { custom_type: params.custom_type, data: params.data }
        }
        NotificationBody::SetActiveTools(params) => ExtensionInput::SetActiveTools { names: params.names },
        NotificationBody::Shutdown(_) => ExtensionInput::Shutdown,
        NotificationBody::SetName(params) => {
            return order(extension, method, Command::SetSessionName { name: params.name }).await;
        }
        NotificationBody::SetLabel(params) => {
            let command = Command::SetLabel { entry: params.entry_id, label: params.label };
            return order(extension, method, command).await;
        }
        NotificationBody::SetModel(params) => {
            let command = Command::SetModel { provider: params.provider, id: params.model_id };
            return order(extension, method, command).await;
        }
        NotificationBody::SetThinkingLevel(params) => {
            return order(extension, method, Command::SetThinkingLevel { level: params.level }).await;
        }
        NotificationBody::Abort(_) => return order(extension, method, Command::Abort).await,
        NotificationBody::Emit(params) => {
            if let Some(group) = extension.group.upgrade() {
                group.emit(extension, &params.channel, &params.data);
            }
            return;
        }
        NotificationBody::Notify(_)
        | NotificationBody::SetStatus(_)
        | NotificationBody::SetWidget(_)
        | NotificationBody::SetTitle(_)
        | NotificationBody::SetEditorText(_)
        | NotificationBody::OpenUrl(_) => return,
    };
    link.send(input).await;
}

/// Carries out a command as a client would. Its reply may take as long as a run, so it is waited for elsewhere.
async fn order(extension: &Arc<ProcessExtension>, method: &str, command: Command) {
    let (reply, replied) = oneshot::channel();
    if !extension.link.send(ExtensionInput::Command { command, reply }).await {
        return;
    }
    let (extension, method) = (Arc::clone(extension), method.to_owned());
    tokio::spawn(async move {
        if let Ok(Err(refusal)) = replied.await {
            extension.fail(&method, refusal.message).await;
        }
    });
}

/// Tells whether an address is that of a web page. A client opens it without asking, so it must not be a file or a script.
fn is_web(url: &str) -> bool {
    let begins =
        |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    (begins("https://") || begins("http://")) && !url.contains(char::is_control)
}

/// Returns a message of the user. Its texts are joined, as pi does.
pub(crate) fn draft(content: Vec<Content>) -> Draft {
    let text = join_text(&content);
    let images = content.into_iter().filter(|block| matches!(block, Content::Image { .. })).collect();
    Draft { text, images, ..Draft::default() }
}
