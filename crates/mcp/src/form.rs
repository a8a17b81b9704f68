//! What a server wants to know of the user, asked field by field.
//!
//! A client can show a choice, a confirmation or an input line. A form becomes a sequence of these; a field that is not
//! needed can be left empty, and whoever dismisses a question declines the form.

use std::sync::Arc;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};

use crate::host::{Asker, Question, QuestionKind};
use crate::limits::{LONGEST_ERROR, MOST_ATTEMPTS, MOST_QUESTIONS, beginning};

/// The choice that leaves a field empty.
const NOTHING: &str = "(no answer)";

/// Asks the user and returns the answer for the server.
pub(crate) async fn fill_in(
    asker: &Arc<dyn Asker>,
    server: &str,
    session_id: Option<String>,
    request: ElicitRequestParams,
) -> ElicitResult {
    let form = Form { asker, server, session_id };
    let answer = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            form.ask_all(&message, &requested_schema).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            // The address is shown for the user to open; bowline opens nothing by itself.
            let message =
                format!("{}\n\n{}", beginning(&message, LONGEST_ERROR), beginning(&url, LONGEST_ERROR));
            match form.confirm(&message).await {
                Some(true) => return ElicitResult::new(ElicitationAction::Accept),
                Some(false) => return ElicitResult::new(ElicitationAction::Decline),
                None => None,
            }
        }
        _ => None,
    };
    match answer {
        Some(Filled::Content(content)) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
        }
        Some(Filled::Declined) => ElicitResult::new(ElicitationAction::Decline),
        None => ElicitResult::new(ElicitationAction::Cancel),
    }
}

enum Filled {
    Content(Map<String, Value>),
    Declined,
}

struct Form<'a> {
    asker: &'a Arc<dyn Asker>,
    server: &'a str,
    session_id: Option<String>,
}

/// A field of a form.
struct Field {
    name: String,
    label: String,
    kind: Kind,
    is_required: bool,
    default: Option<Value>,
}

enum Kind {
    Text,
    Number {
        is_whole: bool,
    },
    Switch,
    /// The values, each with the text that stands for it.
    Choice(Vec<(String, String)>),
    /// The same, of which any number can be chosen.
    Choices(Vec<(String, String)>),
}

impl Form<'_> {
    async fn ask(&self, title: String, kind: QuestionKind) -> Option<Value> {
        let question = Question { title: format!("{}: {title}", self.server), kind };
        self.asker.ask(self.session_id.clone(), question).await
    }

    async fn confirm(&self, message: &str) -> Option<bool> {
        let message = message.to_owned();
        self.ask("question".to_owned(), QuestionKind::Confirm { message }).await?.as_bool()
    }

    async fn ask_all(&self, message: &str, schema: &ElicitationSchema) -> Option<Filled> {
        let fields = fields(schema);
        let message = beginning(message, LONGEST_ERROR);
        if fields.is_empty() {
            return Some(if self.confirm(&message).await? {
                Filled::Content(Map::new())
            } else {
                Filled::Declined
            });
        }
        let mut content = Map::new();
        for (number, field) in fields.iter().enumerate() {
            let title = if number == 0 { format!("{message}\n{}", field.label) } else { field.label.clone() };
            if let Some(value) = self.ask_field(title, field).await? {
                content.insert(field.name.clone(), value);
            }
        }
        Some(Filled::Content(content))
    }

    /// Returns the value of a field, if the user gave one; `None` if the question was dismissed.
    async fn ask_field(&self, title: String, field: &Field) -> Option<Option<Value>> {
        let mut shown = title.clone();
        for _ in 0..MOST_ATTEMPTS {
            let answer = self.ask(shown, field.question()).await?;
            match field.value(&answer) {
                Ok(value) => return Some(value),
                Err(problem) => shown = format!("{title}\n{problem}"),
            }
        }
        None
    }
}

impl Field {
    fn question(&self) -> QuestionKind {
        let nothing = (!self.is_required).then(|| NOTHING.to_owned());
        match &self.kind {
            Kind::Switch => {
                let options = ["yes".to_owned(), "no".to_owned()];
                QuestionKind::Select { options: options.into_iter().chain(nothing).collect() }
            }
            Kind::Choice(values) => {
                let options = values.iter().map(|(_, text)| text.clone());
                QuestionKind::Select { options: options.chain(nothing).collect() }
            }
            Kind::Choices(values) => {
                let options: Vec<&str> = values.iter().map(|(_, text)| text.as_str()).collect();
                let placeholder = Some(format!("any of {}, with commas between them", options.join(", ")));
                QuestionKind::Input { placeholder }
            }
            Kind::Text | Kind::Number { .. } => {
                let placeholder = self.default.as_ref().map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                QuestionKind::Input { placeholder }
            }
        }
    }

    /// Returns the value that an answer stands for, or what is wrong with it.
    fn value(&self, answer: &Value) -> Result<Option<Value>, String> {
        let text = match answer {
            Value::String(text) => text.trim(),
            Value::Bool(true) => "yes",
            Value::Bool(false) => "no",
            _ => return Err("This is not a text.".to_owned()),
        };
        if text.is_empty() || text == NOTHING {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err("An answer is required.".to_owned()),
                None => Ok(None),
            };
        }
        let value_of = |values: &[(String, String)], text: &str| {
            let found = values.iter().find(|(value, shown)| shown == text || value == text);
            found.map(|(value, _)| json!(value)).ok_or_else(|| "This is not one of the choices.".to_owned())
        };
        match &self.kind {
            Kind::Text => Ok(Some(json!(text))),
            Kind::Number { is_whole } => {
                let number: Option<Value> = if *is_whole {
                    text.parse::<i64>().ok().map(Value::from)
                } else {
                    text.parse::<f64>().ok().map(Value::from)
                };
                let number = number.filter(|number| !number.is_null());
                number
                    .map(Some)
                    .ok_or_else(|| format!("This is not a {}number.", if *is_whole { "whole " } else { "" }))
            }
            Kind::Switch => match text {
                "yes" => Ok(Some(json!(true))),
                "no" => Ok(Some(json!(false))),
                _ => Err("The answer must be yes or no.".to_owned()),
            },
            Kind::Choice(values) => value_of(values, text).map(Some),
            Kind::Choices(values) => {
                let chosen: Result<Vec<Value>, String> =
                    text.split(',').map(|part| value_of(values, part.trim())).collect();
                Ok(Some(Value::Array(chosen?)))
            }
        }
    }
}

/// Returns the fields of a form in the server's order.
fn fields(schema: &ElicitationSchema) -> Vec<Field> {
    let required = schema.required.as_deref().unwrap_or_default();
    let order: Vec<&String> = match &schema.property_order {
        Some(order) => order.iter().collect(),
        None => schema.properties.keys().collect(),
    };
    let field = |name: &String| {
        let described = serde_json::to_value(schema.properties.get(name)?).ok()?;
        Some(Field {
            name: name.clone(),
            label: label(name, &described),
            kind: kind(&described),
            is_required: required.contains(name),
            default: described.get("default").filter(|default| !default.is_null()).cloned(),
        })
    };
    order.into_iter().filter_map(field).take(MOST_QUESTIONS).collect()
}

fn label(name: &str, described: &Value) -> String {
    let text = |key: &str| described.get(key).and_then(Value::as_str);
    let title = text("title").unwrap_or(name);
    let label = match text("description") {
        Some(description) => format!("{title} ({description})"),
        None => title.to_owned(),
    };
    beginning(&label, 500)
}

fn kind(described: &Value) -> Kind {
    let choices = |described: &Value| -> Option<Vec<(String, String)>> {
        let text = |value: &Value| value.as_str().map(|text| beginning(text, 200));
        if let Some(titled) =
            described.get("oneOf").or_else(|| described.get("anyOf")).and_then(Value::as_array)
        {
            let pair = |choice: &Value| {
                let value = text(choice.get("const")?)?;
                let shown = choice.get("title").and_then(text).unwrap_or_else(|| value.clone());
                Some((value, shown))
            };
            return Some(titled.iter().filter_map(pair).take(100).collect());
        }
        let values = described.get("enum")?.as_array()?;
        let names = described.get("enumNames").and_then(Value::as_array);
        let pair = |(index, value): (usize, &Value)| {
            let value = text(value)?;
            let shown =
                names.and_then(|names| names.get(index)).and_then(text).unwrap_or_else(|| value.clone());
            Some((value, shown))
        };
        Some(values.iter().enumerate().filter_map(pair).take(100).collect())
    };
    if let Some(values) = choices(described) {
        return Kind::Choice(values);
    }
    match described.get("type").and_then(Value::as_str) {
        Some("boolean") => Kind::Switch,
        Some("integer") => Kind::Number { is_whole: true },
        Some("number") => Kind::Number { is_whole: false },
        Some("array") => match described.get("items").and_then(choices) {
            Some(values) => Kind::Choices(values),
            None => Kind::Text,
        },
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use bowline_tools::BoxFuture;

    use super::*;

    /// Answers from a list, and keeps the questions.
    #[derive(Default)]
    struct Script {
        answers: Mutex<VecDeque<Option<Value>>>,
        questions: Mutex<Vec<Question>>,
    }

    impl Asker for Script {
        fn can_ask(&self) -> bool {
            true
        }

        fn ask(&self, _: Option<String>, question: Question) -> BoxFuture<'static, Option<Value>> {
            self.questions.lock().unwrap().push(question);
            let answer = self.answers.lock().unwrap().pop_front().unwrap();
            Box::pin(std::future::ready(answer))
        }
    }

    async fn filled(request: Value, answers: &[Value]) -> (Value, Vec<Question>) {
        let script = Arc::new(Script::default());
        *script.answers.lock().unwrap() =
            answers.iter().map(|answer| (!answer.is_null()).then(|| answer.clone())).collect();
        let asker: Arc<dyn Asker> = Arc::clone(&script) as Arc<dyn Asker>;
        let request = serde_json::from_value(request).unwrap();
        let result = fill_in(&asker, "shop", None, request).await;
        let questions = std::mem::take(&mut *script.questions.lock().unwrap());
        (serde_json::to_value(result).unwrap(), questions)
    }

    fn order() -> Value {
        json!({"message": "Your order", "requestedSchema": {"type": "object", "required": ["size", "count"], "properties": {
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
            "count": {"type": "integer", "title": "How many"},
            "gift": {"type": "boolean"},
            "note": {"type": "string", "default": "none"},
        }}})
    }

    #[tokio::test]
    async fn form_is_asked_field_by_field() {
        let answers = [json!("large"), json!("two"), json!("2"), json!("(no answer)"), json!("")];
        let (result, questions) = filled(order(), &answers).await;
        assert_eq!(result, json!({"action": "accept", "content": {"size": "l", "count": 2, "note": "none"}}));
        assert_eq!(questions[0].title, "shop: Your order\nsize");
        assert_eq!(
            questions[0].kind,
            QuestionKind::Select { options: vec!["small".to_owned(), "large".to_owned()] }
        );
        assert_eq!(questions[2].title, "shop: How many\nThis is not a whole number.");
    }

    #[tokio::test]
    async fn dismissed_question_cancels_and_a_refused_one_declines() {
        let (result, _) = filled(order(), &[Value::Null]).await;
        assert_eq!(result, json!({"action": "cancel"}));
        let empty = json!({"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}});
        let (result, _) = filled(empty.clone(), &[json!(false)]).await;
        assert_eq!(result, json!({"action": "decline"}));
        let (result, _) = filled(empty, &[json!(true)]).await;
        assert_eq!(result, json!({"action": "accept", "content": {}}));
    }

    #[tokio::test]
    async fn endless_wrong_answers_end() {
        let answers = [json!("large"), json!("a"), json!("b"), json!("c")];
        let (result, questions) = filled(order(), &answers).await;
        assert_eq!((result, questions.len()), (json!({"action": "cancel"}), 4));
    }
}
