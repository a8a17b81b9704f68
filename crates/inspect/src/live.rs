//! A live exchange: starts the command, passes everything on, serves the page, and ends as the command does.

use std::io::{PipeReader, Read, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::page::save;
use crate::pass_through::{Input, from_client, from_command};
use crate::protocol::Protocols;
use crate::queue::{Item, Queue};
use crate::recorder::Recorder;
use crate::row::{Event, From, Header, TYPE, VERSION};
use crate::signals::{self, Signals};
use crate::store::Store;
use crate::web::Site;
use crate::{Error, Options};

/// How long what the command has left in its pipes is waited for once it has ended. A process that it left behind may hold
/// them open.
const LEFTOVER_TIME: Duration = Duration::from_secs(2);

/// How long the recorder has for what it is behind, if something is to be saved.
const SAVING_TIME: Duration = Duration::from_secs(60);

/// How long a page that is open has to take the last rows before the process ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// How long a command that a user wants to end has after the end of its stdin.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The command to start.
#[derive(Debug)]
pub struct Command {
    pub program: std::ffi::OsString,
    pub arguments: Vec<String>,
    /// How it is shown.
    pub shown: Vec<String>,
}

/// Whose stdin and stdout are passed on. Without a client, the page drives the command.
pub struct Client {
    pub input: Box<dyn Read + Send>,
    pub output: Box<dyn Write + Send>,
}

/// A live exchange.
pub struct Exchange {
    pub command: Command,
    pub client: Option<Client>,
    /// Where the command's stderr goes.
    pub stderr: Box<dyn Write + Send>,
    pub options: Options,
}

/// Starts the command and serves the page until the command ends. Without a client, the page stays until a signal ends the
/// process. Returns the exit code for the process: the command's, or 128 and the signal that ended it.
///
/// `tell` is called with the address of the page, and with what went wrong beside the exchange.
pub fn run(exchange: Exchange, tell: impl Fn(&str)) -> Result<u8, Error> {
    block_on(drive(exchange, tell))
}

/// Serves a page of a recording until a signal ends the process.
pub(crate) fn serve(store: Arc<Store>, protocols: Protocols, tell: impl FnOnce(&str)) -> Result<(), Error> {
    block_on(async {
        let mut signals = Signals::listen().map_err(Error::Listen)?;
        let site = Site::open(store, Arc::new(protocols), None).await?;
        tell(&site.address());
        tokio::select! {
            () = site.serve() => {}
            _ = signals.next() => {}
        }
        Ok(())
    })
}

fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let result = runtime.block_on(work);
    // A thread that waits for a pipe must not keep the process from ending.
    runtime.shutdown_background();
    result
}

/// The threads that copy, and the one that records.
struct Threads {
    input: Arc<Input>,
    queue: Arc<Queue>,
    copying: Vec<JoinHandle<()>>,
    recorded: oneshot::Receiver<Option<Error>>,
}

async fn drive(exchange: Exchange, tell: impl Fn(&str)) -> Result<u8, Error> {
    let Exchange { command, client, stderr, options } = exchange;
    let mut signals = Signals::listen().map_err(Error::Thread)?;
    let store = Arc::new(Store::new(&options.temporary_directory)?);
    let protocols = Arc::new(Protocols::new(options.dialect.as_deref()));
    let mut recorder = Recorder::new(Arc::clone(&store), options.masking, options.recording.as_deref())?;
    recorder.begin(Header {
        r#type: TYPE.to_owned(),
        version: VERSION,
        started: Some(Timestamp::now().to_string()),
        command: command.shown.clone(),
        dialect: options.dialect.clone(),
    });
    let has_client = client.is_some();
    let (mut child, threads) = start(&command, client, stderr, recorder)?;
    let Threads { input, queue, copying, recorded } = threads;
    let site = Site::open(Arc::clone(&store), Arc::clone(&protocols), Some(Arc::clone(&input))).await?;
    tell(&format!("bowline inspect: {}", site.address()));
    let serving = tokio::spawn(Arc::clone(&site).serve_shared());

    let status = wait(&mut child, &mut signals, &input, has_client).await?;
    // What it wrote last is still in the pipes.
    let join =
        tokio::task::spawn_blocking(move || copying.into_iter().for_each(|thread| drop(thread.join())));
    let _ = timeout(LEFTOVER_TIME, join).await;
    input.close();
    let signal = signals::ended_by(status);
    queue.push(Item::Event(Event::Ended { code: status.code(), signal }));
    queue.push(Item::Finish);
    // What is to be saved is to be whole; otherwise nobody needs what the recorder has not reached yet.
    let is_saved = options.page.is_some() || options.recording.is_some();
    let limit = if is_saved { SAVING_TIME } else { FAREWELL };
    let failure = timeout(limit, recorded).await.ok().and_then(Result::ok).flatten();
    if let Some(failure) = failure {
        tell(&format!("bowline inspect: {failure}"));
    }
    if let Some(page) = &options.page
        && let Err(error) = save(&store, &protocols, page, None)
    {
        tell(&format!("bowline inspect: {error}"));
    }
    if has_client {
        let _ = timeout(FAREWELL, site.farewell()).await;
    } else {
        tell("bowline inspect: the command has ended; Ctrl-C ends the page");
        signals.next().await;
    }
    serving.abort();
    let code = signal.map_or_else(|| status.code().unwrap_or(1), |signal| 128 + signal);
    Ok(u8::try_from(code).unwrap_or(1))
}

/// Starts the command and the threads.
fn start(
    command: &Command,
    client: Option<Client>,
    stderr: Box<dyn Write + Send>,
    recorder: Recorder,
) -> Result<(Child, Threads), Error> {
    let program = command.program.to_string_lossy().into_owned();
    let failed = |source| Error::Start { program: program.clone(), source };
    let (child_input, writer) = std::io::pipe().map_err(failed)?;
    let (output, child_output) = std::io::pipe().map_err(failed)?;
    let (errors, child_errors) = std::io::pipe().map_err(failed)?;
    let mut starting = tokio::process::Command::new(&command.program);
    starting.args(&command.arguments).kill_on_drop(true);
    starting
        .stdin(Stdio::from(child_input))
        .stdout(Stdio::from(child_output))
        .stderr(Stdio::from(child_errors));
    if client.is_none() {
        signals::separate(&mut starting);
    }
    let child = starting.spawn().map_err(failed)?;
    // It holds the child's ends of the pipes.
    drop(starting);

    let queue = Arc::new(Queue::new());
    let input = Arc::new(Input::new(writer, Arc::clone(&queue)));
    let (client_output, client_input) = client.map(|client| (client.output, client.input)).unzip();
    let copy = |from: From, pipe: PipeReader, to| from_command(from, pipe, to, Arc::clone(&queue));
    let copying = vec![copy(From::Agent, output, client_output)?, copy(From::Stderr, errors, Some(stderr))?];
    if let Some(client_input) = client_input {
        from_client(client_input, Arc::clone(&input))?;
    }
    let (done, recorded) = oneshot::channel();
    let recording = Arc::clone(&queue);
    std::thread::Builder::new()
        .name("recorder".to_owned())
        .spawn(move || drop(done.send(recorder.run(&recording))))
        .map_err(Error::Thread)?;
    Ok((child, Threads { input, queue, copying, recorded }))
}

/// Waits for the end of the command. Signals are passed on; without a client, one from the terminal ends the command.
async fn wait(
    child: &mut Child,
    signals: &mut Signals,
    input: &Input,
    has_client: bool,
) -> Result<ExitStatus, Error> {
    let failed = |source| Error::Start { program: "the command".to_owned(), source };
    loop {
        tokio::select! {
            status = child.wait() => return status.map_err(failed),
            signal = signals.next() => match (has_client, child.id()) {
                (true, Some(process)) => signal.pass_on(process),
                (false, Some(process)) => {
                    input.close();
                    tokio::select! {
                        status = child.wait() => return status.map_err(failed),
                        () = sleep(LAST_WORDS) => {}
                        again = signals.next() => again.pass_on(process),
                    }
                    child.start_kill().map_err(failed)?;
                }
                _ => {}
            },
        }
    }
}
