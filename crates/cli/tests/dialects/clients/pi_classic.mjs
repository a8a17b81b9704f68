// A client of the first `pi --mode rpc`, like the one in its documentation: it reads events line by line, prints text as
// it arrives, names tools, and aborts on Ctrl+C. Usage: node pi_classic.mjs PROGRAM [ARGUMENT…] -- PROMPT
import { spawn } from "node:child_process";
import * as readline from "node:readline";

const words = process.argv.slice(2);
const dash = words.indexOf("--");
const [program, ...programArguments] = words.slice(0, dash);
const agent = spawn(program, programArguments, { stdio: ["pipe", "pipe", "inherit"] });
const pendingTools = new Map();

readline.createInterface({ input: agent.stdout }).on("line", (line) => {
  const event = JSON.parse(line);
  if (event.type === "message_update") {
    const { assistantMessageEvent } = event;
    if (assistantMessageEvent.type === "text_delta") {
      process.stdout.write(assistantMessageEvent.delta);
    }
  }
  if (event.type === "tool_execution_start") {
    console.log(`\n[Tool: ${event.toolName}]`);
    pendingTools.set(event.toolCallId, { name: event.toolName, args: event.args });
  }
  if (event.type === "tool_execution_end") {
    const call = pendingTools.get(event.toolCallId);
    pendingTools.delete(event.toolCallId);
    console.log(display({ ...call, result: event.result, isError: event.isError }));
  }
  if (event.type === "turn_end") {
    for (const call of event.message.content.filter((block) => block.type === "toolCall")) {
      const result = event.toolResults.find((candidate) => candidate.toolCallId === call.id);
      console.log(`[Result of ${call.name}: ${result.isError ? "error" : "fine"}]`);
    }
  }
  if (event.type === "error") {
    console.log(`[Error: ${event.error}]`);
    agent.stdin.end();
  }
  if (event.type === "agent_end") {
    console.log(`\n[End: ${event.messages.map((message) => message.role).join(" ")}]`);
    agent.stdin.end();
  }
});
agent.on("exit", (code) => console.log(`[Exit: ${code}]`));

agent.stdin.write(JSON.stringify({ type: "prompt", message: words[dash + 1] }) + "\n");

process.on("SIGINT", () => {
  agent.stdin.write(JSON.stringify({ type: "abort" }) + "\n");
});

function display(tool) {
  const text = typeof tool.result === "string"
    ? tool.result
    : tool.result.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
  return tool.name === "bash" ? `$ ${tool.args.command}\n${text}` : `${tool.name}: ${text.slice(0, 200)}`;
}
