// What the types promise, checked by compiling this file. It is not run.
import {
  Agent,
  type AgentOptions,
  type CommandFailed,
  type Event,
  type FromSchema,
  type RunResult,
  type State,
  tool,
} from "../../../clients/typescript/dist/index.js";
import { RpcClient } from "../../../clients/typescript/dist/omp.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

isTrue<
  Equal<
    FromSchema<{
      readonly type: "object";
      readonly properties: {
        readonly path: { readonly type: "string" };
        readonly lines: { readonly type: "array"; readonly items: { readonly type: "integer" } };
        readonly mode: { readonly enum: readonly ["r", "w"] };
        readonly rest: { readonly anyOf: readonly [] };
      };
      readonly required: readonly ["path", "mode"];
    }>,
    { path: string; mode: "r" | "w"; lines?: number[]; rest?: unknown }
  >
>();

export const open = tool({
  name: "open",
  description: "Opens a file.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, line: { type: "integer" } },
    required: ["path"],
  },
  run: ({ path, line }, { signal, update }) => {
    update(`${path.toUpperCase()}:${line?.toFixed() ?? "start"}`);
    // @ts-expect-error: there is no such argument
    void path.mode;
    // @ts-expect-error: it may be absent
    void line.toFixed();
    return signal.aborted ? "stopped" : { content: "open", details: { path } };
  },
});

export async function use(options: AgentOptions): Promise<RunResult> {
  await using agent = await Agent.start({ ...options, tools: [open] });
  const state: State = await agent.getState({ timeoutMs: 1_000 });
  // @ts-expect-error: the model may be absent
  void state.model.id;
  await agent.setModel("anthropic", "claude-sonnet-5");
  // @ts-expect-error: a level that there is not
  await agent.setThinkingLevel("deep");
  // @ts-expect-error: a field that the command does not have
  await agent.bash("ls", { quiet: true });
  const { output, exitCode } = await agent.bash("ls", { excludeFromContext: true, signal: AbortSignal.timeout(100) });
  isTrue<Equal<typeof output, string>>();
  isTrue<Equal<typeof exitCode, number | undefined>>();
  agent.on("tool_execution_end", (event) => isTrue<Equal<typeof event.durationMs, number>>());
  for await (const event of await agent.run("Hi")) show(event);
  const schema = { type: "object", properties: { files: { type: ["string", "null"] } }, required: ["files"] } as const;
  const { output: value } = await agent.promptAndWait("Which?", { outputSchema: schema });
  isTrue<Equal<typeof value, { files: string | null } | undefined>>();
  const inPlace = await agent.promptAndWait("Which?", { outputSchema: { enum: ["a", "b"] } });
  isTrue<Equal<typeof inPlace.output, "a" | "b" | undefined>>();
  const stats = await agent.command("get_session_stats", {});
  isTrue<Equal<typeof stats.userMessages, number>>();
  return agent.promptAndWait("Hi", { signal: AbortSignal.timeout(1_000) });
}

function show(event: Event): string | undefined {
  if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
    return event.assistantMessageEvent.delta;
  }
  if (event.type === "extension_ui_request" && event.method === "select") return event.options[0];
  if (event.type === "agent_settled") {
    // Later versions may add kinds of errors.
    const kind: string | undefined = event.errorKind;
    return event.errorKind === "auth" ? "no key" : kind;
  }
  return undefined;
}

export const isBusy = (error: CommandFailed): boolean => error.code === "busy";

export async function omp(): Promise<string | null> {
  const client = new RpcClient({ provider: "anthropic", model: "claude-sonnet-5" });
  await client.start();
  const events = await client.promptAndWait("Hi", undefined, 1_000);
  const last = events.at(-1);
  if (last?.type === "agent_end") isTrue<Equal<typeof last.isTerminal, boolean>>();
  return client.getLastAssistantText();
}
