"""What bowline asks: tools and addresses of the client, dialogs, approvals."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import os
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict, Union

from support import HERE, ROOT, WAIT, Asynchronous, bash, calls

from bowline_agent import Image, Scheme, Tool, ToolContext, ToolDefinitionError, ToolOutput, Ui
from bowline_agent.tool_schema import arguments_of, signature_of

if sys.version_info >= (3, 9):
    from typing import Annotated


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Options(TypedDict, total=False):
    deep: bool


def everything(
    text: str,
    number: int,
    color: Color,
    points: List[Point],
    ratio: float = 0.5,
    mode: Literal["a", "b"] = "a",
    extra: Optional[Dict[str, int]] = None,
    either: Union[int, str] = 0,
    path: Annotated[Path, "Where to look"] = Path("."),
    options: Optional[Options] = None,
    pair: Tuple[int, ...] = (),
    *,
    flag: bool = False,
) -> str:
    """Takes everything.

    More about it.

    Args:
        text: The text
            to use.
        number (int): How many.

    Returns:
        What it got.
    """
    return repr((text, number, color, points, ratio, mode, extra, either, path, options, pair, flag))


class Schemas(unittest.TestCase):
    def setUp(self) -> None:
        self.signature = signature_of(everything, ToolContext)

    def test_hints_and_docstring_become_a_schema(self) -> None:
        properties = self.signature.parameters["properties"]
        self.assertEqual(self.signature.description, "Takes everything.\n\nMore about it.")
        self.assertEqual(self.signature.parameters["required"], ["text", "number", "color", "points"])
        self.assertEqual(properties["text"], {"type": "string", "description": "The text to use."})
        self.assertEqual(properties["number"], {"type": "integer", "description": "How many."})
        self.assertEqual(properties["color"], {"enum": ["red", "blue"]})
        point = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}, "required": ["x"]}
        self.assertEqual(properties["points"], {"type": "array", "items": point})
        self.assertEqual(properties["mode"], {"enum": ["a", "b"], "default": "a"})
        self.assertEqual(properties["either"], {"type": ["integer", "string"], "default": 0})
        self.assertEqual(properties["path"], {"type": "string", "description": "Where to look"})
        self.assertEqual(properties["flag"], {"type": "boolean", "default": False})
        json.dumps(self.signature.parameters)

    def test_arguments_become_what_the_hints_say(self) -> None:
        given = {"text": "t", "number": 2.0, "color": "red", "points": [{"x": 1}], "path": "/a", "options": {"deep": True}, "pair": [1]}
        arguments = arguments_of(self.signature, given)
        self.assertEqual(arguments["points"], [Point(1)])
        self.assertEqual((arguments["number"], arguments["color"], arguments["path"]), (2, Color.RED, Path("/a")))
        self.assertEqual((arguments["options"], arguments["pair"]), ({"deep": True}, (1,)))

    def test_what_does_not_fit_is_named(self) -> None:
        good = {"text": "t", "number": 1, "color": "red", "points": []}
        for bad, message in (
            ({"number": "1"}, "number must be of the type integer"),
            ({"number": True}, "number must be"),
            ({"color": "green"}, "green"),
            ({"points": [{"x": "a"}]}, r"points\[0\].x"),
            ({"points": [{}]}, "x"),
            ({"mode": "c"}, "one of 'a', 'b'"),
            ({"nonsense": 1}, "unknown argument 'nonsense'"),
            ({"extra": {"a": "b"}}, "extra"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                arguments_of(self.signature, {**good, **bad})
        with self.assertRaisesRegex(ValueError, "'text' is missing"):
            arguments_of(self.signature, {})

    def test_functions_that_cannot_be_tools_are_refused_with_the_reason(self) -> None:
        def no_description(a: int) -> None: ...

        def many(*values: int) -> None:
            """Many."""

        def odd(value: complex) -> None:
            """Odd."""

        for function, message in ((no_description, "docstring"), (many, "values"), (odd, "complex"), (lambda: 1, "name")):
            with self.assertRaisesRegex(ToolDefinitionError, message):
                Tool(function)  # type: ignore[arg-type]

    def test_sphinx_docstrings_are_read(self) -> None:
        def search(query: str) -> None:
            """Searches.

            :param query: What to
                look for.
            :returns: nothing
            """

        signature = signature_of(search, ToolContext)
        self.assertEqual(signature.description, "Searches.")
        self.assertEqual(signature.parameters["properties"]["query"]["description"], "What to look for.")


class Tools(Asynchronous):
    async def result_of(self, function: Any, **arguments: Any) -> Dict[str, Any]:
        tool = function if isinstance(function, Tool) else Tool(function)
        async with self.client([calls(tool.name, **arguments), {"text": "ok"}], tools=[tool]) as client:
            result = await client.prompt_and_wait("hi")
        return next(message for message in result.messages if message["role"] == "toolResult")  # type: ignore[return-value]

    async def test_functions_and_coroutines_are_called(self) -> None:
        def add(a: int, b: int = 2) -> int:
            """Adds."""
            self.assertNotEqual(threading.current_thread(), threading.main_thread())
            return a + b

        async def join(parts: List[str]) -> str:
            """Joins."""
            await asyncio.sleep(0)
            return "-".join(parts)

        self.assertEqual((await self.result_of(add, a=1))["content"][0]["text"], "3")
        self.assertEqual((await self.result_of(join, parts=["a", "b"]))["content"][0]["text"], "a-b")

    async def test_failures_are_for_the_model(self) -> None:
        def fail(reason: str) -> None:
            """Fails."""
            raise RuntimeError(f"because of {reason}")

        result = await self.result_of(fail, reason="rain")
        self.assertEqual((result["isError"], result["content"][0]["text"]), (True, "because of rain"))
        result = await self.result_of(fail)
        self.assertEqual((result["isError"], result["content"][0]["text"]), (True, "the argument 'reason' is missing"))

    async def test_outputs_of_all_kinds(self) -> None:
        def picture() -> ToolOutput:
            """Draws."""
            return ToolOutput(["here:", Image(b"\x89PNG", "image/png")], details={"wide": 1})

        def table() -> Dict[str, Any]:
            """Lists."""
            return {"a": [1, None], "path": Path("/x")}

        def not_json() -> ToolOutput:
            """Breaks."""
            return ToolOutput("text", details={1, 2})

        def nothing() -> None:
            """Does nothing."""

        result = await self.result_of(picture)
        self.assertEqual([block["type"] for block in result["content"]], ["text", "image"])
        self.assertEqual(result["details"], {"wide": 1})
        self.assertEqual(json.loads((await self.result_of(table))["content"][0]["text"]), {"a": [1, None], "path": "/x"})
        result = await self.result_of(not_json)
        self.assertTrue(result["isError"], result)
        self.assertFalse((await self.result_of(nothing))["isError"])

    async def test_a_schema_of_ones_own(self) -> None:
        def any_arguments(context: ToolContext, **values: Any) -> Any:
            """Echoes."""
            return [context.name, values]

        tool = Tool(any_arguments, name="echo", description="Echoes.", parameters={"type": "object"})
        text = (await self.result_of(tool, a=1))["content"][0]["text"]
        self.assertEqual(json.loads(text), ["echo", {"a": 1}])

    async def test_progress_is_shown_from_any_thread(self) -> None:
        def slow(context: ToolContext) -> str:
            """Takes a while."""
            for number in range(3):
                context.update(f"step {number}")
                time.sleep(0.05)
            return "done"

        async with self.client([calls("slow"), {"text": "ok"}], tools=[slow]) as client:
            events = [event async for event in client.prompt("hi")]
        updates = [event["partialResult"]["content"] for event in events if event["type"] == "tool_execution_update"]
        self.assertIn([{"type": "text", "text": "step 2"}], updates)

    async def test_abort_cancels_coroutines_and_tells_threads(self) -> None:
        cancelled = {"coroutine": asyncio.Event(), "thread": threading.Event()}
        started = asyncio.Event()

        async def coroutine() -> None:
            """Waits."""
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled["coroutine"].set()
                raise

        def thread(context: ToolContext) -> None:
            """Waits."""
            if context.wait_cancelled(60) and context.cancelled:
                cancelled["thread"].set()

        step = {"toolCalls": [{"name": "thread", "arguments": {}}, {"name": "coroutine", "arguments": {}}]}
        async with self.client([step], tools=[coroutine, thread]) as client:
            run = client.prompt("hi")
            await asyncio.wait_for(started.wait(), WAIT)
            await client.abort()
            self.assertEqual((await run.result()).outcome, "aborted")
            await asyncio.wait_for(cancelled["coroutine"].wait(), WAIT)
            self.assertTrue(cancelled["thread"].wait(WAIT))

    async def test_a_tool_may_stop_the_client(self) -> None:
        client = self.client([calls("leave"), {"text": "ok"}])

        @client.tool
        async def leave() -> None:
            """Ends everything."""
            await client.stop()

        await client.start()
        pid = client.pid
        self.assertEqual((await asyncio.wait_for(client.prompt("hi").result(), WAIT)).outcome, "aborted")
        self.assertFalse(client.is_running)
        deadline = time.monotonic() + WAIT
        with self.assertRaises(ProcessLookupError):
            while time.monotonic() < deadline:
                os.kill(pid or 0, 0)
                await asyncio.sleep(0.01)

    async def test_tools_can_be_added_and_removed(self) -> None:
        def now() -> str:
            """Returns the time."""
            return "12:00"

        client = self.client([calls("now"), {"text": "ok"}])
        client.tool(now)
        async with client:
            self.assertIn("now", (await client.get_state())["tools"])
            await client.remove_tools("now")
            self.assertNotIn("now", (await client.get_state())["tools"])
            await client.add_tools(Tool(now, name="later"))
            self.assertIn("later", (await client.get_state())["tools"])
            with self.assertRaises(Exception):
                await client.add_tools(Tool(now, name="no good name!"))
            self.assertEqual(list(client._tools), ["later"])

    async def test_addresses_are_served(self) -> None:
        notes = {"notes://todo": "- milk"}

        async def write(url: str, content: str) -> None:
            notes[url] = content

        scheme = Scheme("notes", read=notes.__getitem__, write=write, description="notes")
        steps = [calls("read", path="notes://todo"), calls("write", path="notes://new", content="- bread"), calls("read", path="notes://none"), {"text": "ok"}]
        async with self.client(steps, schemes=[scheme]) as client:
            result = await client.prompt_and_wait("hi")
        texts = [message["content"][0]["text"] for message in result.messages if message["role"] == "toolResult"]
        self.assertIn("- milk", texts[0])
        self.assertEqual(notes["notes://new"], "- bread")
        self.assertIn("notes://none", texts[2])


class Dialogs(Asynchronous):
    def asking(self, **options: Any) -> Any:
        options = self.workspace.options(arguments=["--extension", str(HERE / "asking.py")], **options)
        options["env"]["SDK"] = str(ROOT / "sdk" / "python")
        from bowline_agent import AsyncBowline

        return AsyncBowline(**options)

    async def answers(self, client: Any) -> str:
        async with client:
            with client.subscribe("extension_ui_request") as requests:
                await client.prompt("/ask")
                async for request in requests:
                    if request["method"] == "notify":
                        return str(request["message"])
        raise AssertionError("nothing was shown")

    async def test_a_user_interface_answers(self) -> None:
        shown: List[str] = []

        class Terminal(Ui):
            def select(self, request: Any) -> str:
                return str(request["options"][1])

            async def confirm(self, request: Any) -> bool:
                return bool(request["message"] == "really")

            def input(self, request: Any) -> str:
                return "Ada"

            async def editor(self, request: Any) -> str:
                return str(request["prefill"]) + " and after"

            def notify(self, request: Any) -> None:
                shown.append(request["message"])

        answers = await self.answers(self.asking(ui=Terminal()))
        self.assertEqual(answers, "answers: ['b', True, 'Ada', 'before and after']")
        self.assertEqual(shown, [answers])

    async def test_without_a_user_interface_nothing_hangs(self) -> None:
        self.assertEqual(await self.answers(self.asking()), "answers: [None, False, None, None]")

    async def test_an_interface_that_fails_gives_no_answer(self) -> None:
        class Broken(Ui):
            def select(self, request: Any) -> str:
                raise RuntimeError("no terminal")

            def confirm(self, request: Any) -> Any:
                return "yes"

        with self.assertLogs("bowline_agent", "ERROR"):
            self.assertEqual(await self.answers(self.asking(ui=Broken())), "answers: [None, False, None, None]")


class Approvals(Asynchronous):
    STEPS = [bash("echo allowed >it.txt"), {"text": "ok"}]

    async def outcome(self, approve: Any, **options: Any) -> Tuple[bool, str]:
        async with self.client(self.STEPS, approve=approve, arguments=["--ask", "untrusted"], **options) as client:
            result = await asyncio.wait_for(client.prompt_and_wait("hi"), WAIT)
        self.assertTrue(result.ok)
        return (self.workspace.work / "it.txt").exists(), json.dumps(result.messages)

    async def test_a_yes_lets_the_call_run(self) -> None:
        requests = []

        async def approve(request: Any) -> bool:
            requests.append(request)
            return True

        self.assertEqual((await self.outcome(approve))[0], True)
        self.assertEqual(requests[0]["command"], "echo allowed >it.txt")

    async def test_everything_else_is_a_no(self) -> None:
        def fails(request: Any) -> bool:
            raise RuntimeError("no")

        for approve in (lambda request: False, lambda request: None, lambda request: "deny", None):
            self.assertEqual((await self.outcome(approve))[0], False)
        with self.assertLogs("bowline_agent", "ERROR"):
            self.assertEqual((await self.outcome(fails))[0], False)

    async def test_an_abort_withdraws_the_question(self) -> None:
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        async def approve(request: Any) -> bool:
            asked.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                withdrawn.set()
                raise
            return True

        async with self.client(self.STEPS, approve=approve, arguments=["--ask", "untrusted"]) as client:
            run = client.prompt("hi")
            await asyncio.wait_for(asked.wait(), WAIT)
            await client.abort()
            self.assertEqual((await run.result()).outcome, "aborted")
            await asyncio.wait_for(withdrawn.wait(), WAIT)


if __name__ == "__main__":
    unittest.main()
