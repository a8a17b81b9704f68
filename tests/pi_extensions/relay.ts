// A provider that answers through an API of bowline at an address and with a key of its own. The command tells that address.

import { streamSimpleAnthropic } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { createReadTool } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  let address = "";

  pi.registerProvider("relay", {
    baseUrl: "http://relay.invalid",
    apiKey: "key of the provider",
    api: "relay-api",
    models: [{
      id: "relayed",
      name: "Relayed",
      reasoning: false,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 100_000,
      maxTokens: 1000,
    }],
    streamSimple: (model, context, options) =>
      streamSimpleAnthropic({ ...model, api: "anthropic-messages", baseUrl: address }, context, {
        ...options,
        apiKey: "key of the relay",
        headers: { "x-relay": "yes" },
      }),
  });

  // A tool in place of a built-in one, which it uses.
  const read = createReadTool(process.cwd());
  pi.registerTool({
    ...read,
    async execute(...parameters) {
      const { content } = await read.execute(...parameters);
      return { content: content.map((part) => (part.type === "text" ? { ...part, text: part.text.toUpperCase() } : part)), details: {} };
    },
  });

  pi.registerCommand("relay", {
    handler: async (args, ctx) => {
      address = args;
      await pi.setModel(ctx.modelRegistry.find("relay", "relayed")!);
      const { length } = ctx.modelRegistry.getAll();
      ctx.ui.notify(JSON.stringify([ctx.model?.id, length > ctx.modelRegistry.getAvailable().length, pi.getCommands().map(({ name }) => name)]));
    },
  });
}
