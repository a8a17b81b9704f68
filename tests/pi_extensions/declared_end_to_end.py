"""Tools that return data and want their arguments kept to a schema, and runs that messages start, in the real binary."""
import json
import unittest
from pathlib import Path

from client import HERE, Client, call, text_of


class Declared(unittest.TestCase):
    def start(self):
        client = Client("-e", HERE / "declared.ts")
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        return client

    def seen(self, client):
        client.send("prompt", message="/seen")
        return json.loads(client.notification())

    def test_structured_content_reaches_programs_and_neither_the_model_nor_the_file(self):
        client = self.start()
        [result] = client.run(call("rows", count=2), {"text": "done"})
        self.assertEqual((text_of(result), result["result"]["structuredContent"]), ("2 rows, false", {"rows": [0, 1]}))
        self.assertEqual(self.seen(client), [{"rows": [0, 1]}] * 2)
        [result] = client.run(call("total"), {"text": "done"})
        self.assertEqual(text_of(result), "6 rows")
        self.assertNotIn("structuredContent", result["result"])
        self.assertNotIn("structuredContent", json.dumps(client.requests()))
        file = client.ask("get_state")["data"]["sessionFile"]
        self.assertIn("2 rows", Path(file).read_text())
        self.assertNotIn("structuredContent", Path(file).read_text())

    def test_structured_content_goes_with_the_content_that_an_extension_replaces(self):
        client = self.start()
        [result] = client.run(call("rows", count=2, name="secret"), {"text": "done"})
        self.assertEqual(result["result"], {"content": [{"type": "text", "text": "redacted"}], "details": {}})
        self.assertEqual(self.seen(client), [{"rows": [0, 1]}, None])

    def test_providers_are_asked_to_keep_arguments_to_their_schema(self):
        client = self.start()
        client.run({"text": "done"})
        self.assertEqual(self.declared(client, "rows").get("strict"), None)
        self.assertTrue(client.ask("set_model", provider="strict", modelId="m")["success"])
        [result] = client.run(call("rows", count=1, name=None), {"text": "done"})
        self.assertEqual(text_of(result), "1 rows, false", "null stands for what is absent")
        tool = self.declared(client, "rows")
        self.assertIs(tool["strict"], True)
        self.assertEqual(sorted(tool["input_schema"]["required"]), ["count", "name"])
        self.assertEqual(tool["input_schema"]["properties"]["name"], {"anyOf": [{"type": "string"}, {"type": "null"}]})
        self.assertNotIn("strict", self.declared(client, "total"))

    def test_tool_that_requires_it_fails_the_request_where_it_cannot_be_had(self):
        client = self.start()
        client.ask("prompt", message="/insist")
        client.begin({"text": "done"})
        client.until(type="agent_settled")
        errors = [record["message"].get("errorMessage") for record in client.seen if record["type"] == "message_end"]
        self.assertIn("The tool insisting requires", errors[-1])
        client.ask("set_model", provider="strict", modelId="m")
        client.run({"text": "done"})
        self.assertIs(self.declared(client, "insisting")["strict"], True)

    def test_message_that_starts_a_run_is_shown_before_it(self):
        client = self.start()
        client.send("prompt", message="/wake up")
        client.until(type="agent_settled")
        [request] = client.requests()
        sent = json.dumps(request["body"]["messages"])
        self.assertLess(sent.index("up"), sent.index("alarm has rung"))
        self.assertIn("The prompt: undefined. Be awake.", json.dumps(request["body"]["system"]))
        self.assertEqual([record for record in client.seen if record["type"] == "extension_error"], [])

    def declared(self, client, name):
        """Returns how the model was told of a tool."""
        return next(tool for tool in client.requests()[-1]["body"]["tools"] if tool["name"] == name)


if __name__ == "__main__":
    unittest.main()
