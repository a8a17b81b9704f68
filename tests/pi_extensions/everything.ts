// An extension of pi for tests: a tool, commands, hooks, a component, and all kinds of misbehaviour.
import { Type } from "typebox";
import { StringEnum } from "@mariozechner/pi-ai";
import { Container, Text } from "@earendil-works/pi-tui";
import { truncateHead, type ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { execSync } from "node:child_process";
import { greeting } from "./words";

enum Mood {
  Good = "good",
  Bad = "bad",
}

export default function (pi: ExtensionAPI) {
  let answers = 0;

  pi.registerTool({
    name: "greet",
    label: "Greet",
    description: "Greets somebody.",
    parameters: Type.Object({ name: Type.String(), mood: Type.Optional(StringEnum([Mood.Good, Mood.Bad] as const)) }),
    async execute(_id, params, signal, onUpdate, ctx) {
      onUpdate?.({ content: [{ type: "text", text: "thinking" }], details: {} });
      if (params.name === "block") {
        const end = Date.now() + 10_000;
        while (Date.now() < end);
      }
      if (params.name === "die") execSync(`kill -9 ${process.pid}`);
      const { content } = truncateHead(`${greeting} ${params.name} from ${ctx.cwd}`, { maxBytes: 1000 });
      return { content: [{ type: "text", text: content }], details: { mood: params.mood ?? Mood.Good } };
    },
  });

  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    if (event.input.command === "kill the host") execSync(`kill -9 ${process.pid}`);
    if (event.input.command.includes("rm -rf") && !(await ctx.ui.confirm("Run it?", event.input.command))) {
      return { block: true, reason: "The user refused" };
    }
  });

  pi.on("agent_end", () => {
    answers += 1;
    pi.appendEntry("answers", { answers });
  });

  pi.registerCommand("report", {
    description: "Says what is known without asking.",
    handler: async (args, ctx) => {
      const entries = ctx.sessionManager.getEntries().filter((entry) => entry.type === "custom").length;
      const known = { args, entries, prompt: ctx.getSystemPrompt().length > 100, model: ctx.model?.id, idle: ctx.isIdle() };
      ctx.ui.notify(JSON.stringify(known));
    },
  });

  pi.registerCommand("pick", {
    handler: async (_args, ctx) => {
      const picked = await ctx.ui.custom<string>((tui, theme, _keybindings, done) => {
        const list = new Container();
        list.addChild(new Text(theme.bold("Pick one"), 0, 0));
        return {
          render: (width: number) => list.render(width),
          invalidate: () => list.invalidate(),
          handleInput(data: string) {
            if (data === "\r") done("picked");
            list.addChild(new Text(`key ${JSON.stringify(data)}`, 0, 0));
            tui.requestRender();
          },
        };
      });
      ctx.ui.notify(`custom: ${picked}`);
    },
  });

  pi.registerCommand("misbehave", {
    handler: async (args) => {
      if (args === "later") setTimeout(() => { throw new Error("thrown later"); }, 200);
      if (args === "reject") void Promise.reject(new Error("rejected later"));
      if (args === "exit") process.exit(3);
      if (args === "print") {
        console.log("printed");
        process.stdout.write("written\n");
      }
    },
  });
}
