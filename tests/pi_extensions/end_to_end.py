"""An extension of pi in the real binary: what it can do, and what it cannot do to bowline.

    BOWLINE_TEST_NODE=path/to/node end_to_end.py

Runs the tests of the files beside it whose names end in the same way, too. Needs Node 22.15 or newer, or Bun; `./test`
installs both.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from client import HERE, PATIENCE, Client, call, text_of


class EndToEnd(unittest.TestCase):
    def start(self, *arguments, **options):
        client = Client("-e", HERE / "everything.ts", *arguments, **options)
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        return client

    def test_tool_hook_and_command_work(self):
        client = self.start()
        [result] = client.run(call("greet", name="you", mood="bad"), {"text": "done"})
        self.assertEqual(text_of(result), f"Hello, you from {client.folder.name}/work")
        self.assertEqual(result["result"]["details"], {"mood": "bad"})
        client.ask("prompt", message="/report a  b")
        known = [json.loads(record["message"]) for record in client.seen if record.get("method") == "notify"]
        self.assertEqual(known, [{"args": "a  b", "entries": 1, "prompt": True, "model": "m1", "idle": True}])

    def test_provider_and_tool_of_an_extension_use_those_of_bowline(self):
        client = self.start("-e", HERE / "relay.ts", files={"work/note.txt": "a note"})
        models = json.loads(Path(client.folder.name, ".bowline", "models.json").read_text())
        [address] = [provider["baseUrl"] for provider in models["providers"].values()]
        client.send("prompt", message=f"/relay {address}")
        model, knows_more_models, commands = json.loads(client.notification())
        self.assertEqual((model, knows_more_models), ("relayed", True))
        self.assertLessEqual({"report", "relay"}, set(commands))
        [result] = client.run(call("read", path="note.txt"), {"text": "done"})
        self.assertEqual(text_of(result), "A NOTE")
        answers = [record["message"] for record in client.seen if record["type"] == "message_end"]
        self.assertEqual((answers[-1]["provider"], answers[-1]["content"]), ("relay", [{"type": "text", "text": "done"}]))

    def test_wrong_arguments_are_refused_before_the_tool_runs(self):
        client = self.start()
        [result] = client.run(call("greet", mood="bad"), {"text": "done"})
        self.assertTrue(result["isError"])
        self.assertIn("name", text_of(result))

    def test_dialog_decides_about_a_call(self):
        client = self.start()
        for confirmed, expected in ((False, "The user refused"), (True, "")):
            client.begin(call("bash", command="rm -rf nothing-there"), {"text": "done"})
            dialog = client.until(type="extension_ui_request", method="confirm")
            client.answer(dialog, confirmed=confirmed)
            result = client.until(type="tool_execution_end")
            self.assertIn(expected, text_of(result))
            self.assertEqual(result["isError"], not confirmed)
            client.until(type="agent_settled")

    def test_component_is_shown_only_to_clients_that_declare_it(self):
        client = self.start()
        client.send("prompt", message="/pick")
        self.assertEqual(client.notification(), "custom: undefined")
        client.ask("set_client_capabilities", render=True, columns=40, rows=10)
        client.send("prompt", message="/pick")
        shown = client.until(type="extension_ui_request", method="setWidget")
        self.assertTrue(shown["takesKeys"])
        self.assertEqual([line.strip() for line in shown["widgetLines"]], ["Pick one"])
        client.ask("widget_input", widgetKey=shown["widgetKey"], data="\x1b[B")
        while not any("key" in line for line in shown.get("widgetLines") or []):
            shown = client.until(type="extension_ui_request", method="setWidget")
        client.send("widget_input", widgetKey=shown["widgetKey"], data="\r")
        self.assertEqual(client.notification(), "custom: picked")

    def test_component_that_the_client_closes_has_no_result(self):
        client = self.start()
        client.ask("set_client_capabilities", render=True)
        client.send("prompt", message="/pick")
        shown = client.until(type="extension_ui_request", method="setWidget")
        client.send("widget_input", widgetKey=shown["widgetKey"], close=True)
        self.assertEqual(client.notification(), "custom: undefined")

    def test_killed_host_fails_the_call_and_comes_back(self):
        client = self.start()
        [result] = client.run(call("greet", name="die"), {"text": "done"})
        self.assertTrue(result["isError"])
        self.assertIn("exited", text_of(result))
        [result] = self.when_running(client, lambda: client.run(call("greet", name="again"), {"text": "done"}))
        self.assertIn("Hello, again", text_of(result))

    def test_killed_host_blocks_the_tool_that_it_guards(self):
        client = self.start()
        [result] = client.run(call("bash", command="kill the host"), {"text": "done"})
        self.assertTrue(result["isError"])
        self.assertIn("exited", text_of(result))
        [result] = self.when_running(client, lambda: client.run(call("bash", command="echo back"), {"text": "done"}))
        self.assertIn("back", text_of(result))

    def test_killed_host_withdraws_its_dialog_and_blocks_the_tool(self):
        client = self.start()
        client.begin(call("bash", command="rm -rf nothing-there"), {"text": "done"})
        dialog = client.until(type="extension_ui_request", method="confirm")
        found = subprocess.run(["pgrep", "-P", str(client.process.pid)], capture_output=True, text=True).stdout.split()
        hosts = [pid for pid in found if b"main.mjs" in Path("/proc", pid, "cmdline").read_bytes()]
        self.assertEqual(len(hosts), 1, found)
        os.kill(int(hosts[0]), signal.SIGKILL)
        result = client.until(type="tool_execution_end")
        self.assertTrue(result["isError"])
        self.assertIn("exited", text_of(result))
        client.until(type="agent_settled")
        # Nobody waits for the answer any more.
        client.answer(dialog, confirmed=True)
        [result] = self.when_running(client, lambda: client.run(call("greet", name="again"), {"text": "done"}))
        self.assertIn("Hello, again", text_of(result))

    def when_running(self, client, action):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            [extension] = client.ask("get_state")["data"]["extensions"]
            if extension["status"] == "running":
                return action()
            time.sleep(0.05)
        raise AssertionError(extension)

    def test_blocked_host_delays_no_answer(self):
        client = self.start()
        client.begin(call("greet", name="block"), {"text": "done"})
        client.until(type="tool_execution_start")
        start = time.monotonic()
        client.ask("get_state")
        self.assertLess(time.monotonic() - start, 5, "the host blocks for 10 s")
        client.ask("abort")
        self.assertLess(time.monotonic() - start, 8)

    def test_errors_that_nobody_caught_are_reported_once_and_survived(self):
        client = self.start()
        for kind, message in (("later", "thrown later"), ("reject", "rejected later")):
            client.send("prompt", message=f"/misbehave {kind}")
            error = client.until(type="extension_error")
            self.assertIn(message, error["error"])
            self.assertEqual(error["extensionPath"], str(HERE / "everything.ts"))
        client.ask("prompt", message="/misbehave exit")
        self.assertIn("greet", json.dumps(client.ask("get_state")["data"]["extensions"]))
        [result] = client.run(call("greet", name="you"), {"text": "done"})
        self.assertIn("Hello, you", text_of(result))

    def test_output_of_extensions_does_not_reach_the_protocol(self):
        client = self.start("--verbose")
        client.ask("prompt", message="/misbehave print")
        client.ask("get_state")
        errors = client.stop()
        self.assertIn("printed", errors)
        self.assertIn("written", errors)

    def test_extension_that_cannot_be_loaded_costs_only_itself(self):
        broken = {
            "broken/syntax.ts": "export default function (pi) { this is not TypeScript }\n",
            "broken/nothing.ts": "export const x = 1;\n",
            "broken/throws.ts": "export default function () { throw new Error('no luck'); }\n",
            "broken/import.ts": "import x from 'no-such-package';\nexport default function () { x(); }\n",
        }
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        paths = []
        for name, text in broken.items():
            path = Path(folder.name, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            paths += ["-e", path]
        client = self.start(*paths)
        [result] = client.run(call("greet", name="you"), {"text": "done"})
        self.assertIn("Hello, you", text_of(result))
        # A syntax error may be one that another loader can deal with, which is installed first.
        deadline = time.monotonic() + 2 * PATIENCE
        statuses = {"": "starting"}
        while "starting" in statuses.values() and time.monotonic() < deadline:
            listed = client.ask("get_state")["data"]["extensions"]
            statuses = {extension["name"]: extension["status"] for extension in listed}
            time.sleep(0.1)
        self.assertEqual(statuses.pop("everything"), "running")
        self.assertEqual(set(statuses.values()), {"failed"}, listed)
        reasons = {extension["name"]: extension.get("reason", "") for extension in listed}
        self.assertIn("no luck", reasons["throws"])
        self.assertIn("no-such-package", reasons["import"])


if __name__ == "__main__":
    everything = ["discover", "--start-directory", str(HERE), "--pattern", "*end_to_end.py"]
    unittest.main(module=None, argv=[sys.argv[0], *(sys.argv[1:] or everything)])
