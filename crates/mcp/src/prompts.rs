//! Prompts of servers, as commands of the user: `/mcp__server__prompt arguments`.

use std::path::PathBuf;

use bowline_core::message::Content;
use rmcp::model::{ClientRequest, GetPromptRequest, GetPromptRequestParams, JsonObject, Role, ServerResult};
use serde_json::Value;

use crate::content::Parts;
use crate::error::Error;
use crate::inventory::{OfferedPrompt, PromptArgument};
use crate::servers::Servers;

/// A prompt as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptCommand {
    /// Without the slash.
    pub name: String,
    pub description: String,
    /// The arguments that it takes, as in `<city> [units]`.
    pub arguments: String,
    pub server: String,
    /// The file that describes the server, and whether it is one of a project.
    pub origin: PathBuf,
    pub is_of_project: bool,
}

/// What a command stands for: the prompt to send in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedPrompt {
    pub text: String,
    pub images: Vec<Content>,
}

impl Servers {
    /// Returns the prompts of all servers.
    pub fn commands(&self) -> Vec<PromptCommand> {
        let mut commands = Vec::new();
        for server in self.usable() {
            for prompt in &server.inventory().prompts {
                let description = match prompt.description.as_str() {
                    "" => format!("The prompt {} of the MCP server {}", prompt.name, server.config.name),
                    text => text.to_owned(),
                };
                commands.push(PromptCommand {
                    name: prompt.command.clone(),
                    description,
                    arguments: argument_line(&prompt.arguments),
                    server: server.config.name.clone(),
                    origin: server.config.origin.clone(),
                    is_of_project: server.config.is_of_project,
                });
            }
        }
        commands
    }

    /// Returns whether a command of this name, without the slash, is a prompt of some server.
    pub fn has_command(&self, name: &str) -> bool {
        self.usable().any(|server| server.inventory().prompts.iter().any(|prompt| prompt.command == name))
    }

    /// Asks the server of a command for the prompt.
    pub async fn expand(&self, name: &str, arguments: &str) -> Result<ExpandedPrompt, Error> {
        for server in self.usable() {
            let inventory = server.inventory();
            let Some(prompt) = inventory.prompts.iter().find(|prompt| prompt.command == name) else {
                continue;
            };
            let connection = server.connection()?;
            let mut params = GetPromptRequestParams::new(prompt.name.clone());
            let arguments = assign(prompt, arguments)?;
            if !arguments.is_empty() {
                params = params.with_arguments(arguments);
            }
            let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
            let ServerResult::GetPromptResult(result) =
                connection.ask(request, server.config.timeout).await?
            else {
                let text = "it is not a prompt".to_owned();
                return Err(Error::Answer { server: server.config.name.clone(), text });
            };
            let mut parts = Parts::default();
            for message in result.messages {
                if message.role == Role::Assistant {
                    parts.line("[assistant]");
                }
                parts.add(message.content);
            }
            let (content, _) = parts.content(true).await;
            let (mut text, mut images) = (String::new(), Vec::new());
            for block in content {
                match block {
                    Content::Text { text: block } => text.push_str(&block),
                    image @ Content::Image { .. } => images.push(image),
                }
            }
            return Ok(ExpandedPrompt { text, images });
        }
        Err(Error::Arguments(format!("There is no command /{name}.")))
    }
}

/// Returns how a prompt is called.
pub(crate) fn usage(prompt: &OfferedPrompt) -> String {
    let arguments = argument_line(&prompt.arguments);
    if arguments.is_empty() {
        format!("/{}", prompt.command)
    } else {
        format!("/{} {arguments}", prompt.command)
    }
}

fn argument_line(arguments: &[PromptArgument]) -> String {
    let shown = |argument: &PromptArgument| {
        if argument.is_required { format!("<{}>", argument.name) } else { format!("[{}]", argument.name) }
    };
    arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Assigns words to arguments: by name, as in `city=Paris`, and else in order. The last argument takes all words that are
/// left, so that a text needs no quotation marks.
fn assign(prompt: &OfferedPrompt, line: &str) -> Result<JsonObject, Error> {
    let mut assigned = JsonObject::new();
    let mut words = Vec::new();
    for word in split(line) {
        let named = word.split_once('=').and_then(|(name, value)| {
            prompt
                .arguments
                .iter()
                .find(|argument| argument.name == name)
                .map(|_| (name.to_owned(), value.to_owned()))
        });
        match named {
            Some((name, value)) => {
                assigned.insert(name, Value::String(value));
            }
            None => words.push(word),
        }
    }
    let open: Vec<&PromptArgument> =
        prompt.arguments.iter().filter(|argument| !assigned.contains_key(&argument.name)).collect();
    if open.is_empty() && !words.is_empty() {
        return Err(Error::Arguments(format!("Too many arguments. Usage: {}", usage(prompt))));
    }
    let mut words = words.into_iter();
    for (index, argument) in open.iter().enumerate() {
        let value = if index + 1 == open.len() {
            words.by_ref().collect::<Vec<_>>().join(" ")
        } else {
            words.next().unwrap_or_default()
        };
        if !value.is_empty() {
            assigned.insert(argument.name.clone(), Value::String(value));
        } else if argument.is_required {
            return Err(Error::Arguments(format!("{} is missing. Usage: {}", argument.name, usage(prompt))));
        }
    }
    Ok(assigned)
}

/// Splits a line into words; quotation marks keep words together.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => word.get_or_insert_default().push(character),
            // An apostrophe within a word is one.
            None if character == '"' || (character == '\'' && word.is_none()) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> OfferedPrompt {
        OfferedPrompt {
            name: "p".to_owned(),
            command: "mcp__s__p".to_owned(),
            description: String::new(),
            arguments: arguments
                .iter()
                .map(|(name, is_required)| PromptArgument {
                    name: (*name).to_owned(),
                    is_required: *is_required,
                })
                .collect(),
        }
    }

    #[track_caller]
    fn check(line: &str, expected: Result<Value, &str>) {
        let assigned = assign(&prompt(&[("city", true), ("units", false), ("note", false)]), line);
        match expected {
            Ok(expected) => assert_eq!(Value::Object(assigned.unwrap()), expected, "{line}"),
            Err(expected) => assert_eq!(assigned.unwrap_err().to_string(), expected, "{line}"),
        }
    }

    #[test]
    fn words_are_assigned_by_name_and_in_order() {
        check("Paris", Ok(json!({"city": "Paris"})));
        check("\"New York\" metric", Ok(json!({"city": "New York", "units": "metric"})));
        check(
            "units=metric Paris it's late",
            Ok(json!({"units": "metric", "city": "Paris", "note": "it's late"})),
        );
        check(
            "Paris metric all the rest",
            Ok(json!({"city": "Paris", "units": "metric", "note": "all the rest"})),
        );
        check("other=x", Ok(json!({"city": "other=x"})));
        check("", Err("city is missing. Usage: /mcp__s__p <city> [units] [note]"));
        check("units=m", Err("city is missing. Usage: /mcp__s__p <city> [units] [note]"));
    }

    #[test]
    fn arguments_that_nobody_takes_are_refused() {
        assert_eq!(assign(&prompt(&[]), "").unwrap().len(), 0);
        let error = assign(&prompt(&[]), "what").unwrap_err().to_string();
        assert_eq!(error, "Too many arguments. Usage: /mcp__s__p");
    }
}
