// @ts-check
// Changes what the user types: "?question" asks for a short answer, "!clock" is answered here, without a model.
//
// bowline --mode rpc --extension examples/extensions/shorthand.mjs
import { Extension } from "./bowline_extension.mjs";

const ext = new Extension("shorthand", { version: "1.0.0" });

ext.on("input", (event, ctx) => {
  // What extensions send is left alone, or two of them could answer each other without end.
  if (event.source === "extension") return undefined;
  if (event.text === "!clock") {
    ctx.ui.notify(new Date().toISOString());
    return { action: "handled" };
  }
  if (event.text.startsWith("?")) {
    return { action: "transform", text: `Answer in one or two sentences: ${event.text.slice(1).trim()}` };
  }
  return { action: "continue" };
});

ext.command("shout", {
  description: "Sends a message in capitals: /shout TEXT",
  handler: (args, ctx) => ctx.session.sendUserMessage(args.toUpperCase()),
});

ext.run();
