"""Virtual models that extensions of pi register, in the real binary."""
import json
import unittest
from pathlib import Path

from client import HERE, NODE, Client, call


class VirtualModels(unittest.TestCase):
    def start(self, *arguments, route="", model="router/auto:low", **options):
        client = Client("-e", HERE / "router.ts", *arguments, model=model, variables={"ROUTE": route}, **options)
        self.addCleanup(lambda: client.model.poll() is None and client.stop())
        return client

    def seen(self, client):
        client.send("prompt", message="/seen")
        return json.loads(client.notification())

    def answers(self, client):
        messages = client.ask("get_messages")["data"]["messages"]
        return [message for message in messages if message["role"] == "assistant"]

    def entries(self, client, type):
        return [entry for entry in client.ask("get_entries")["data"]["entries"] if entry["type"] == type]

    def test_router_chooses_the_model_of_each_request(self):
        client = self.start()
        state = client.ask("get_state")["data"]
        client.run(call("ls", path="."), {"text": "listed"})
        state = client.ask("get_state")["data"]
        self.assertEqual((state["model"]["provider"], state["model"]["id"], state["thinkingLevel"]), ("router", "auto", "low"))
        self.assertEqual([request["body"]["model"] for request in client.requests()], ["m1", "m1"])
        first, second = self.answers(client)
        self.assertEqual([(answer["provider"], answer["model"]) for answer in (first, second)], [("mock", "m1")] * 2)
        # m1 does not think.
        self.assertEqual(second["thinkingLevel"], "off")
        self.assertGreater(second["usage"]["cost"]["total"], 0)
        user, continuation = self.seen(client)
        self.assertEqual((user["reason"], user["thinkingLevel"], user["selected"]), ("user", "low", "auto"))
        self.assertEqual((user["roles"], user.get("previous"), user.get("state")), ("system user", None, None))
        self.assertEqual((continuation["reason"], continuation["previous"]), ("continuation", "m1"))
        self.assertEqual((continuation["roles"], continuation["state"]), ("system user assistant toolResult", {"count": 1}))
        # The chosen level is the router's input, and the state is in the session.
        client.ask("set_thinking_level", level="high")
        client.run({"text": "thought"})
        self.assertEqual(client.requests()[-1]["body"]["model"], "m2")
        self.assertEqual(self.answers(client)[-1]["thinkingLevel"], "high")
        [again] = self.seen(client)
        self.assertEqual((again["state"], again["previousLevel"]), ({"count": 1}, "off"))
        written = [entry["data"] for entry in self.entries(client, "custom") if entry["customType"] == "pi.virtual-model-state"]
        self.assertEqual(written, [{"provider": "router", "modelId": "auto", "state": {"count": count}} for count in (1, 2)])
        usage = client.ask("get_session_stats")["data"]["contextUsage"]
        self.assertEqual(usage["contextWindow"], 200000, "the window of the model that answered")

    def test_virtual_models_are_listed_and_can_be_chosen(self):
        client = self.start(model="mock/m1")
        listed = {(model["provider"], model["id"]): model for model in client.ask("get_available_models")["data"]["models"]}
        auto = listed["router", "auto"]
        self.assertEqual((auto["name"], auto["api"], auto["reasoning"]), ("Auto", "pi-virtual", True))
        self.assertEqual(auto["thinkingLevelMap"]["minimal"], None)
        self.assertIn(("mock", "auto"), listed)
        answer = client.ask("set_model", provider="mock", modelId="auto")
        self.assertTrue(answer["success"], answer)
        client.run({"text": "hi"})
        self.assertEqual(client.requests()[-1]["body"]["model"], "m1")
        changes = [(entry["provider"], entry["modelId"]) for entry in self.entries(client, "model_change")]
        self.assertEqual(changes[-1], ("mock", "auto"))

    def test_failed_request_is_routed_again(self):
        settings = {"nodePath": NODE, "retry": {"baseDelayMs": 1}}
        client = self.start(files={".bowline/settings.json": json.dumps(settings)})
        client.run({"status": 529, "times": 1, "text": "at last"})
        first, retry = self.seen(client)
        self.assertEqual((first["reason"], retry["reason"]), ("user", "retry"))
        self.assertIn("verloaded", retry["failed"])
        self.assertEqual(retry["roles"], "system user")
        self.assertEqual(self.answers(client)[-1]["content"], [{"type": "text", "text": "at last"}])

    def test_choice_that_cannot_be_used_ends_the_run_with_its_reason(self):
        for route, expected in (
            ("throw", "the router has no idea"),
            ("again", "router/other, which is no model"),
            ("unknown", "mock/m9, which is no model"),
        ):
            with self.subTest(route):
                client = self.start(route=route)
                client.run({"text": "never"})
                [answer] = self.answers(client)
                self.assertEqual((answer["stopReason"], answer["provider"], answer["model"]), ("error", "router", "auto"))
                self.assertIn(expected, answer["errorMessage"])

    def test_abort_waits_for_no_router(self):
        client = self.start(route="wait")
        client.begin({"text": "never"})
        client.until(type="turn_start")
        client.ask("abort")
        [answer] = self.answers(client)
        self.assertEqual((answer["stopReason"], answer["model"]), ("aborted", "auto"))

    def test_killed_host_costs_an_attempt(self):
        client = self.start(route="crash")
        client.run(call("ls", path="."), {"text": "after all"})
        last = self.answers(client)[-1]
        self.assertEqual((last["stopReason"], last["model"]), ("stop", "m1"), last)

    def test_choice_outlives_the_process_and_its_extension(self):
        client = self.start()
        client.run({"text": "first"})
        written = Path(client.ask("get_state")["data"]["sessionFile"]).read_text()
        other = self.start("--session", "../kept.jsonl", model=None, files={"kept.jsonl": written})
        other.ask("get_commands")
        model = other.ask("get_state")["data"]["model"]
        self.assertEqual((model["provider"], model["id"]), ("router", "auto"))
        other.ask("prompt", message="/forget")
        refused = other.ask("prompt", message="hi")
        self.assertIn("router/auto is not there", refused["error"])

    def test_conversation_is_made_to_fit_the_model_that_is_chosen(self):
        client = self.start(route="tiny")
        for _ in range(2):
            client.run({"text": "a long answer " * 10000, "usage": {"in": 60_000, "out": 100}})
        client.ask("set_thinking_level", level="high")
        start = len(client.seen)
        client.run({"text": "fits now"})
        kinds = [record["type"] for record in client.seen[start:]]
        self.assertIn("compaction_end", kinds)
        self.assertLess(kinds.index("turn_start"), kinds.index("compaction_start"))
        self.assertEqual(client.requests()[-1]["body"]["model"], "t1")
        last = self.answers(client)[-1]
        self.assertEqual((last["stopReason"], last["provider"], last["model"]), ("stop", "tiny", "t1"))

    def test_calls_outside_of_the_run_are_direct(self):
        client = self.start()
        client.send("prompt", message="/ask")
        self.assertEqual(json.loads(client.notification()), ["mock", "m1", [{"type": "text", "text": "aside"}]])
        [direct] = self.seen(client)
        self.assertEqual((direct["reason"], direct["roles"], direct.get("state")), ("direct", "user", None))
        client.run({"text": "a long answer " * 20000})
        client.run({"text": "another"})
        self.seen(client)
        answer = client.ask("compact")
        self.assertTrue(answer["success"], answer)
        self.assertEqual({asked["reason"] for asked in self.seen(client)}, {"direct"})


if __name__ == "__main__":
    unittest.main()
