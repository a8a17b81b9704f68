// An extension of pi for tests: a virtual model whose choices the user's messages and the environment decide.
import { execFileSync } from "node:child_process";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  const seen: unknown[] = [];
  const definition = (provider: string, id: string) => ({
    provider, id, name: "Auto", thinkingLevels: ["low", "high"] as const,
    async route(request: any, ctx: any) {
      const { reason, thinkingLevel, previous, failed, state } = request;
      seen.push({
        ...{ id, reason, thinkingLevel, previous: previous?.model.id, previousLevel: previous?.thinkingLevel },
        ...{ failed: failed?.message.errorMessage, state, selected: ctx.model?.id },
        roles: request.messages.map(({ role }: { role: string }) => role).join(" "),
      });
      const order = process.env.ROUTE ?? "";
      if (order === "throw") throw new Error("the router has no idea");
      if (order === "wait") await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      if (order === "again") return { model: ctx.modelRegistry.find("router", "other"), thinkingLevel: "off" };
      if (order === "unknown") return { model: { provider: "mock", id: "m9" }, thinkingLevel: "off" } as any;
      if (order === "crash" && !failed && reason === "continuation") execFileSync("kill", ["-9", String(process.pid)]);
      if (order === "tiny" && thinkingLevel === "high") return { model: ctx.modelRegistry.find("tiny", "t1"), thinkingLevel: "off" };
      const model = ctx.modelRegistry.find("mock", thinkingLevel === "high" ? "m2" : "m1");
      const count = (state?.count ?? 0) + (reason === "user" ? 1 : 0);
      return { model, thinkingLevel: "high", state: count === state?.count ? state : { count } };
    },
  });
  pi.registerVirtualModel(definition("router", "auto"));
  pi.registerVirtualModel(definition("router", "other"));
  pi.registerVirtualModel(definition("mock", "auto"));
  pi.on("session_start", (_, ctx) => {
    const { baseUrl } = ctx.modelRegistry.find("mock", "m1")!;
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const model = { id: "t1", name: "t1", reasoning: false, input: ["text" as const], cost, contextWindow: 40_000, maxTokens: 1000 };
    if (process.env.ROUTE === "tiny") pi.registerProvider("tiny", { baseUrl, api: "anthropic-messages", apiKey: "k", models: [model] });
  });
  pi.registerCommand("seen", { handler: async (_, ctx) => ctx.ui.notify(JSON.stringify(seen.splice(0))) });
  pi.registerCommand("ask", {
    description: "Calls the virtual model outside of the run",
    handler: async (_, ctx) => {
      const model = ctx.modelRegistry.find("router", "auto")!;
      const answer = await ctx.modelRegistry.complete(model, { messages: [{ role: "user", content: 'PLAN [{"text":"aside"}]', timestamp: 0 }] });
      ctx.ui.notify(JSON.stringify([answer.provider, answer.model, answer.content]));
    },
  });
  pi.registerCommand("forget", { handler: async () => pi.unregisterVirtualModel("router", "auto") });
}
