// An extension for tests: shows and changes what the session is made of, as its commands and the tests' prompts say.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "verdict",
    label: "Verdict",
    description: "Returns a result",
    promptSnippet: "gives a verdict",
    promptGuidelines: ["Ask for a verdict once."],
    parameters: Type.Object({ failed: Type.Boolean() }),
    async execute(_id, { failed }) {
      return { content: [{ type: "text", text: "result" }], details: {}, isError: failed } as any;
    },
  });

  // What the next prompt changes, as code.
  let change = "";
  pi.registerCommand("change", { handler: async (args) => void (change = args) });
  pi.on("before_agent_start", async (event, ctx) => {
    if (change) new Function("event", "options", "ctx", change)(event, event.systemPromptOptions, ctx);
    if (change) ctx.ui.notify(event.systemPrompt);
  });

  let boundary: any;
  pi.registerCommand("boundary", { handler: async (args) => void (boundary = JSON.parse(args)) });
  pi.on("turn_end", async (event) => {
    const result = boundary;
    boundary = undefined;
    if (!result) return undefined;
    for (const draft of result.entries) if (draft.targetId === "answer") draft.targetId = event.messageEntryId;
    return result;
  });

  let system: string | undefined;
  pi.registerCommand("system", { handler: async (args) => void (system = args || undefined) });
  pi.on("context_with_system", async (event) => {
    const [first] = event.messages;
    if (system && first.role === "system") first.content = system;
  });

  pi.on("session_before_compact", async ({ preparation }, ctx) => {
    const lists = Object.entries(preparation.fileOps).filter(([, files]) => files instanceof Set);
    ctx.ui.notify(JSON.stringify(Object.fromEntries(lists.map(([name, files]) => [name, [...(files as Set<string>)]]))));
    return { cancel: true };
  });

  const show = (ctx: any, value: unknown) => ctx.ui.notify(JSON.stringify(value));
  pi.registerCommand("options", { handler: async (_args, ctx) => show(ctx, ctx.getSystemPromptOptions()) });
  pi.registerCommand("all-tools", { handler: async (_args, ctx) => show(ctx, pi.getAllTools()) });
  pi.registerCommand("back", {
    handler: async (args, ctx) => {
      const [first] = ctx.sessionManager.getEntries().filter((entry) => entry.type === "message");
      show(ctx, await ctx.navigateTree(first.id, { summarize: true, ...JSON.parse(args) }));
    },
  });
}
