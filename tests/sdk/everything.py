"""An extension that uses all of the Python SDK. `everything.mjs` is the same in TypeScript; test_sdk.py drives both."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any, AsyncIterator, Dict, Iterator, List, Literal, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

import bowline_extension as bowline
from bowline_extension import AsyncContext, Context, Extension, Piece, ProviderRequest

print("printed while loading")

ext = Extension("everything", "1.2.3", wants=["entries"])
shout = ext.flag("shout", "Greets loudly")
style = ext.flag("style", "How to greet", default="plain")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000000020001e221bc330000000049454e44ae426082"
)


@ext.on("tool_call", tool=["bash"])
def gate(event: bowline.ToolCallEvent, ctx: Context) -> Optional[bowline.ToolCallResult]:
    command = event["input"]["command"]
    if "rm " in command and not ctx.ui.confirm("Run it?", command):
        return {"block": True, "reason": "refused by the user"}
    if "edit" in command:
        event["input"]["command"] = command + " # edited"
    if "fail" in command:
        raise ValueError("the gate broke")
    return None


@ext.on("tool_call", tool="bash")
async def chained(event: bowline.ToolCallEvent, ctx: AsyncContext) -> Optional[bowline.ToolCallResult]:
    if "chain" in event["input"]["command"]:
        return {"input": {"command": event["input"]["command"], "seen": True}}
    return None


@ext.on("input")
async def quick(event: bowline.InputEvent, ctx: AsyncContext) -> Optional[bowline.InputResult]:
    if event["text"] == "/handled":
        return {"action": "handled"}
    if event["text"].startswith("?"):
        return {"action": "transform", "text": event["text"][1:]}
    return {"action": "continue"}


@ext.on("input")
def polite(event: bowline.InputEvent, ctx: Context) -> Optional[bowline.InputResult]:
    if event["text"].endswith("!"):
        return {"action": "transform", "text": event["text"][:-1] + "."}
    return None


@ext.on("before_provider_headers")
def headers(event: bowline.HeadersEvent, ctx: Context) -> None:
    event["headers"].pop("x-old", None)
    event["headers"]["x-new"] = "1"


@ext.on("before_provider_request")
def payload(event: bowline.ProviderRequestEvent, ctx: Context) -> Any:
    return {**event["payload"], "extra": 1}


@ext.on("session_start")
async def started(event: bowline.SessionStartEvent, ctx: AsyncContext) -> None:
    ctx.ui.notify(f"{event['reason']} {shout.value} {style.value} {ctx.cwd} {ctx.session.id}", "warning")


@ext.on("session_before_switch")
def switching(event: bowline.SessionBeforeSwitchEvent, ctx: Context) -> bowline.CancelResult:
    return {"cancel": event["reason"] == "new"}


@ext.on("turn_end")
def first_entry(event: bowline.TurnEndEvent, ctx: Context) -> bowline.BoundaryResult:
    return {"entries": [{"type": "custom", "customType": "a"}]}


@ext.on("turn_end")
def second_entry(event: bowline.TurnEndEvent, ctx: Context) -> bowline.BoundaryResult:
    return {"entries": [{"type": "custom", "customType": "b"}], "continue": True}


@ext.on("message_update")
def streamed(event: bowline.MessageUpdateEvent, ctx: Context) -> None:
    ctx.log(event["assistantMessageEvent"]["delta"])


@ext.on("agent_end", wait=False)
def fails_unheard(event: bowline.AgentEndEvent, ctx: Context) -> None:
    raise ValueError("nobody waits for this")


@ext.on("user_bash")
def wrong(event: bowline.UserBashEvent, ctx: Context) -> Any:
    return "not a dict"


@ext.on_message("greetings")
def greeted(data: Any, ctx: Context) -> None:
    ctx.log(f"got {data}")


@ext.tool(prompt_snippet="add: adds numbers", execution_mode="sequential")
def add(
    a: Annotated[int, "The first number"],
    b: int = 2,
    kind: Literal["int", "float"] = "int",
    notes: Optional[List[str]] = None,
) -> str:
    """Adds two numbers."""
    return str(a + b) if kind == "int" else f"{a + b:.1f} {notes}"


@ext.tool("raw", "Takes a schema", parameters={"type": "object", "properties": {"x": {"type": "string"}}})
async def raw(arguments: Dict[str, Any], ctx: AsyncContext) -> Dict[str, Any]:
    return {"got": arguments, "tools": ctx.tools.active}


@ext.tool()
def wait(ctx: Context) -> bowline.ToolResult:
    """Waits until it is cancelled."""
    ctx.update("waiting", {"percent": 50})
    try:
        ctx.sleep(1000)
    except bowline.Cancelled:
        pass
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5}
    usage = {"input": 3, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3, "cost": cost}
    details = {"cancelled": ctx.cancelled}
    return bowline.ToolResult("stopped early", details=details, terminate=True, usage=usage)


@ext.tool()
async def wait_async(ctx: AsyncContext) -> str:
    """Waits until it is cancelled."""
    ctx.update("waiting")
    await asyncio.sleep(1000)
    return "never"


@ext.tool()
def stuck(ctx: Context) -> str:
    """Never returns, and does not care."""
    ctx.update("stuck")
    threading.Event().wait()
    return "never"


@ext.tool()
def picture(ctx: Context) -> List[bowline.Content]:
    """Returns an image."""
    return [bowline.text("a pixel"), bowline.image(PIXEL)]


@ext.tool()
def fail(ctx: Context) -> str:
    """Fails."""
    raise RuntimeError("it did not work")


@ext.tool()
def unserializable(ctx: Context) -> Any:
    """Returns what is no JSON."""
    return bowline.ToolResult("x", details=object())


@ext.tool()
def noisy(ctx: Context) -> str:
    """Writes to standard output in every way."""
    print("printed")
    sys.stdout.write("written\n")
    subprocess.run(["echo", "echoed"], check=True)
    eaten = subprocess.run(["cat"], check=True, capture_output=True).stdout
    return f"read {len(eaten)} bytes \ud800"


@ext.command("dialogs", "Opens every dialog", complete=lambda prefix, ctx: [prefix + "one", {"value": prefix + "two"}])
def dialogs(arguments: str, ctx: Context) -> None:
    answers = [
        ctx.ui.select("Pick", ["a", ("b", "the second")], timeout=1.5),
        ctx.ui.confirm("Sure?", "really"),
        ctx.ui.input("Name", "text"),
        ctx.ui.editor("Edit", "line", prompt_style=True),
    ]
    ctx.ui.set_status("k", f"{arguments}: {answers[0]}, {'yes' if answers[1] else 'no'}, {answers[2]}, {answers[3]}")
    ctx.ui.set_status("k", None)
    ctx.ui.set_widget("w", ["l"], "belowEditor")
    ctx.ui.set_title("t")
    ctx.ui.set_editor_text("e")
    ctx.ui.open_url("https://example.com", instructions="Log in")


@ext.command()
async def session(arguments: str, ctx: AsyncContext) -> None:
    """Uses the session.

    In every way."""
    ctx.session.send_message("note", "hello", display=False, details={"n": 1}, deliver_as="followUp", trigger_turn=True)
    ctx.session.send_user_message(["hi", bowline.image(PIXEL)], deliver_as="steer", expand_templates=True)
    ctx.session.append_entry("count", {"n": 2})
    ctx.session.set_name("named")
    ctx.session.set_label("e1", None)
    ctx.tools.set_active(["read"])
    ctx.model.set("p", "m")
    ctx.model.set_thinking_level("high")
    ctx.emit("news", [1])
    entries = await ctx.session.entries(since="e0")
    context = await ctx.session.context()
    await ctx.session.wait_idle()
    executed = await ctx.tools.execute("read", {"path": "x"})
    ran = await ctx.exec("git", ["status"], timeout=2)
    happened = [
        await ctx.session.new(),
        await ctx.session.fork("e1"),
        await ctx.session.switch("/s.jsonl"),
        await ctx.session.navigate("e2", summarize=True),
    ]
    await ctx.session.reload()
    compacted = await ctx.compact("short")
    setting = await ctx.setting("a.b")
    numbers = [len(entries), len(context["messages"]), len(executed["content"]), ran.code, len(compacted["summary"])]
    known = [ctx.session.name, ctx.tools.active, ctx.model.thinking_level, setting, len(ctx.session.known_entries)]
    shown = "; ".join(str(value).lower() for value in (happened, numbers, known)).replace("'", "")
    ctx.ui.notify(shown)
    ctx.abort()
    ctx.shutdown()


@ext.command("models", "Calls models")
def models(arguments: str, ctx: Context) -> None:
    listed = ctx.model.list()
    key = ctx.model.api_key("p")
    answer = ctx.model.complete("Say hi", model="p/m", system_prompt="Be brief", max_tokens=5)
    streamed_text = ""
    for event in ctx.model.stream([{"role": "user", "content": [bowline.text("Say ho")], "timestamp": 0}]):
        streamed_text += event.get("delta", "")
    ctx.ui.notify(f"{listed[0]['id']} {key} {bowline.text_of(answer)} {streamed_text}")


@ext.command("refused", "Asks for what it does not get")
def refused(arguments: str, ctx: Context) -> None:
    ctx.setting("secret")


@ext.command("late", "Registers more, and removes it")
def late(arguments: str, ctx: Context) -> None:
    if arguments == "remove":
        ext.remove_tool("later")
        ext.off(later_hook)
        return
    ext.tool("later", "Came later")(lambda: "late result")
    ext.on("agent_settled")(later_hook)


def later_hook(event: bowline.AgentSettledEvent, ctx: Context) -> None:
    ctx.log("settled")


@ext.command("background", "Fails after it has ended")
async def background(arguments: str, ctx: AsyncContext) -> None:
    def explode() -> None:
        raise ValueError("exploded in the background")

    asyncio.get_running_loop().call_soon(explode)
    threading.Thread(target=explode).start()


@ext.provider("parrot", [{"id": "grey", "contextWindow": 1000}], refresh=lambda ctx: [{"id": "grey"}, {"id": "green"}])
def parrot(request: ProviderRequest, ctx: Context) -> Iterator[Piece]:
    yield bowline.Thinking("hmm", signature="sig")
    yield "You said "
    yield bowline.text_of(request["messages"][-1])
    yield bowline.Usage(input=3, output=4)
    yield bowline.ToolUse("t1", "read", {"path": "x"})


@ext.provider("slow", [{"id": "sloth"}])
async def slow(request: ProviderRequest, ctx: AsyncContext) -> AsyncIterator[Piece]:
    yield "one"
    await asyncio.sleep(1000)


@ext.provider("broken", [{"id": "b"}])
def broken(request: ProviderRequest, ctx: Context) -> Iterator[Piece]:
    yield "half"
    raise bowline.ProviderError("slow down", kind="rate_limit", retry_after=1.5)


ext.remote_provider("remote", [{"id": "far"}], base_url="http://127.0.0.1:1", api="openai-completions", api_key="$KEY")

if __name__ == "__main__":
    ext.run()
