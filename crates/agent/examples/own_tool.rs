//! An agent in this process with a tool of its own: `cargo run -p bowline-agent --example own_tool -- provider/model`.

use bowline_agent::{Agent, Event, Tool, ToolCall};
use serde_json::json;

async fn temperature(call: ToolCall) -> Result<String, String> {
    let city = call.argument("city").as_str().ok_or("the city is missing")?;
    Ok(format!("It is {} degrees in {city}.", 10 + city.len()))
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::disallowed_methods, reason = "an example reads its arguments and its environment")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next().ok_or("name a model, such as anthropic/claude-sonnet-4-5")?;
    let city =
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let agent = Agent::builder(std::env::current_dir()?)
        .model(model)
        .environment(std::env::vars())
        .no_tools()
        .tool(Tool::new("temperature", "Returns the temperature in a city.", city, temperature))
        .start()
        .await?;
    let mut events = agent.events_of(|kind| kind == "tool_execution_end");
    let run = agent.prompt_and_wait("How warm is it in Oslo?").await?;
    agent.stop().await;
    while let Some(Event::ToolExecutionEnd(call)) = events.next().await? {
        eprintln!("called {}", call.tool_name);
    }
    eprintln!("{:?}: {}", run.outcome, run.text);
    Ok(())
}
