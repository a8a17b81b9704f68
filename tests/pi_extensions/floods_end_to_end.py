"""Floods of records from an extension of pi: what they do to the others, to an abort and to the end.

    BOWLINE_TEST_NODE=path/to/node floods_end_to_end.py
"""
import json
import time
import unittest
from pathlib import Path

from client import HERE, PATIENCE, Client

CALM = 'export default (pi) => pi.registerCommand("calm", { handler: async (_args, ctx) => ctx.ui.notify("calm") });'
# Far more than is measured, so that a busy machine fails no test, and far less than a second's limit would cost.
SOON = 0.6


class Floods(unittest.TestCase):
    def start(self):
        client = Client("-e", HERE / "floods.ts", "-e", "../calm.ts", files={"calm.ts": CALM})
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        client.ask("get_state")
        return client

    def time(self, action):
        start = time.monotonic()
        action()
        return time.monotonic() - start

    def calm(self, client):
        client.send("prompt", message="/calm")
        while client.notification() != "calm":
            pass

    def test_flood_of_one_extension_does_not_slow_down_the_others(self):
        client = self.start()
        self.calm(client)
        client.send("prompt", message="/flood 3")
        time.sleep(1)
        times = [self.time(lambda: self.calm(client)) for _ in range(4)]
        self.assertLess(sorted(times)[1], SOON, times)
        problems = [record["extensionPath"] for record in client.seen if record["type"] == "extension_error"]
        self.assertEqual(set(problems), {str(HERE / "floods.ts")})
        # Nothing of what was taken in the limits comes in another order.
        numbers = [record["entry"]["data"]["number"] for record in client.seen if record["type"] == "entry_appended"]
        self.assertEqual(numbers, sorted(numbers))

    def test_abort_overtakes_a_flood_of_tiny_pieces(self):
        client = self.start()
        client.send("prompt", message="/tiny")
        client.notification()
        client.send("prompt", message="go")
        client.until(type="message_update")
        time.sleep(1)
        self.assertLess(self.time(lambda: client.ask("abort")), SOON)

    def test_end_of_input_in_a_flood_ends_in_order(self):
        client = self.start()
        client.run({"text": "hi"})
        client.send("prompt", message="/flood 5")
        client.until(type="entry_appended")
        time.sleep(0.5)
        client.process.stdin.close()
        self.assertEqual(client.process.wait(PATIENCE), 0)
        client.reader.join(PATIENCE)
        while not client.arrived.empty():
            client.seen.append(client.arrived.get())
        emitted = [record["entry"]["id"] for record in client.seen if record["type"] == "entry_appended"]
        [session] = Path(client.folder.name, ".bowline").rglob("sessions/**/*.jsonl")
        entries = [json.loads(line) for line in session.read_text().splitlines()]
        written = [entry["id"] for entry in entries if entry.get("customType") == "flood"]
        self.assertTrue(written)
        self.assertEqual(emitted, written)
        client.stop()


if __name__ == "__main__":
    unittest.main()
