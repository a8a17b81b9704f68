"""What an extension of pi sees and changes of a session, in the real binary.

    BOWLINE_TEST_NODE=path/to/node session_end_to_end.py
"""
import json
import tempfile
import unittest
from pathlib import Path

from client import HERE, Client, call, text_of

CONTEXT = "The password of the tests is swordfish."
SKILL = "---\nname: juggle\ndescription: Juggles numbers\n---\nJuggle.\n"


class Session(unittest.TestCase):
    def start(self, *arguments, files=()):
        files = {"work/AGENTS.md": CONTEXT, ".bowline/skills/juggle/SKILL.md": SKILL, **dict(files)}
        client = Client("-e", HERE / "inspector.ts", "--append-system-prompt", "Appended.", *arguments, files=files)
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        return client

    def shown(self, client, command):
        client.send("prompt", message=command)
        return json.loads(client.notification())

    def system(self, client):
        """The system prompt of the last request to the model."""
        system = client.requests()[-1]["body"]["system"]
        return system if isinstance(system, str) else "\n".join(block["text"] for block in system)

    def test_options_have_everything_that_the_prompt_is_made_of(self):
        client = self.start("--system-prompt", "Be a test.")
        options = self.shown(client, "/options")
        self.assertEqual(options["customPrompt"], "Be a test.")
        self.assertEqual(options["appendSystemPrompt"], "Appended.")
        self.assertEqual(options["toolSnippets"], {"verdict": "gives a verdict"})
        self.assertEqual(options["toolGuidelines"]["verdict"], ["Ask for a verdict once."])
        self.assertIn("edit", options["toolGuidelines"])
        self.assertLessEqual({"read", "bash", "edit", "write", "verdict"}, set(options["selectedTools"]))
        self.assertEqual((options["promptGuidelines"], options["sections"]), ([], {}))
        self.assertEqual(options["cwd"], f"{client.folder.name}/work")
        self.assertEqual(options["contextFiles"], [{"path": f"{client.folder.name}/work/AGENTS.md", "content": CONTEXT}])
        [skill] = options["skills"]
        folder = f"{client.folder.name}/.bowline/skills/juggle"
        self.assertEqual((skill["name"], skill["filePath"], skill["baseDir"]), ("juggle", f"{folder}/SKILL.md", folder))
        self.assertEqual((skill["disableModelInvocation"], skill["sourceInfo"]["scope"]), (False, "user"))

    def test_edits_in_place_are_shown_and_sent_for_one_run(self):
        edits = {
            "options.sections.style = 'IN VERSE'": (["<style>\nIN VERSE\n</style>"], []),
            "options.promptGuidelines.push('Rhyme.')": (["- Rhyme."], []),
            "options.toolSnippets.verdict = 'JUDGES'": (["verdict: JUDGES"], ["gives a verdict"]),
            "options.toolGuidelines.edit = ['EDIT GENTLY']": (["- EDIT GENTLY"], ["Use edit for changes"]),
            "options.appendSystemPrompt = 'OTHER'": (["OTHER"], ["Appended."]),
            "options.customPrompt = 'A POET.'": (["A POET.\n\nAppended."], ["You are bowline"]),
            "options.contextFiles[0].content = 'SALMON'": (["SALMON"], ["swordfish"]),
            "options.skills = []": ([], ["juggle"]),
            "options.selectedTools = ['read']": ([], ["gives a verdict", "Use edit for changes"]),
            "options.forceSystemPrompt = 'ALL OF IT'": (["ALL OF IT"], ["Appended.", "swordfish"]),
        }
        client = self.start()
        client.run({"text": "hi"})
        usual = self.system(client)
        for part in ("You are bowline", "gives a verdict", "Use edit for changes", "Appended.", "swordfish", "juggle"):
            self.assertIn(part, usual)
        for edit, (has, has_not) in edits.items():
            with self.subTest(edit):
                client.ask("prompt", message=f"/change {edit}")
                client.run({"text": "hi"})
                sent = self.system(client)
                [shown] = [record["message"] for record in client.seen if record.get("method") == "notify"][-1:]
                self.assertEqual(shown, sent)
                for part in has:
                    self.assertIn(part, sent)
                for part in has_not:
                    self.assertNotIn(part, sent)
        self.assertEqual(self.system(client), "ALL OF IT")
        client.ask("prompt", message="/change options.selectedTools = ['read']")
        client.run({"text": "hi"})
        self.assertEqual([tool["name"] for tool in client.requests()[-1]["body"]["tools"]], ["read"])
        client.ask("prompt", message="/change")
        client.run({"text": "hi"})
        self.assertEqual(self.system(client), usual)

    def test_each_extension_sees_what_those_before_it_have_changed(self):
        second = """export default (pi) => pi.on("before_agent_start", (event) => {
          const { sections } = event.systemPromptOptions;
          sections.style = (sections.style ?? "none") + (event.systemPrompt.includes("IN VERSE") ? " SHOWN" : "");
        });"""
        folder = self.start().folder.name
        path = Path(folder, "second.ts")
        path.write_text(second)
        client = self.start("-e", path)
        client.ask("prompt", message="/change options.sections.style = 'IN VERSE'")
        client.run({"text": "hi"})
        self.assertIn("<style>\nIN VERSE SHOWN\n</style>", self.system(client))

    def test_section_whose_name_is_no_tag_is_refused(self):
        client = self.start()
        client.ask("prompt", message="/change options.sections['a b'] = 'x'")
        client.run({"text": "hi"})
        errors = [record["error"] for record in client.seen if record["type"] == "extension_error"]
        self.assertTrue(errors and "cannot name a section" in errors[-1], errors)

    def test_tools_are_listed_with_their_origin_and_rules(self):
        client = self.start()
        client.ask("set_host_tools", tools=[{"name": "ring", "description": "Rings", "parameters": {"type": "object"}}])
        tools = {tool["name"]: tool for tool in self.shown(client, "/all-tools")}
        built_in = {"path": "<builtin:edit>", "source": "builtin", "scope": "temporary", "origin": "top-level"}
        self.assertEqual(tools["edit"]["sourceInfo"], built_in)
        self.assertTrue(tools["edit"]["promptGuidelines"])
        path = str(HERE / "inspector.ts")
        source = {"path": path, "source": "cli", "scope": "temporary", "origin": "top-level"}
        self.assertEqual(tools["verdict"]["sourceInfo"], source)
        self.assertEqual(tools["verdict"]["promptGuidelines"], ["Ask for a verdict once."])
        if "ring" in tools:
            self.assertEqual(tools["ring"]["sourceInfo"]["source"], "sdk")

    def test_events_of_an_answer_are_shown_as_the_provider_sends_them(self):
        source = """export default (pi) => {
          const seen = [];
          pi.on("provider_stream_event", (event) => { seen.push(event); });
          pi.on("cache_warming_decision", () => {});
          pi.registerCommand("streamed", { handler: (_, ctx) => ctx.ui.notify(JSON.stringify(seen)) });
        };"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "watcher.ts")
            path.write_text(source)
            client = self.start("-e", path)
            client.run({"text": "some words"})
            seen = self.shown(client, "/streamed")
        self.assertEqual({(event["provider"], event["api"], event["model"]) for event in seen}, {("mock", "anthropic-messages", "m1")})
        kinds = [event["data"]["type"] for event in seen]
        self.assertEqual((kinds[0], kinds[-1]), ("message_start", "message_stop"))
        self.assertIn("some words", "".join(event["data"].get("delta", {}).get("text", "") for event in seen))
        self.assertEqual([record for record in client.seen if record["type"] == "extension_error"], [])

    def test_call_of_a_model_has_the_temperature_and_the_choice_of_tools(self):
        source = """export default (pi) => pi.registerCommand("choose", { handler: async (_, ctx) => {
          const tools = [{ name: "t", description: "d", parameters: { type: "object" } }];
          const messages = [{ role: "user", content: "hi", timestamp: 0 }];
          const options = { temperature: 0.25, toolChoice: { type: "tool", name: "t" } };
          await ctx.modelRegistry.complete(ctx.modelRegistry.find("mock", "m1"), { messages, tools }, options);
          ctx.ui.notify("done");
        } });"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "chooser.ts")
            path.write_text(source)
            client = self.start("-e", path)
            client.send("prompt", message="/choose")
            self.assertEqual(client.notification(), "done")
        body = client.requests()[-1]["body"]
        self.assertEqual((body["temperature"], body["tool_choice"]), (0.25, {"type": "tool", "name": "t"}))

    def test_result_says_whether_the_tool_failed(self):
        client = self.start()
        for failed in (True, False):
            [result] = client.run(call("verdict", failed=failed), {"text": "done"})
            self.assertEqual((result["isError"], text_of(result)), (failed, "result"))

    def test_end_of_a_turn_edits_the_context_and_compacts(self):
        client = self.start()
        edit = {"type": "context_edit", "targetId": "answer", "replacement": {"content": [{"type": "text", "text": "FORGED"}]}}
        client.ask("prompt", message="/boundary " + json.dumps({"entries": [edit], "continue": False}))
        client.run({"text": "original words"})
        self.assertEqual([record for record in client.seen if record["type"] == "entry_appended"][-1]["entry"]["type"], "context_edit")
        client.run({"text": "hi"})
        sent = json.dumps(client.requests()[-1]["body"]["messages"])
        self.assertIn("FORGED", sent)
        self.assertNotIn('"text": "original words"', sent)
        for draft in ({**edit, "targetId": "nothing"}, {**edit, "replacement": {"content": 5}}, {**edit, "replacement": {}}):
            client.ask("prompt", message="/boundary " + json.dumps({"entries": [draft], "continue": False}))
            client.run({"text": "hi"})
            self.assertEqual(client.seen[-1]["type"], "agent_settled")
        problems = [record["error"] for record in client.seen if record["type"] == "extension_error"]
        self.assertEqual(len(problems), 3, problems)
        compaction = {"type": "compaction", "summary": "SUMMED UP", "firstKeptEntryId": None}
        client.ask("prompt", message="/boundary " + json.dumps({"entries": [compaction], "continue": False}))
        client.run({"text": "hi"})
        client.run({"text": "hi"})
        sent = json.dumps(client.requests()[-1]["body"]["messages"])
        self.assertIn("SUMMED UP", sent)
        self.assertNotIn("FORGED", sent)

    def test_system_message_of_a_request_can_be_another(self):
        client = self.start()
        client.ask("prompt", message="/system JUST THIS")
        client.run({"text": "hi"})
        self.assertEqual(self.system(client), "JUST THIS")

    def test_compaction_is_told_which_files_were_read_written_and_edited(self):
        client = self.start(files={"work/a.txt": "one\n"})
        edit = {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}
        client.run(call("read", path="a.txt"), call("edit", **edit), call("write", path="b.txt", content="b"), {"n": 4000, "size": 20})
        client.run({"text": "hi"})
        client.send("compact")
        self.assertEqual(json.loads(client.notification()), {"read": ["a.txt"], "written": ["b.txt"], "edited": ["a.txt"]})

    def test_instructions_replace_those_of_a_branch_summary(self):
        client = self.start()
        for replace in (False, True):
            client.run({"text": "an answer"})
            wish = {"customInstructions": "ONLY HAIKUS", "replaceInstructions": replace}
            self.assertEqual(self.shown(client, "/back " + json.dumps(wish)), {"cancelled": False})
            asked = json.dumps(client.requests()[-1]["body"]["messages"])
            self.assertIn("ONLY HAIKUS", asked)
            self.assertEqual("went back to an earlier point" in asked, not replace)


if __name__ == "__main__":
    unittest.main()
