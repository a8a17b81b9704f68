//! A chat in the terminal: `cargo run -p bowline-client --example chat -- scripted/demo`.

use std::io::Write as _;

use bowline_client::{Client, Event, Step};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "an example reads its arguments and its environment")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = std::env::args().nth(1).unwrap_or_else(|| "scripted/demo".to_owned());
    let client = Client::builder().program_from(std::env::var_os("BOWLINE")).model(model).start().await?;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let mut run = client.run(line).await?;
        while let Some(event) = run.next().await? {
            match event {
                Event::MessageUpdate(update) => {
                    if let Step::TextDelta(step) = update.assistant_message_event {
                        print(&step.delta)?;
                    }
                }
                Event::ToolExecutionStart(call) => print(&format!("\n[{}]\n", call.tool_name))?,
                Event::AgentSettled(end) => print(&format!("\n{}", end.error.unwrap_or_default()))?,
                _ => {}
            }
        }
    }
    client.stop().await;
    Ok(())
}

fn print(text: &str) -> std::io::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush())
}
