// A chat in the terminal. Ctrl-C stops a run, and ends the chat if there is none. Usage: node chat.mjs [MODEL]
import { createInterface } from "node:readline/promises";
import process from "node:process";
import { Agent } from "bowline-agent";

const [, , model] = process.argv;
const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " });

const agent = await Agent.start({
  ...(model === undefined ? {} : { model }),
  args: ["--ask", "untrusted"],
  approve: async ({ tool, command, arguments: args }, { signal }) => {
    const answer = await terminal.question(`\nRun ${tool} ${command ?? JSON.stringify(args)}? [y/N] `, { signal });
    return answer.trim().toLowerCase() === "y";
  },
});

terminal.on("SIGINT", () => (agent.isBusy ? agent.abort() : terminal.close()));
agent.on("tool_execution_end", ({ toolName, isError, durationMs }) =>
  console.log(`[${toolName} ${isError ? "failed" : "done"} after ${durationMs} ms]`),
);

terminal.prompt();
for await (const message of terminal) {
  if (message.trim() !== "") {
    const run = await agent.run(message);
    for await (const text of run.text()) process.stdout.write(text);
    const { outcome, error } = await run.result();
    console.log(outcome === "completed" ? "" : `\n${outcome}: ${error ?? "you stopped it"}`);
  }
  terminal.prompt();
}
await agent.close();
