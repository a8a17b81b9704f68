// An extension of pi for tests: MCP servers that it registers while it loads and later.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const server = (...options: string[]) => ({ command: "python3", args: [process.env.MCP_SERVER ?? "", ...options], timeout: 30 });

export default function (pi: ExtensionAPI) {
  pi.registerMcpServer("early", { ...server(), toolExposure: { folder: "hidden" } });
  pi.registerMcpServer("described", server());
  pi.registerCommand("server", {
    description: "Registers a server, or takes it back",
    handler: async (args, ctx) => {
      const [verb, name] = args.split(" ");
      try {
        if (verb === "add") pi.registerMcpServer(name, server());
        else if (verb === "break") pi.registerMcpServer(name, { command: "no-such-program" });
        else pi.unregisterMcpServer(name);
        ctx.ui.notify(pi.getMcpServers().map((known) => known.name).join(" "));
      } catch (error) {
        ctx.ui.notify(String(error));
      }
    },
  });
}
