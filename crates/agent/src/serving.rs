//! An engine in this process, behind the connection of a client.

use bowline_protocol::{Connection, Ending, Error, Introduction};
use bowline_server::Interruption;
use bowline_wire::memory;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// How many bytes are in transit in each direction.
const CAPACITY: usize = 256 * 1024;

/// An engine that serves a connection.
#[derive(Debug)]
pub struct Serving {
    /// Takes what interrupts the engine from outside, such as signals.
    pub interruptions: UnboundedSender<Interruption>,
    /// Ends once the engine has ended and everybody who waited for it knows.
    pub over: JoinHandle<()>,
}

/// Serves a client in the same process, in tasks of the current runtime. The engine's connection speaks the dialect `pi`.
pub fn serve(
    engine: bowline_server::Connection,
    client: &Connection,
) -> Result<(Introduction, Serving), Error> {
    let (input, output, pipes) = memory::pair(CAPACITY);
    let (interruptions, interrupted) = unbounded_channel();
    let engine = tokio::spawn(engine.serve(input, output, interrupted));
    let ending = async {
        match engine.await {
            Ok(code) => Ending {
                reason: "the agent has ended".to_owned(),
                exit_code: Some(code.into()),
                ..Ending::default()
            },
            Err(error) => Ending { reason: format!("the agent failed: {error}"), ..Ending::default() },
        }
    };
    let (sender, receiver) = pipes.split();
    let (introduction, over) = client.attach(receiver, sender, ending)?;
    Ok((introduction, Serving { interruptions, over }))
}
