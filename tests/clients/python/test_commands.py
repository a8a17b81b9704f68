"""Each command of the schema, with the real program. A command without a trial here fails."""

from __future__ import annotations

import inspect
import json
import os
import unittest
from typing import Any, Awaitable, Callable, Dict

from support import ROOT, Asynchronous, bash

from bowline_agent import AsyncBowline, Bowline, CommandFailed, Ui
from bowline_agent.protocol import COMMANDS
from bowline_agent.timeouts import LIMITS

Trial = Callable[["Commands", AsyncBowline], Awaitable[None]]
TRIALS: Dict[str, Trial] = {}
SCRIPT = [bash("echo kept >kept.txt", text="I write."), {"text": "Written."}]


def trial(function: Trial) -> Trial:
    TRIALS[function.__name__] = function
    return function


async def user_entry(client: AsyncBowline) -> str:
    await client.prompt_and_wait("first")
    return (await client.get_fork_messages())["messages"][0]["entryId"]


@trial
async def prompt(test: Commands, client: AsyncBowline) -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    attachment = {"type": "document", "fileName": "a.txt", "extractedText": "words"}
    run = client.prompt("hi", images=[image], attachments=[attachment])  # type: ignore[list-item]
    test.assertEqual((await run)["disposition"], "started")
    queued = client.prompt("more", streaming_behavior="followUp")
    test.assertEqual((await queued)["disposition"], "queued")
    result = await run.result()
    test.assertEqual((result.outcome, result.text), ("done", "Written."))
    test.assertEqual((await queued.result()).outcome, "done")


@trial
async def steer(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.steer("left"))["disposition"], "queued")


@trial
async def follow_up(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.follow_up("then"))["disposition"], "queued")


@trial
async def abort(test: Commands, client: AsyncBowline) -> None:
    run = client.prompt("hi")
    await client.abort()
    test.assertEqual((await run.result()).outcome, "aborted")


@trial
async def clear_queue(test: Commands, client: AsyncBowline) -> None:
    await client.steer("left")
    test.assertEqual(await client.clear_queue(), {"steering": ["left"], "followUp": []})


@trial
async def get_state(test: Commands, client: AsyncBowline) -> None:
    state = await client.get_state()
    test.assertFalse(state["isStreaming"])
    test.assertEqual(state["cwd"], str(test.workspace.work))


@trial
async def get_messages(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    roles = [message["role"] for message in (await client.get_messages())["messages"]]
    test.assertEqual(roles, ["user", "assistant", "toolResult", "assistant"])


@trial
async def get_commands(test: Commands, client: AsyncBowline) -> None:
    test.assertIsInstance((await client.get_commands())["commands"], list)


@trial
async def get_completions(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.get_completions("none", prefix="a"))["completions"], [])


@trial
async def get_protocol_info(test: Commands, client: AsyncBowline) -> None:
    info = await client.get_protocol_info()
    test.assertEqual(info["dialect"], "pi")
    test.assertEqual(sorted(info["commands"]), sorted(COMMANDS))


@trial
async def get_sandbox(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.get_sandbox(connections=True))["mode"], "full-access")


@trial
async def set_sandbox(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.set_sandbox(mode="read-only"))["mode"], "read-only")


@trial
async def set_model(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.set_model("scripted", "demo"))["id"], "demo")


@trial
async def cycle_model(test: Commands, client: AsyncBowline) -> None:
    test.assertIsNone(await client.cycle_model())


@trial
async def get_available_models(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual([model["provider"] for model in (await client.get_available_models())["models"]], ["scripted"])


@trial
async def get_login_providers(test: Commands, client: AsyncBowline) -> None:
    providers = {provider["id"]: provider for provider in (await client.get_login_providers())["providers"]}
    test.assertFalse(providers["anthropic"]["authenticated"])


@trial
async def login(test: Commands, client: AsyncBowline) -> None:
    with test.assertRaises(CommandFailed) as caught:
        await client.login("anthropic")
    test.assertEqual(caught.exception.code, "cancelled")

    class Typing(Ui):
        def input(self, request: Any) -> str:
            return "sk-typed"

    async with test.client(ui=Typing()) as other:
        test.assertEqual((await other.login("anthropic"))["providerId"], "anthropic")
    test.assertIn("sk-typed", (test.workspace.home / "auth.json").read_text())


@trial
async def set_thinking_level(test: Commands, client: AsyncBowline) -> None:
    await client.set_thinking_level("low")
    test.assertEqual((await client.get_state())["thinkingLevel"], "low")


@trial
async def cycle_thinking_level(test: Commands, client: AsyncBowline) -> None:
    before = (await client.get_state())["thinkingLevel"]
    level = await client.cycle_thinking_level()
    assert level is not None
    test.assertNotEqual(level["level"], before)


@trial
async def get_available_thinking_levels(test: Commands, client: AsyncBowline) -> None:
    test.assertIn("medium", (await client.get_available_thinking_levels())["levels"])


@trial
async def set_steering_mode(test: Commands, client: AsyncBowline) -> None:
    await client.set_steering_mode("all")
    test.assertEqual((await client.get_state())["steeringMode"], "all")


@trial
async def set_follow_up_mode(test: Commands, client: AsyncBowline) -> None:
    await client.set_follow_up_mode("all")
    test.assertEqual((await client.get_state())["followUpMode"], "all")


@trial
async def compact(test: Commands, client: AsyncBowline) -> None:
    with test.assertRaises(CommandFailed) as caught:
        await client.compact(custom_instructions="names")
    test.assertEqual(caught.exception.code, "nothing_to_do")


@trial
async def set_auto_compaction(test: Commands, client: AsyncBowline) -> None:
    await client.set_auto_compaction(False)
    test.assertFalse((await client.get_state())["autoCompactionEnabled"])


@trial
async def set_auto_retry(test: Commands, client: AsyncBowline) -> None:
    await client.set_auto_retry(False)
    test.assertFalse((await client.get_state())["autoRetryEnabled"])


@trial
async def abort_retry(test: Commands, client: AsyncBowline) -> None:
    test.assertIsNone(await client.abort_retry())


@trial
async def abort_bash(test: Commands, client: AsyncBowline) -> None:
    with client.subscribe("bash_execution_update") as updates:
        sleeping = test.task(client.bash("echo on; sleep 60"))
        await updates.__anext__()
        await client.abort_bash()
    test.assertTrue((await sleeping)["cancelled"])


@trial
async def new_session(test: Commands, client: AsyncBowline) -> None:
    before = (await client.get_state())["sessionId"]
    test.assertFalse((await client.new_session(parent_session="p"))["cancelled"])
    test.assertNotEqual((await client.get_state())["sessionId"], before)


@trial
async def switch_session(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    before = (await client.get_state())["sessionFile"]
    await client.new_session()
    await client.switch_session(before)
    test.assertEqual((await client.get_state())["sessionFile"], before)


@trial
async def fork(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.fork(await user_entry(client)))["text"], "first")


@trial
async def clone(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    await client.clone()
    test.assertEqual((await client.get_state())["messageCount"], 4)


@trial
async def get_fork_messages(test: Commands, client: AsyncBowline) -> None:
    test.assertTrue(await user_entry(client))


@trial
async def get_entries(test: Commands, client: AsyncBowline) -> None:
    entry = await user_entry(client)
    entries = await client.get_entries(since=entry)
    test.assertEqual(entries["entries"][0]["parentId"], entry)


@trial
async def get_tree(test: Commands, client: AsyncBowline) -> None:
    entry = await user_entry(client)
    tree = await client.get_tree(format="nested")
    test.assertIn(entry, json.dumps(tree))


@trial
async def navigate_tree(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.navigate_tree(await user_entry(client), summarize=False))["text"], "first")


@trial
async def set_label(test: Commands, client: AsyncBowline) -> None:
    entry = await user_entry(client)
    test.assertTrue((await client.set_label(entry, label="here"))["entryId"])


@trial
async def list_sessions(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    sessions = await client.list_sessions(scope="project", search="hi", limit=5)
    test.assertEqual(len(sessions["sessions"]), 1)
    test.assertIsNone(sessions["nextCursor"])


@trial
async def delete_session(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    before = (await client.get_state())["sessionFile"]
    await client.new_session()
    await client.delete_session(before)
    test.assertEqual((await client.list_sessions())["sessions"], [])


@trial
async def get_session_stats(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    test.assertEqual((await client.get_session_stats())["toolCalls"], 1)


@trial
async def export_html(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    page = test.workspace.root / "page.html"
    test.assertEqual((await client.export_html(output_path=str(page)))["path"], str(page))
    test.assertTrue(page.exists())


@trial
async def get_last_assistant_text(test: Commands, client: AsyncBowline) -> None:
    test.assertIsNone((await client.get_last_assistant_text())["text"])


@trial
async def set_session_name(test: Commands, client: AsyncBowline) -> None:
    await client.set_session_name("a name")
    test.assertEqual((await client.get_state())["sessionName"], "a name")


@trial
async def get_limits(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.get_limits())["run"]["used"]["turns"], 0)


@trial
async def set_limits(test: Commands, client: AsyncBowline) -> None:
    await client.set_limits(run={"turns": 1})
    result = await client.prompt_and_wait("hi")
    test.assertEqual((result.outcome, result.error_kind), ("failed", "too_many_turns"))


@trial
async def set_subagent_subscription(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.set_subagent_subscription("events"))["level"], "events")


@trial
async def get_subagents(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual((await client.get_subagents())["subagents"], [])


@trial
async def get_subagent_messages(test: Commands, client: AsyncBowline) -> None:
    with test.assertRaises(CommandFailed) as caught:
        await client.get_subagent_messages(subagent_id="none", from_byte=0)
    test.assertEqual(caught.exception.code, "invalid_argument")


@trial
async def get_changes(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    changes = await client.get_changes(diff=True)
    test.assertEqual([change["path"] for change in changes["runs"][0]["files"]], ["kept.txt"])


@trial
async def undo(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    test.assertEqual((await client.undo(dry_run=True))["restored"], ["kept.txt"])
    test.assertEqual((await client.undo(to={"run": 1}))["restored"], ["kept.txt"])
    test.assertFalse((test.workspace.work / "kept.txt").exists())


@trial
async def redo(test: Commands, client: AsyncBowline) -> None:
    await client.prompt_and_wait("hi")
    await client.undo(run=1)
    test.assertEqual((await client.redo(dry_run=False))["restored"], ["kept.txt"])
    test.assertTrue((test.workspace.work / "kept.txt").exists())


@trial
async def get_pending_changes(test: Commands, client: AsyncBowline) -> None:
    test.assertFalse((await client.get_pending_changes(diff=True))["enabled"])


@trial
async def accept_changes(test: Commands, client: AsyncBowline) -> None:
    with test.assertRaises(CommandFailed):
        await client.accept_changes(paths=["a.txt"])


@trial
async def discard_changes(test: Commands, client: AsyncBowline) -> None:
    with test.assertRaises(CommandFailed):
        await client.discard_changes(paths=["a.txt"])


@trial
async def set_host_tools(test: Commands, client: AsyncBowline) -> None:
    tool = {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}
    test.assertEqual(await client.set_host_tools([tool]), {"toolNames": ["now"]})  # type: ignore[list-item]


@trial
async def set_host_uri_schemes(test: Commands, client: AsyncBowline) -> None:
    test.assertEqual(await client.set_host_uri_schemes([{"scheme": "notes"}]), {"schemes": ["notes"]})


@trial
async def set_approvals(test: Commands, client: AsyncBowline) -> None:
    await client.set_approvals("untrusted")
    state = await client.get_state()
    test.assertEqual(state["approvals"]["ask"], "untrusted")


@trial
async def set_client_capabilities(test: Commands, client: AsyncBowline) -> None:
    await client.set_client_capabilities(changes=True)
    kinds = [event["type"] async for event in client.prompt("hi")]
    test.assertIn("run_changes", kinds)


@trial
async def widget_input(test: Commands, client: AsyncBowline) -> None:
    with test.assertRaises(CommandFailed) as caught:
        await client.widget_input("none", data="x")
    test.assertIn("none", caught.exception.error)


@trial
async def approval_response(test: Commands, client: AsyncBowline) -> None:
    await client.set_approvals("untrusted")
    await client.set_client_capabilities(approvals="record")
    with client.subscribe("approval_request") as requests:
        run = client.prompt("hi")
        request = await requests.__anext__()
        assert request["type"] == "approval_request"
        await client.approval_response(request["id"], decision="deny", message="Not today.")
    result = await run.result()
    test.assertIn("Not today.", json.dumps(result.messages))


async def bash_command(test: Commands, client: AsyncBowline) -> None:
    result = await client.bash("echo out; exit 3", exclude_from_context=True)
    test.assertEqual((result["output"], result["exitCode"]), ("out\n", 3))


TRIALS["bash"] = bash_command


class Commands(Asynchronous):
    def task(self, work: Any) -> Any:
        import asyncio

        return asyncio.ensure_future(work)

    def test_every_command_has_a_trial(self) -> None:
        self.assertEqual(sorted(TRIALS), sorted(COMMANDS))

    def test_every_command_is_a_method_with_the_fields_of_the_schema(self) -> None:
        definitions = json.loads((ROOT / "schema" / "pi.json").read_text())["$defs"]
        by_name = {
            body["properties"]["type"].get("const"): body
            for name, body in definitions.items()
            if name.endswith("Command") and "const" in body.get("properties", {}).get("type", {})
        }
        self.assertEqual(sorted(by_name), sorted(COMMANDS))
        for command, body in by_name.items():
            expected = {name.lower() for name in body["properties"]} - {"id", "type"}
            for client in (AsyncBowline, Bowline):
                parameters = inspect.signature(getattr(client, command)).parameters
                self.assertEqual({name.replace("_", "") for name in parameters} - {"self", "timeout"}, expected, command)
                self.assertIn("timeout", parameters)

    def test_limits_name_commands(self) -> None:
        self.assertLessEqual(set(LIMITS), set(COMMANDS))

    async def test_each_command(self) -> None:
        for name in COMMANDS:
            with self.subTest(name):
                self.workspace.remove()
                self.setUp()
                async with self.client(SCRIPT, cycle=True) as client:
                    await TRIALS[name](self, client)

    async def test_changes_wait_in_an_overlay(self) -> None:
        flags = ["--sandbox", "workspace-write", "--workspace", "overlay"]
        async with self.client(SCRIPT, arguments=flags) as client:
            try:
                await client.get_sandbox()
            except CommandFailed as failure:
                # A test that skips itself looks like one that has passed.
                if os.environ.get("BOWLINE_TEST_WITHOUT_SANDBOX") != "1":
                    raise
                self.skipTest(failure.error)
            await client.prompt_and_wait("hi")
            kept = self.workspace.work / "kept.txt"
            self.assertEqual([change["path"] for change in (await client.get_pending_changes())["changes"]], ["kept.txt"])
            self.assertFalse(kept.exists())
            await client.accept_changes(paths=["kept.txt"])
            self.assertEqual(kept.read_text(), "kept\n")


if __name__ == "__main__":
    unittest.main()
