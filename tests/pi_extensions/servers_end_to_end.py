"""MCP servers that extensions of pi register, in the real binary."""
import json
import subprocess
import time
import unittest

from client import HERE, PATIENCE, ROOT, Client, call, text_of

SERVER = ROOT / "tests" / "mcp" / "server.py"


class Servers(unittest.TestCase):
    def start(self, *arguments, files=()):
        client = Client("-e", HERE / "servers.ts", *arguments, files=files, variables={"MCP_SERVER": str(SERVER)})
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        return client

    def result_of(self, client, tool, **arguments):
        [result] = client.run(call(tool, **arguments), {"text": "done"})
        return result["isError"], text_of(result)

    def children(self, client):
        found = subprocess.run(["pgrep", "-P", str(client.process.pid), "-f", str(SERVER)], capture_output=True, text=True)
        return found.stdout.split()

    def test_tools_of_registered_servers_can_be_called(self):
        client = self.start()
        self.assertEqual(self.result_of(client, "mcp__early__echo", text="hello"), (False, "hello"))
        is_error, text = self.result_of(client, "mcp__early__folder")
        self.assertTrue(is_error, "a hidden tool is not offered")
        self.assertIn("mcp__early__folder", text)
        is_error, text = self.result_of(client, "mcp__early__list_mcp_resources")
        self.assertEqual((is_error, "demo://note" in text), (False, True))
        self.assertEqual([record for record in client.seen if record["type"] == "extension_error"], [])
        servers = self.children(client)
        self.assertEqual(len(servers), 2)
        client.stop()
        alive = subprocess.run(["ps", "-o", "pid=", "-p", ",".join(servers)], capture_output=True, text=True)
        self.assertEqual(alive.stdout, "")

    def test_servers_come_and_go_with_the_session(self):
        client = self.start()
        client.send("prompt", message="/server add late")
        self.assertEqual(client.notification(), "early described late")
        self.assertEqual(self.result_of(client, "mcp__late__echo", text="again"), (False, "again"))
        client.send("prompt", message="/server remove late")
        self.assertEqual(client.notification(), "early described")
        self.assertTrue(self.result_of(client, "mcp__late__echo", text="again")[0])
        deadline = time.monotonic() + PATIENCE
        while len(self.children(client)) > 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(len(self.children(client)), 2)
        # The factory runs again for another session, whose servers are the same.
        client.ask("new_session")
        self.assertEqual(self.result_of(client, "mcp__early__echo", text="new"), (False, "new"))

    def test_server_that_cannot_be_started_costs_only_itself(self):
        client = self.start()
        client.send("prompt", message="/server break bad")
        client.notification()
        error = client.until(type="extension_error", extensionPath="mcp:bad")
        self.assertIn("no-such-program", error["error"])
        client.send("prompt", message="/server add not/a/name")
        self.assertIn("letters, digits", client.notification())
        self.assertEqual(self.result_of(client, "mcp__early__echo", text="fine"), (False, "fine"))

    def test_server_that_the_user_describes_takes_precedence(self):
        described = {"command": "python3", "args": [str(SERVER)], "env": {"WHOSE": "the user's"}}
        client = self.start(files={".bowline/mcp.json": json.dumps({"mcpServers": {"described": described}})})
        self.assertEqual(self.result_of(client, "mcp__described__environment", name="WHOSE"), (False, "the user's"))
        self.assertIn("described of", client.stop())

    def test_no_mcp_means_these_servers_too(self):
        client = self.start("--no-mcp")
        self.assertTrue(self.result_of(client, "mcp__early__echo", text="hello")[0])
        self.assertEqual(self.children(client), [])
        self.assertIn("MCP servers are turned off", client.stop())
