// An extension whose tools return data and want their arguments kept to a schema, and whose messages start runs.

import { readFileSync } from "node:fs";

const parameters = {
  type: "object",
  properties: { count: { type: "number" }, name: { type: "string" } },
  required: ["count"],
};
const text = (content: string) => [{ type: "text", text: content }];

export default function (pi: any) {
  const { providers } = JSON.parse(readFileSync(`${process.env.HOME}/.bowline/models.json`, "utf8"));
  const limits = { reasoning: false, input: ["text"], cost: {}, contextWindow: 200000, maxTokens: 32000 };
  const model = { id: "m", name: "m", ...limits, compat: { supportsStrictTools: true } };
  pi.registerProvider("strict", { baseUrl: providers.mock.baseUrl, api: "anthropic-messages", apiKey: "k", models: [model] });

  pi.registerTool({
    name: "rows",
    label: "Rows",
    description: "Returns rows",
    parameters,
    outputSchema: { type: "object", properties: { rows: { type: "array" } } },
    constrainedSampling: { type: "json_schema", strict: "prefer" },
    async execute(_id: string, args: any) {
      const rows = Array.from({ length: args.count }, (_, index) => index);
      return { content: text(`${rows.length} rows, ${"name" in args}`), details: {}, structuredContent: { rows } };
    },
  });

  pi.registerTool({
    name: "total",
    label: "Total",
    description: "Adds the rows up",
    parameters: { type: "object", properties: {} },
    async execute(_id: string, _args: any, _signal: any, _onUpdate: any, ctx: any) {
      const { result } = await ctx.executeTool("rows", { count: 4 });
      const { outputSchema } = ctx.tools.find((tool: any) => tool.name === "rows");
      const total = result.structuredContent.rows.reduce((sum: number, row: number) => sum + row, 0);
      return { content: text(`${total} ${Object.keys(outputSchema.properties)}`), details: {} };
    },
  });

  pi.registerCommand("insist", {
    handler: async () => {
      const constrainedSampling = { type: "json_schema", strict: "require" };
      const execute = async () => ({ content: [], details: {} });
      pi.registerTool({ name: "insisting", label: "I", description: "d", parameters, constrainedSampling, execute });
    },
  });

  const seen: any[] = [];
  pi.on("tool_result", (event: any) => {
    seen.push(event.structuredContent);
    return event.input.name === "secret" ? { content: text("redacted") } : undefined;
  });
  pi.on("tool_execution_end", (event: any) => void seen.push(event.result.structuredContent));
  pi.on("before_agent_start", (event: any) => {
    if (event.messageType !== "custom") return undefined;
    const message = { customType: "note", content: `${event.message.customType} has rung`, display: false };
    return { message, systemPrompt: `${event.systemPrompt}\nThe prompt: ${event.prompt}. Be awake.` };
  });
  pi.registerCommand("seen", { handler: (_: string, ctx: any) => ctx.ui.notify(JSON.stringify(seen.splice(0))) });
  pi.registerCommand("wake", {
    handler: async (words: string) => {
      pi.sendMessage({ customType: "alarm", content: words, display: true }, { triggerTurn: true });
    },
  });
}
