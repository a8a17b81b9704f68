// An extension whose command `/ask KIND` asks the user, and tells what the answer was.
import { Extension } from "../../../sdk/typescript/bowline_extension.mjs";

const ext = new Extension("asking");

const questions = {
  select: (ui) => ui.select("Pick", ["a", "b"]),
  confirm: (ui) => ui.confirm("Sure?", "really"),
  input: (ui) => ui.input("Name", "your name"),
  editor: (ui) => ui.editor("Edit", "as it was"),
  brief: (ui) => ui.confirm("Quick?", "it ends", { timeout: 100 }),
};

ext.command("ask", {
  description: "Asks the user",
  complete: (prefix) => Object.keys(questions).filter((kind) => kind.startsWith(prefix)),
  handler: async (kind, ctx) => {
    const answer = await questions[kind](ctx.ui);
    ctx.ui.setStatus("asked", kind);
    ctx.ui.setTitle(`asked ${kind}`);
    ctx.ui.setWidget("answers", [String(answer)]);
    ctx.ui.notify(`${kind}: ${JSON.stringify(answer)}`);
  },
});

ext.run();
