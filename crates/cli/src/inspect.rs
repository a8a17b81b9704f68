//! `bowline inspect`: what is exchanged between a client and an agent, on a page.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use bowline_inspect::{Client, Command, Exchange, Masking, Options, run, show};
use bowline_llm::{Redactor, Secret};

use crate::arguments::Arguments;
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::terminal::note;

/// What `bowline help inspect` says.
pub(crate) const USAGE: &str = "\
bowline inspect [FLAGS]                     bowline itself, in RPC mode
bowline inspect [--save FILE] -- COMMAND    any agent that speaks lines of JSON
bowline inspect [--save FILE] FILE          a recording, a session, lines of JSON

Passes stdin, stdout and stderr through to the agent and shows every line of the
exchange on a page on loopback, whose address it prints on stderr. Put it in
front of the agent in a client's configuration: the client sees no difference.
On a terminal there is no client; the page's command box drives the agent.

--save FILE.jsonl writes a recording, as it happens. --save FILE.html writes the
page at the end, with all records, to be attached to a bug report. Both mask
what looks like a credential; read them before you publish them.

The exit code is the agent's, or 128 and the number of the signal that ended it.
Signals are passed on to the agent. docs/inspect.md has more.
";

/// Runs the subcommand.
pub(crate) fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read(arguments.working_directory.as_deref())?;
    let options = options(arguments, &environment)?;
    match (&arguments.words[..], &arguments.command) {
        ([], None) => live(own_command(arguments)?, options),
        ([], Some(words)) => {
            refuse_flags(arguments)?;
            live(command_of(words)?, options)
        }
        ([file], None) => {
            refuse_flags(arguments)?;
            let tell = |address: &str| note(format_args!("bowline inspect: {address} (Ctrl-C ends it)"));
            show(&environment.working_directory.join(file), options, tell)?;
            Ok(ExitCode::SUCCESS)
        }
        (words, _) => Err(Failure::Usage(format!(
            "write -- before the command: bowline inspect -- {}",
            words.join(" ")
        ))),
    }
}

fn live(command: Command, options: Options) -> Result<ExitCode, Failure> {
    let has_client = !io::stdin().is_terminal();
    let client = if has_client { Some(Client { input: stdin()?, output: stdout()? }) } else { None };
    let stderr = Box::new(io::stderr());
    let code = run(Exchange { command, client, stderr, options }, |text| note(text))?;
    Ok(ExitCode::from(code))
}

/// This program in RPC mode, with the flags that were given.
fn own_command(arguments: &Arguments) -> Result<Command, Failure> {
    let program = environment::program().map_err(Failure::io("finding bowline itself"))?;
    let mut own = vec!["--mode".to_owned(), "rpc".to_owned()];
    own.extend(arguments.passed_on.iter().filter(|flag| !is_own(flag)).cloned());
    let shown = std::iter::once("bowline".to_owned()).chain(own.iter().cloned()).collect();
    Ok(Command { program: program.into_os_string(), arguments: own, shown })
}

fn command_of(words: &[String]) -> Result<Command, Failure> {
    let (program, rest) = words.split_first().ok_or_else(|| {
        Failure::Usage("which command? bowline inspect -- COMMAND [ARGUMENT...]".to_owned())
    })?;
    Ok(Command { program: program.into(), arguments: rest.to_vec(), shown: words.to_vec() })
}

/// Refuses flags for an agent that is not started here.
fn refuse_flags(arguments: &Arguments) -> Result<(), Failure> {
    let mut foreign =
        arguments.passed_on.iter().filter(|flag| !is_own(flag) && !flag.starts_with("--dialect="));
    match foreign.next() {
        None => Ok(()),
        // Its value may be a key.
        Some(flag) => {
            let name = flag.split('=').next().unwrap_or_default();
            Err(Failure::Usage(format!(
                "{name} is a flag of the agent: write it after the command that follows --"
            )))
        }
    }
}

/// Tells whether a flag is one of the inspector's own.
fn is_own(flag: &str) -> bool {
    flag.starts_with("--save=")
}

fn options(arguments: &Arguments, environment: &Environment) -> Result<Options, Failure> {
    let (mut page, mut recording) = (None, None);
    for file in &arguments.save {
        let path = environment.working_directory.join(file);
        let place = match path.extension().and_then(|extension| extension.to_str()) {
            Some("html") => &mut page,
            Some("jsonl") => &mut recording,
            _ => {
                let text = format!(
                    "--save: \"{file}\" ends neither in .html, for a page, nor in .jsonl, for a recording"
                );
                return Err(Failure::Usage(text));
            }
        };
        if place.replace(path).is_some() {
            return Err(Failure::Usage("--save: one page and one recording are enough".to_owned()));
        }
    }
    Ok(Options {
        dialect: dialect(arguments)?,
        page,
        recording,
        temporary_directory: environment.temporary_directory.clone(),
        masking: masking(environment),
    })
}

/// The dialect that the user names, or that the command line of the agent tells.
fn dialect(arguments: &Arguments) -> Result<Option<String>, Failure> {
    let given = |flags: &[String]| {
        flags.iter().enumerate().find_map(|(index, flag)| match flag.split_once('=') {
            Some(("--dialect", name)) => Some(name.to_owned()),
            None if flag == "--dialect" => flags.get(index + 1).cloned(),
            _ => None,
        })
    };
    let command = arguments.command.as_deref().unwrap_or_default();
    if let Some(name) = given(&arguments.passed_on).or_else(|| given(command)) {
        return match bowline_dialect::find(&name) {
            Some(_) => Ok(Some(name)),
            None => {
                let names: Vec<_> = bowline_dialect::DIALECTS.iter().map(|entry| entry.name).collect();
                Err(Failure::Usage(format!("unknown dialect; the dialects are: {}", names.join(", "))))
            }
        };
    }
    let is_itself = arguments.command.is_none() && arguments.words.is_empty();
    let program = command.first().and_then(|program| Path::new(program).file_stem()?.to_str());
    let by_name = bowline_dialect::PROGRAMS.iter().find(|known| Some(known.name) == program);
    let is_rpc = command.iter().any(|word| word == "--rpc");
    let is_acp = command.get(1).is_some_and(|word| word == "acp");
    Ok(match by_name {
        _ if is_acp => Some("acp".to_owned()),
        _ if is_rpc => Some("opi".to_owned()),
        // Two versions of pi speak two dialects; the records tell which.
        Some(program) if program.name != "pi" => Some(program.dialect.to_owned()),
        _ if is_itself => Some("pi".to_owned()),
        _ => None,
    })
}

/// Masks the secrets in the environment, which the agent gets too, and what looks like one.
fn masking(environment: &Environment) -> Masking {
    let variables = environment.variables.iter();
    let secrets = variables.filter(|(name, value)| bowline_tools::is_secret_variable(name, value));
    let secrets: Vec<_> = secrets.map(|(_, value)| Secret::new(value)).collect();
    let redactor = Redactor::new(&secrets);
    Masking::new(move |text| redactor.redact(text), bowline_tools::SECRET_PREFIXES)
}

/// Returns stdin without a buffer.
fn stdin() -> Result<Box<dyn Read + Send>, Failure> {
    #[cfg(unix)]
    let owned = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let owned = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
    Ok(Box::new(File::from(owned.map_err(Failure::io("reading stdin"))?)))
}

/// Returns stdout without a buffer, and leaves nothing else that holds it open: the client is to see its end as soon as the
/// agent has closed it.
fn stdout() -> Result<Box<dyn Write + Send>, Failure> {
    #[cfg(unix)]
    let owned = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let owned = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    let file = File::from(owned.map_err(Failure::io("writing to stdout"))?);
    #[cfg(unix)]
    if let Ok(nothing) = File::options().write(true).open("/dev/null") {
        rustix::stdio::dup2_stdout(nothing)
            .map_err(|error| Failure::io("writing to stdout")(error.into()))?;
    }
    Ok(Box::new(file))
}
