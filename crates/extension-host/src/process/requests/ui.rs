//! Dialogs.

use std::time::Duration;

use bowline_core::ui::{Dialog, DialogAnswer, DialogKind, Display};
use bowline_engine::ExtensionInput;
use serde_json::Value;

use super::{Asked, NO_SESSION};
use crate::protocol::{ConfirmParams, CustomParams, EditorParams, InputParams, SelectParams};

pub(super) async fn select(asked: &Asked<'_>, params: SelectParams) -> Result<Value, String> {
    let descriptions = params.option_details.into_iter().map(|detail| detail.description).collect();
    let kind = DialogKind::Select { options: params.options, descriptions };
    Ok(text(ask(asked, kind, params.title, params.timeout).await))
}

pub(super) async fn confirm(asked: &Asked<'_>, params: ConfirmParams) -> Result<Value, String> {
    let kind = DialogKind::Confirm { message: params.message };
    let answer = ask(asked, kind, params.title, params.timeout).await;
    Ok(Value::Bool(answer == DialogAnswer::Confirmed(true)))
}

pub(super) async fn input(asked: &Asked<'_>, params: InputParams) -> Result<Value, String> {
    let kind = DialogKind::Input { placeholder: params.placeholder };
    Ok(text(ask(asked, kind, params.title, params.timeout).await))
}

pub(super) async fn editor(asked: &Asked<'_>, params: EditorParams) -> Result<Value, String> {
    let kind = DialogKind::Editor { prefill: params.prefill, is_prompt: params.prompt_style };
    Ok(text(ask(asked, kind, params.title, params.timeout).await))
}

pub(super) async fn custom(asked: &Asked<'_>, params: CustomParams) -> Result<Value, String> {
    let Asked { extension, connection, cancel, .. } = asked;
    if extension.mirrored().is_none_or(|mirror| mirror.screen.is_none()) {
        return Err("the client does not show components".to_owned());
    }
    if !connection.allows_dialogs() {
        return Ok(Value::Null);
    }
    let CustomParams { key, lines } = params;
    let group = extension.group.upgrade().ok_or(NO_SESSION)?;
    let client_key = group.component_keys.take(extension.id(), &key);
    let component = connection
        .open_component(&key, client_key, asked.id)
        .ok_or_else(|| format!("a component is shown under the key {key:?} already"))?;
    let key = component.client_key().to_string();
    let _pause = connection.clock.pause();
    let show = |lines: Option<Vec<String>>| {
        let takes_keys = lines.is_some();
        let display = Display::Widget { key: key.clone(), lines, placement: None, takes_keys };
        extension.link.send(ExtensionInput::Display(display))
    };
    show(Some(lines)).await;
    tokio::select! {
        () = component.closed() => {}
        () = cancel.cancelled() => {}
    }
    show(None).await;
    component.forget();
    Ok(Value::Null)
}

async fn ask(asked: &Asked<'_>, kind: DialogKind, title: String, timeout: Option<u64>) -> DialogAnswer {
    if !asked.connection.allows_dialogs() {
        return DialogAnswer::Cancelled;
    }
    let _pause = asked.connection.clock.pause();
    let dialog = Dialog { kind, title, timeout: timeout.map(Duration::from_millis) };
    asked.extension.link.ask(dialog, asked.cancel.clone()).await
}

/// Returns the text of an answer; `null` if there is none.
fn text(answer: DialogAnswer) -> Value {
    match answer {
        DialogAnswer::Value(text) => Value::String(text),
        DialogAnswer::Confirmed(_) | DialogAnswer::Cancelled => Value::Null,
    }
}
