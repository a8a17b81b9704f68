//! The one-shot modes: messages from the command line, their runs, what is written of them, and an exit code that tells how
//! they ended. A session is driven here as by any client, over a connection in memory and in pi's dialect.

mod conversation;
mod events;
mod format;
mod message;
mod output_schema;
mod result;
mod stdin;
mod summary;
mod text;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use bowline_core::Policy;
use bowline_core::policy::Questions;
use bowline_dialect::Entry;
use bowline_extension_host::IfUnknown;
use bowline_server::{Connection, Limits};
use bowline_wire::{DEFAULT_OUTBOX_BOUND, Outbox, memory};

use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::flags::flags;
use crate::hosts;
use crate::serving::{Interruptions, Service};
use crate::settings::SettingsFile;
use crate::similar::nearest;

use conversation::{Audience, Conversation, Ends};
pub(crate) use format::{FORMATS, Format, PI_EVENTS, find, names};
pub(crate) use message::Attachments;
use output_schema::OutputSchema;

/// The dialect that the connection in memory has, whatever the user's clients have.
const DIALECT: &str = "pi";

/// How many bytes are in transit to the agent beside the messages.
const CAPACITY: usize = 256 * 1024;

/// What the user of a program with a terminal interface has to know.
const NO_TERMINAL_INTERFACE: &str = "there is no terminal interface here: bowline is a coding agent without one. For one \
    answer: pi -p \"message\"; for events as JSON lines: pi --mode json \"message\"; to serve a client: pi --mode rpc";

/// Runs the messages of the command line. `is_pi` says that the program was started under the name of pi.
pub(crate) fn main(arguments: &Arguments, entry: &'static Entry, is_pi: bool) -> Result<ExitCode, Failure> {
    let format = arguments.format.unwrap_or(&FORMATS[0]);
    if format.streams && entry.name != DIALECT {
        return Err(Failure::Usage(format!(
            "the events of this mode are pi's; --dialect {} has them in --mode rpc only",
            entry.name
        )));
    }
    let has_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_pi && has_terminal && !arguments.is_one_shot {
        return Err(Failure::Usage(NO_TERMINAL_INTERFACE.to_owned()));
    }
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    refuse_unknown_flags(arguments, &environment, is_pi)?;
    let output_schema = OutputSchema::read(arguments, &environment)?;
    let attachments = Attachments::read(&arguments.file_arguments, &environment)?;
    if !is_pi && arguments.messages.is_empty() && attachments.is_empty() && std::io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "there is no message: bowline -p \"message\", or send one to stdin".to_owned(),
        ));
    }
    let dialect = bowline_dialect::find(DIALECT).unwrap_or(entry).make();
    // Nobody can be asked: dialogs of extensions have their default answers, and calls that need consent are refused.
    let policy = Policy { questions: Questions::Assumed, ..dialect.policy() };
    let service = Service::prepare(arguments, environment, entry, policy)?;
    let words = arguments.messages.clone();
    let messages = Messages { words, attachments, output_schema, may_be_none: is_pi };
    let opening = Opening {
        header: serde_json::to_string(service.session.header()).unwrap_or_default(),
        id: service.session.header().id.clone(),
        file: service.session.file().map(|path| path.display().to_string()),
    };
    // Whoever reads slowly slows down the agent, and gets every record as it was.
    let limits = Limits { line: usize::MAX, outbox: Outbox::new(DEFAULT_OUTBOX_BOUND).without_joining() };
    service.run(dialect, limits, move |connection, signals| {
        converse(connection, signals, Conversing { format, messages, opening, is_pi })
    })
}

/// The messages of the command line, before stdin was read.
struct Messages {
    words: Vec<String>,
    attachments: Attachments,
    /// What the last one asks for.
    output_schema: Option<OutputSchema>,
    /// Whether it is all right if there are none.
    may_be_none: bool,
}

/// What is known of the session before anything happens in it.
struct Opening {
    header: String,
    id: String,
    file: Option<String>,
}

/// What a conversation is made of.
struct Conversing {
    format: &'static Format,
    messages: Messages,
    opening: Opening,
    is_pi: bool,
}

async fn converse(
    connection: Connection,
    signals: Interruptions,
    conversing: Conversing,
) -> Result<u8, Failure> {
    let Conversing { format, messages, opening, is_pi } = conversing;
    // The terminal of stdin is not read: whoever types there is not asked for anything.
    let is_typed = std::io::stdin().is_terminal();
    let audience = Audience { is_pis: is_pi, has_terminal: std::io::stdout().is_terminal() };
    let (input, output) = bowline_wire::take_over().map_err(Failure::io("taking over stdin and stdout"))?;
    let mut signals = signals;
    let piped = match is_typed {
        true => None,
        false => match stdin::read(input, &mut signals).await? {
            stdin::Ended::Text(text) => Some(text).filter(|text| !text.is_empty()),
            stdin::Ended::Interrupted(code) => return Ok(code),
        },
    };
    let Messages { words, attachments, output_schema, may_be_none } = messages;
    let prompts = message::prompts(piped, attachments, words, output_schema);
    if prompts.is_empty() && !may_be_none {
        return Err(Failure::Usage("there is no message: neither arguments nor stdin have one; for example: bowline -p \"Which files are here?\"".to_owned()));
    }
    let longest = prompts.iter().map(String::len).max().unwrap_or(0);
    let (agent_input, agent_output, client) = memory::pair(longest + CAPACITY);
    let (interruptions, forwarded) = tokio::sync::mpsc::unbounded_channel();
    let serving = tokio::spawn(connection.serve(agent_input, agent_output, forwarded));
    let conversation =
        Conversation::new(format, opening, audience, Ends { client, signals, interruptions, output });
    let code = conversation.hold(prompts).await;
    match serving.await {
        Ok(_) => Ok(code),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Fails if there is an unknown flag and no extension that could know it.
fn refuse_unknown_flags(
    arguments: &Arguments,
    environment: &Environment,
    is_pi: bool,
) -> Result<(), Failure> {
    // Another text is about those that must not be absent.
    let mut unknown = arguments.unknown_flags().into_iter();
    let Some(flag) = unknown.find(|flag| flag.if_unknown == IfUnknown::Reported) else { return Ok(()) };
    let file = SettingsFile::of_user(environment)?;
    if hosts::places(arguments, environment, &file).may_have_any(&environment.working_directory) {
        return Ok(());
    }
    Err(Failure::Usage(unknown_option(&flag.name, is_pi)))
}

/// Says that nobody knows a flag, as pi does or with what may have been meant.
fn unknown_option(name: &str, is_pi: bool) -> String {
    if is_pi {
        return format!("Unknown option: --{name}");
    }
    let near = nearest(&format!("--{name}"), flags().map(|flag| flag.long));
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    format!("Unknown option: --{name}{hint} (see bowline help)")
}
