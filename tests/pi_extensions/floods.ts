// An extension for tests that sends far more than anybody can use.

import { createAssistantMessageEventStream } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const breath = () => new Promise((resolve) => setImmediate(resolve));

export default function (pi: ExtensionAPI) {
  pi.registerCommand("flood", {
    handler: async (seconds) => {
      const end = Date.now() + Number(seconds) * 1000;
      void (async () => {
        for (let number = 0; Date.now() < end; ) {
          for (let index = 0; index < 200; index += 1) pi.appendEntry("flood", { number: (number += 1) });
          await breath();
        }
      })();
    },
  });

  const models = [{ id: "tiny", name: "tiny", reasoning: false, input: ["text"], cost: NOTHING, contextWindow: 100_000, maxTokens: 1000 }];
  pi.registerProvider("tiny", {
    baseUrl: "http://127.0.0.1:1",
    apiKey: "none",
    api: "tiny",
    models: models as any,
    streamSimple(model: any, _context: any, options: any) {
      const stream = createAssistantMessageEventStream();
      const usage = { ...NOTHING, totalTokens: 0, cost: { ...NOTHING, total: 0 } };
      const { api, provider, id } = model;
      const message: any = { role: "assistant", content: [], api, provider, model: id, usage, stopReason: "stop", timestamp: Date.now() };
      void (async () => {
        stream.push({ type: "start", partial: message });
        message.content.push({ type: "text", text: "" });
        stream.push({ type: "text_start", contentIndex: 0, partial: message });
        for (let index = 0; index < 300_000 && !options?.signal?.aborted; index += 1) {
          message.content[0].text += "x";
          stream.push({ type: "text_delta", contentIndex: 0, delta: "x", partial: message });
          if (index % 500 === 0) await breath();
        }
        stream.push({ type: "text_end", contentIndex: 0, content: message.content[0].text, partial: message });
        stream.push({ type: "done", reason: "stop", message });
        stream.end();
      })();
      return stream;
    },
  });
  pi.registerCommand("tiny", {
    handler: async (_args, ctx) => {
      await pi.setModel(ctx.modelRegistry.find("tiny", "tiny")!);
      ctx.ui.notify("set");
    },
  });
}
