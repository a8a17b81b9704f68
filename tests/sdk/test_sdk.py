"""Tests of the SDKs against bowline's side of the protocol, played by `engine.py`.

The same tests run for each language; the extensions `everything.*` do the same. Every record that they send is checked
against the protocol's schema, if the package jsonschema is there. `./test` names the classes to run: PythonSdk and
TypeScriptSdk; `./test interop` runs the others.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

from engine import Engine, HookFailed, Json

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

def validator() -> Callable[[str, Json], None]:
    """Returns a function that checks a value against a definition of the schema."""
    try:
        import jsonschema  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        print("test_sdk: records are not checked against the schema: there is no jsonschema", file=sys.stderr)
        return lambda name, value: None
    schema = json.loads((ROOT / "schema" / "extension.json").read_text())
    definitions = schema["$defs"]

    def variants(name: str) -> Iterator[str]:
        for variant in definitions[name].get("oneOf", []):
            yield variant["$ref"].rpartition("/")[2]

    def is_for(name: str, value: Json) -> bool:
        properties = definitions[name]["properties"]
        return all(value.get(field) == properties.get(field, {}).get("const") for field in ("type", "method"))

    validators: Dict[str, Any] = {}

    def validate(name: str, value: Json) -> None:
        if name == "FromExtension":
            # The message for one variant is readable, that for all is not.
            [name] = [variant for variant in variants(name) if is_for(variant, value)]
        unknown = set(value) - set(definitions[name].get("properties", value))
        assert not unknown, f"{name} has no {unknown}: {value}"
        if name not in validators:
            one = {"$ref": f"#/$defs/{name}", "$defs": definitions}
            validators[name] = jsonschema.Draft202012Validator(one)
        validators[name].validate(value)

    return validate


VALIDATE = validator()

MODEL_ANSWERS: Dict[str, Any] = {
    "model.list": [{"id": "m", "provider": "p"}],
    "model.auth": {"apiKey": "key"},
    "model.complete": {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
}


class SdkTests:
    """The tests; a subclass names the language."""

    command: List[str]

    def engine(self, **answers: Any) -> Engine:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)  # type: ignore[attr-defined]
        engine = Engine(self.command, Path(folder.name), answers)
        self.addCleanup(self.check, engine)  # type: ignore[attr-defined]
        return engine

    def check(self, engine: Engine) -> None:
        """Checks the records of an extension, and the results of hooks and tools, against the schema."""
        for record in engine.records:
            VALIDATE("FromExtension", record)
        for identity, kind in engine.asked.items():
            for record in engine.of("result", id=identity):
                if kind is not None and isinstance(record.get("result"), dict):
                    VALIDATE(kind, record["result"])

    def running(self, **answers: Any) -> Engine:
        engine = self.engine(**{name.replace("_", "."): value for name, value in answers.items()})
        engine.start()
        return engine

    def test_registration_names_everything(self) -> None:
        with self.engine() as engine:
            record = engine.start()
            assert record["protocol"] == 1 and record["name"] == "everything" and record["version"] == "1.2.3", record
            [record] = record["extensions"]
            assert record["wants"] == ["entries"]
            hooks = {hook["event"]: hook for hook in record["hooks"]}
            assert hooks["tool_call"] == {"event": "tool_call", "await": True, "filter": {"toolName": ["bash"]}}, hooks
            assert hooks["message_update"] == {"event": "message_update", "await": False}
            assert hooks["agent_end"]["await"] is False and hooks["bus"]["await"] is False
            tools = {tool["name"]: tool for tool in record["tools"]}
            assert tools["add"] == {
                "name": "add",
                "label": "add",
                "description": "Adds two numbers.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "a": {"type": "integer", "description": "The first number"},
                        "b": {"type": "integer", "default": 2},
                        "kind": {"enum": ["int", "float"], "type": "string", "default": "int"},
                        "notes": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["a"],
                    "additionalProperties": False,
                },
                "promptSnippet": "add: adds numbers",
                "executionMode": "sequential",
            }, tools["add"]
            assert tools["raw"]["parameters"] == {"type": "object", "properties": {"x": {"type": "string"}}}
            commands = {command["name"]: command for command in record["commands"]}
            assert commands["dialogs"] == {"name": "dialogs", "description": "Opens every dialog", "hasCompletion": True}
            assert commands["session"] == {"name": "session", "description": "Uses the session."}
            assert record["flags"] == [
                {"name": "shout", "type": "boolean", "description": "Greets loudly", "default": False},
                {"name": "style", "type": "string", "description": "How to greet", "default": "plain"},
            ], record["flags"]
            providers = {provider["name"]: provider for provider in record["providers"]}
            assert providers["parrot"]["stream"] is True and providers["parrot"]["refresh"] is True
            assert providers["remote"]["stream"] is False and providers["remote"]["baseUrl"] == "http://127.0.0.1:1"

    def test_flags_and_session_are_known_in_handlers(self) -> None:
        with self.engine() as engine:
            engine.start(flags={"shout": True})
            engine.send({"type": "state", "patch": {"flags": {"shout": True, "style": "fancy"}}})
            assert engine.hook("session_start", reason="startup") is None
            message = "startup true fancy /project s1"
            [(method, params)] = engine.notified()
            assert (method, params["type"]) == ("ui.notify", "warning")
            assert params["message"].lower() == message, params

    def test_hook_waits_for_the_dialog_it_opens(self) -> None:
        with self.running(ui_confirm=lambda params: params["message"] == "rm ok") as engine:

            def bash(command: str) -> Any:
                return engine.hook("tool_call", toolName="bash", toolCallId="c", input={"command": command})

            assert bash("ls") is None
            assert bash("rm ok") is None
            assert bash("rm x") == {"block": True, "reason": "refused by the user"}

    def test_handlers_of_one_event_are_chained(self) -> None:
        with self.running() as engine:

            def bash(command: str) -> Any:
                return engine.hook("tool_call", toolName="bash", toolCallId="c", input={"command": command})

            assert bash("edit") == {"input": {"command": "edit # edited"}}
            assert bash("edit chain") == {"input": {"command": "edit chain # edited", "seen": True}}
            assert engine.hook("input", text="plain", source="rpc") is None
            assert engine.hook("input", text="?hi!", source="rpc") == {"action": "transform", "text": "hi."}
            assert engine.hook("input", text="/handled", source="rpc") == {"action": "handled"}
            entries = [{"type": "custom", "customType": name} for name in ("a", "b")]
            assert engine.hook("turn_end", entries=[]) == {"entries": entries, "continue": True}

    def test_edits_in_place_are_results(self) -> None:
        with self.running() as engine:
            headers = engine.hook("before_provider_headers", headers={"x-old": "0", "keep": "1"})["headers"]
            assert headers == {"x-old": None, "keep": "1", "x-new": "1"}, headers
            assert engine.hook("before_provider_request", payload={"model": "m"}) == {"model": "m", "extra": 1}
            assert engine.hook("session_before_switch", reason="new") == {"cancel": True}

    def test_hook_that_nobody_handles_has_no_result(self) -> None:
        with self.running() as engine:
            assert engine.hook("tool_call", toolName="read", toolCallId="c", input={"path": "x"}) is None
            assert engine.hook("unknown_hook") is None

    def test_exception_in_a_hook_is_its_answer(self) -> None:
        with self.running() as engine:
            try:
                engine.hook("tool_call", toolName="bash", toolCallId="c", input={"command": "fail"})
                raise AssertionError("the hook succeeded")
            except HookFailed as error:
                assert str(error) == "the gate broke"
            assert "gate" in engine.log()
            assert engine.hook("input", text="still there", source="rpc") is None

    def test_result_of_the_wrong_type_is_an_error(self) -> None:
        with self.running() as engine:
            try:
                engine.hook("user_bash", command="ls", excludeFromContext=False, cwd="/")
                raise AssertionError("the hook succeeded")
            except HookFailed as error:
                assert "user_bash" in str(error)

    def test_events_are_told_without_an_answer(self) -> None:
        with self.running() as engine:
            update = {"type": "text_delta", "contentIndex": 0, "delta": "abc"}
            engine.send({"type": "event", "event": {"type": "message_update", "assistantMessageEvent": update}})
            engine.until(lambda record: record["type"] == "log" and record["message"] == "abc")
            engine.send({"type": "event", "event": {"type": "bus", "channel": "greetings", "data": "x"}})
            engine.until(lambda record: record["type"] == "log" and record["message"] == "got x")
            engine.send({"type": "event", "event": {"type": "agent_end", "messages": []}})
            error = engine.until(lambda record: record["type"] == "error")
            assert error["message"] == "nobody waits for this"
            assert not engine.of("result")

    def test_tools_return_text_json_images_and_errors(self) -> None:
        with self.running() as engine:
            assert engine.tool("add", a=1)["result"]["content"] == [{"type": "text", "text": "3"}]
            floats = engine.tool("add", a=1, b=3, kind="float", notes=["n"])["result"]["content"][0]["text"]
            assert floats.startswith("4.0"), floats
            shown = json.loads(engine.tool("raw", x="y")["result"]["content"][0]["text"])
            assert shown == {"got": {"x": "y"}, "tools": ["read", "bash"]}
            words, image = engine.tool("picture")["result"]["content"]
            assert words == {"type": "text", "text": "a pixel"}
            assert image["mimeType"] == "image/png" and image["data"].startswith("iVBORw0KGgo"), image
            assert engine.tool("fail")["error"]["message"] == "it did not work"
            assert "argument" in engine.tool("add", b=1)["error"]["message"]
            assert "argument" in engine.tool("add", a=1, c=1)["error"]["message"]
            assert "JSON" in engine.tool("unserializable")["error"]["message"]
            assert "no tool" in engine.tool("absent")["error"]["message"]

    def test_cancelled_tool_shows_progress_and_ends(self) -> None:
        with self.running() as engine:
            for name in ("wait", "wait_async"):
                call = engine.begin("tool", name=name, toolCallId="c1", args={})
                update = engine.until(lambda record: record["type"] == "update" and record["id"] == call)
                assert update["partial"]["content"] == [{"type": "text", "text": "waiting"}]
                engine.send({"type": "cancel", "id": call, "reason": "abort"})
                record = engine.result(call)
                if name == "wait":
                    assert record["result"]["details"] == {"cancelled": True} and record["result"]["terminate"] is True
                    assert record["result"]["usage"]["cost"]["total"] == 0.5
                else:
                    assert "cancelled" in record["error"]["message"], record

    def test_cancel_resolves_an_open_dialog(self) -> None:
        with self.running() as engine:
            hook = engine.begin(
                "hook",
                event={"type": "tool_call", "toolName": "bash", "toolCallId": "c", "input": {"command": "rm x"}},
                deadlineMs=1,
            )
            request = engine.until(lambda record: record["type"] == "request")
            engine.send({"type": "cancel", "id": hook, "reason": "timeout"})
            record = engine.result(hook)
            assert record.get("result", {}).get("block") or "cancelled" in record["error"]["message"], record
            engine.send({"type": "response", "id": request["id"], "result": True})
            assert engine.hook("input", text="x", source="rpc") is None

    def test_stuck_handler_holds_up_nothing(self) -> None:
        with self.running() as engine:
            stuck = engine.begin("tool", name="stuck", toolCallId="c1", args={})
            engine.until(lambda record: record["type"] == "update" and record["id"] == stuck)
            assert engine.tool("add", a=1)["result"]["content"][0]["text"] == "3"
            assert engine.close() == 0

    def test_standard_output_is_only_the_protocol(self) -> None:
        with self.running() as engine:
            result = engine.tool("noisy")
            assert result["result"]["content"][0]["text"].startswith("read 0 bytes"), result
            assert engine.tool("add", a=1)["result"]["content"][0]["text"] == "3"
            assert engine.close() == 0
            for line in ("printed while loading", "printed", "written", "echoed"):
                assert line in engine.log(), line
            assert engine.bad_lines == []

    def test_dialogs_and_displays(self) -> None:
        answers = {"ui_select": "b", "ui_confirm": True, "ui_input": "", "ui_editor": None}
        with self.running(**answers) as engine:
            assert "error" not in engine.call("command", name="dialogs", args="x  y ")
            asked = {record["method"]: record["params"] for record in engine.of("request")}
            assert asked == {
                "ui.select": {
                    "title": "Pick",
                    "options": ["a", "b"],
                    "optionDetails": [{}, {"description": "the second"}],
                    "timeout": 1500,
                },
                "ui.confirm": {"title": "Sure?", "message": "really"},
                "ui.input": {"title": "Name", "placeholder": "text"},
                "ui.editor": {"title": "Edit", "prefill": "line", "promptStyle": True},
            }, asked
            status, *others = engine.notified()
            assert status[1]["text"].lower().replace("null", "none") == "x  y : b, yes, , none", status
            assert others == [
                ("ui.setStatus", {"key": "k"}),
                ("ui.setWidget", {"key": "w", "lines": ["l"], "placement": "belowEditor"}),
                ("ui.setTitle", {"title": "t"}),
                ("ui.setEditorText", {"text": "e"}),
                ("ui.openUrl", {"url": "https://example.com", "instructions": "Log in"}),
            ], others
            assert engine.call("complete", command="dialogs", prefix="t")["result"] == ["tone", {"value": "ttwo"}]

    def test_session_methods(self) -> None:
        happened = {"cancelled": False}
        answers = {
            "session_entries": {"entries": [{}, {}], "leafId": "e9"},
            "session_context": {"systemPrompt": "", "messages": [{}]},
            "session_waitIdle": None,
            "session_new": {"cancelled": True},
            "session_fork": happened,
            "session_switch": happened,
            "session_navigate": happened,
            "session_reload": None,
            "tool_execute": {"content": [{}], "isError": False},
            "exec": {"stdout": "", "stderr": "", "code": 7, "killed": False, "truncated": False},
            "agent_compact": {"summary": "abc", "firstKeptEntryId": None, "tokensBefore": 1},
            "settings_get": "on",
        }
        with self.running(**answers) as engine:
            engine.send({"type": "state", "patch": {}, "entries": [{"type": "x"}]})
            record = engine.call("command", name="session", args="")
            assert "error" not in record, record
            sent = dict(engine.notified())
            assert sent["session.sendMessage"] == {
                "message": {
                    "customType": "note",
                    "content": [{"type": "text", "text": "hello"}],
                    "display": False,
                    "details": {"n": 1},
                },
                "deliverAs": "followUp",
                "triggerTurn": True,
            }
            user = sent["session.sendUserMessage"]
            assert [part["type"] for part in user["content"]] == ["text", "image"]
            assert user["deliverAs"] == "steer" and user["expandPromptTemplates"] is True
            assert sent["session.appendEntry"] == {"customType": "count", "data": {"n": 2}}
            assert sent["session.setLabel"] == {"entryId": "e1"} and sent["tools.setActive"] == {"names": ["read"]}
            assert sent["model.set"] == {"provider": "p", "modelId": "m"} and sent["thinking.set"] == {"level": "high"}
            assert sent["bus.emit"] == {"channel": "news", "data": [1]}
            assert sent["agent.abort"] == {} and sent["agent.shutdown"] == {}
            shown = sent["ui.notify"]["message"]
            assert shown == "[false, true, true, true]; [2, 1, 1, 7, 3]; [named, [read], high, on, 1]", shown
            asked = {record["method"]: record["params"] for record in engine.of("request")}
            assert asked["exec"] == {"command": "git", "args": ["status"], "timeout": 2000}
            assert asked["session.switch"] == {"sessionPath": "/s.jsonl"}
            assert asked["session.navigate"] == {"targetId": "e2", "summarize": True}
            assert asked["session.reload"] == {}
            assert asked["agent.compact"] == {"customInstructions": "short"}

    def test_models_can_be_called_and_streamed(self) -> None:
        with self.engine(**MODEL_ANSWERS) as engine:
            engine.start()
            call = engine.begin("command", name="models", args="")
            request = engine.until(lambda record: record["type"] == "request" and record["method"] == "model.stream")
            for delta in ("h", "o"):
                event = {"type": "text_delta", "contentIndex": 0, "delta": delta}
                engine.send({"type": "chunk", "id": request["id"], "event": event})
            engine.send({"type": "response", "id": request["id"], "result": {"role": "assistant", "content": []}})
            assert "error" not in engine.result(call)
            assert engine.notified()[-1][1]["message"] == "m key hi ho"
            [complete] = [record for record in engine.of("request", method="model.complete")]
            expected = {"prompt": "Say hi", "model": "p/m", "systemPrompt": "Be brief", "maxTokens": 5}
            assert complete["params"] == expected, complete

    def test_refused_request_is_an_error_of_the_handler(self) -> None:
        with self.running(settings_get=PermissionError("not for you")) as engine:
            assert engine.call("command", name="refused", args="")["error"]["message"] == "not for you"

    def test_tools_and_hooks_can_be_registered_later(self) -> None:
        with self.running() as engine:
            engine.call("command", name="late", args="")
            tool, hook = engine.of("register")
            assert tool["tools"][0]["name"] == "later" and hook["hooks"] == [{"event": "agent_settled", "await": True}]
            assert engine.tool("later")["result"]["content"][0]["text"] == "late result"
            engine.call("command", name="late", args="remove")
            gone = [{key: record[key] for key in record if key != "type"} for record in engine.of("unregister")]
            assert gone == [{"tools": ["later"]}, {"hooks": ["agent_settled"]}], gone
            assert "error" in engine.tool("later")

    def test_errors_in_the_background_are_reported(self) -> None:
        with self.running() as engine:
            engine.call("command", name="background", args="")
            while len(engine.of("error")) < 2:
                engine.until(lambda record: record["type"] == "error")
            for error in engine.of("error"):
                assert error["message"] == "exploded in the background" and error["where"], error
            assert engine.tool("add", a=1)["result"]["content"][0]["text"] == "3"

    def test_provider_answers_in_numbered_blocks(self) -> None:
        with self.running() as engine:
            message = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
            request = {"model": {}, "systemPrompt": "", "messages": [message], "tools": [], "thinkingLevel": "off"}
            record = engine.call("provider", provider="parrot", op="stream", request=request)
            assert record["result"] == {"stopReason": "toolUse"}, record
            events = [chunk["event"] for chunk in engine.of("chunk")]
            assert events == [
                {"type": "start"},
                {"type": "thinking_start", "contentIndex": 0},
                {"type": "thinking_delta", "contentIndex": 0, "delta": "hmm"},
                {"type": "thinking_end", "contentIndex": 0, "signature": "sig"},
                {"type": "text_start", "contentIndex": 1},
                {"type": "text_delta", "contentIndex": 1, "delta": "You said "},
                {"type": "text_delta", "contentIndex": 1, "delta": "hello"},
                {
                    "type": "usage",
                    "usage": {
                        "input": 3,
                        "output": 4,
                        "cacheRead": 0,
                        "cacheWrite": 0,
                        "totalTokens": 7,
                        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
                    },
                },
                {"type": "text_end", "contentIndex": 1},
                {"type": "toolcall_start", "contentIndex": 2, "id": "t1", "toolName": "read"},
                {"type": "toolcall_delta", "contentIndex": 2, "delta": events[-2]["delta"]},
                {"type": "toolcall_end", "contentIndex": 2},
            ], events
            assert json.loads(events[-2]["delta"]) == {"path": "x"}
            models = engine.call("provider", provider="parrot", op="refresh")["result"]
            assert [model["id"] for model in models] == ["grey", "green"]

    def test_provider_says_why_its_answer_fails(self) -> None:
        with self.running() as engine:
            record = engine.call("provider", provider="broken", op="stream", request={"messages": []})
            assert record["error"] == {"message": "slow down", "kind": "rate_limit", "retryAfterMs": 1500}, record

    def test_provider_stops_when_it_is_cancelled(self) -> None:
        with self.running() as engine:
            request: Json = {"messages": []}
            call = engine.begin("provider", provider="slow", op="stream", request=request)
            engine.until(lambda record: record["type"] == "chunk" and record["event"]["type"] == "text_delta")
            engine.send({"type": "cancel", "id": call, "reason": "abort"})
            assert "cancelled" in engine.result(call)["error"]["message"]

    def test_end_of_input_and_shutdown_end_the_process(self) -> None:
        with self.running() as engine:
            engine.begin("tool", name="wait", toolCallId="c1", args={})
            assert engine.close() == 0
        with self.running() as engine:
            engine.begin("tool", name="stuck", toolCallId="c1", args={})
            engine.send({"type": "shutdown", "deadlineMs": 300})
            before = time.monotonic()
            assert engine.process.wait(20) == 0
            assert time.monotonic() - before < 10

    def test_bad_and_unknown_records_cost_one_line(self) -> None:
        with self.running() as engine:
            engine.write(b"not json\n[1]\n\n{}\n")
            engine.send({"type": "from_the_future", "id": "x"})
            engine.send({"type": "response", "id": "nobody", "result": 1})
            engine.send({"type": "cancel", "id": "nobody"})
            assert engine.tool("add", a=1)["result"]["content"][0]["text"] == "3"

    def test_records_arrive_in_pieces_and_in_large_lines(self) -> None:
        with self.running() as engine:
            record = {"type": "tool", "id": "big", "name": "raw", "toolCallId": "c", "args": {"x": "y" * 3_000_000}}
            line = json.dumps(record).encode() + b"\n"
            for start in range(0, len(line), 1_000_000):
                engine.write(line[start : start + 1_000_000])
            assert "yyyy" in engine.result("big")["result"]["content"][0]["text"]

    def test_hooks_are_those_of_the_engine(self) -> None:
        source = (ROOT / "crates" / "core" / "src" / "hook.rs").read_text()
        table = dict(re.findall(r'=> "(\w+)", (\w+);', source))
        assert len(table) > 30
        assert self.hooks() == {name: role.lower() for name, role in table.items()}

    def hooks(self) -> Dict[str, str]:
        """Returns the SDK's hooks with what each can do."""
        raise NotImplementedError


class PythonSdk(SdkTests, unittest.TestCase):
    command = [sys.executable, str(HERE / "everything.py")]

    def hooks(self) -> Dict[str, str]:
        sys.path.insert(0, str(ROOT / "sdk" / "python"))
        from bowline_extension import HOOKS

        return HOOKS


class TypeScriptSdk(SdkTests, unittest.TestCase):
    command = ["node", str(HERE / "everything.mjs")]

    def hooks(self) -> Dict[str, str]:
        module = json.dumps((ROOT / "sdk" / "typescript" / "bowline_extension.mjs").as_uri())
        program = f"import({module}).then((sdk) => console.log(JSON.stringify(sdk.HOOKS)))"
        printed = subprocess.run(["node", "-e", program], check=True, capture_output=True).stdout
        return dict(json.loads(printed))


class BunSdk(TypeScriptSdk):
    command = ["bun", str(HERE / "everything.mjs")]


class DenoSdk(TypeScriptSdk):
    command = ["deno", "run", "--allow-all", str(HERE / "everything.mjs")]


if __name__ == "__main__":
    signal.alarm(300)
    unittest.main()
