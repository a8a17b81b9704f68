//! Requests to the providers of an extension that is tried out.

use std::sync::Arc;
use std::time::Duration;

use bowline_core::message::{Message, StopReason};
use bowline_core::model::Model;
use bowline_core::thinking::ThinkingLevel;
use bowline_llm::{Assembly, ModelRequest, Providers, RequestOptions};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::check::LONGEST_CALL;
use super::report::{Report, Step, Verdict};
use super::trial::Trial;

/// What the model is asked.
const QUESTION: &str = "This is a trial. Say hello.";

/// Asks each provider that answers itself for one answer.
pub(super) async fn providers(trial: &mut Trial, registered: &Value, report: &mut Report) {
    let parts = registered["extensions"].as_array().into_iter().flatten();
    let listed = parts.flat_map(|part| part["providers"].as_array().into_iter().flatten());
    for provider in listed.filter(|provider| provider["stream"] == true) {
        let name = provider["name"].as_str().unwrap_or_default();
        let known = trial.providers.known_models().into_iter().find(|model| model.provider == name);
        // One without a model was reported when it registered.
        let Some(model) = known else { continue };
        let asked = model.full_name();
        let work = tokio::time::timeout(LONGEST_CALL, answer(trial.providers.clone(), model));
        let (answered, took): (Result<Verdict, _>, Duration) = trial.during(work).await;
        let lines = trial.take_lines();
        let verdict = answered.unwrap_or(Verdict::Cancelled);
        report.steps.push(Step::new("provider", name, json!(asked), took, verdict, &lines));
        report.add_problems(trial);
    }
}

async fn answer(providers: Providers, model: Arc<Model>) -> Verdict {
    let mut assembly = Assembly::new(Arc::clone(&model), 0);
    let mut stream = providers.stream(ModelRequest {
        model,
        system: "You are a coding agent.".into(),
        messages: vec![Arc::new(Message::user(QUESTION.to_owned(), Vec::new(), 0))],
        tools: Arc::default(),
        thinking: ThinkingLevel::Off,
        max_tokens: None,
        session_id: "trial".to_owned(),
        cache: false,
        options: RequestOptions::default(),
        output_schema: None,
    });
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(events) => events.into_iter().for_each(|event| drop(assembly.apply(event))),
            Err(error) => return Verdict::Failed(error.message),
        }
    }
    let message = assembly.finish();
    match (message.stop_reason, message.error_message) {
        (StopReason::Error, problem) => Verdict::Wrong(problem.unwrap_or_default()),
        _ => Verdict::Answered(json!(message.content)),
    }
}
