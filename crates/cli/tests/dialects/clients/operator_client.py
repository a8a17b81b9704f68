#!/usr/bin/env python3
"""A client of operator-use's RPC protocol, modelled on its own RPCClient, and a conversation with it.

  operator_client.py FORM COMMAND...

FORM is `operator` (wrapped events, a prompt is answered after its turn) or `operator-flat` (flat events, a prompt is
answered immediately); COMMAND starts the agent. Its model must answer every prompt with a text that contains "hello".
Exits with 0 on success.
"""
import asyncio
import json
import sys


class RPCClient:
    """Drives an agent over its stdin and stdout. Every call waits for the response with its id."""

    def __init__(self, command, wrapped=False, timeout=30.0):
        self.command, self.wrapped, self.timeout = command, wrapped, timeout
        self.process, self.reader = None, None
        self.count, self.waiting, self.listeners = 0, {}, []

    async def __aenter__(self):
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(*self.command, stdin=pipe, stdout=pipe)
        self.reader = asyncio.create_task(self.read())
        return self

    async def __aexit__(self, *_):
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 2)
        except asyncio.TimeoutError:
            self.process.kill()
        await self.reader

    async def read(self):
        while line := await self.process.stdout.readline():
            record = json.loads(line)
            if record.get("type") == "response":
                future = self.waiting.pop(record.get("id"), None)
                if future and not future.done():
                    future.set_result(record)
                continue
            if self.wrapped:
                assert list(record) == ["type", "event"] and record["type"] == "event", record
                record = record["event"]
            for listener in list(self.listeners):
                listener(record)

    async def send(self, kind, **fields):
        self.count += 1
        name = f"req_{self.count}"
        future = self.waiting[name] = asyncio.get_running_loop().create_future()
        self.process.stdin.write((json.dumps({"type": kind, "id": name, **fields}) + "\n").encode())
        try:
            record = await asyncio.wait_for(future, self.timeout)
        except asyncio.TimeoutError:
            raise TimeoutError(f"No response for '{kind}' within {self.timeout}s") from None
        if not record["success"]:
            raise RuntimeError(record["error"])
        return record.get("data")

    def on_event(self, listener):
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    async def prompt_and_wait(self, text, timeout=120):
        """Returns the events up to the end of the run."""
        events, over = [], asyncio.Event()

        def listen(event):
            if not over.is_set():
                events.append(event)
            if event["type"] in ("agent_end", "settled"):
                over.set()

        unsubscribe = self.on_event(listen)
        try:
            await self.send("prompt", **{"text" if self.wrapped else "message": text})
            await asyncio.wait_for(over.wait(), timeout)
        finally:
            unsubscribe()
        return events


def text_of(events):
    updates = [event["message"]["contents"] for event in events if event["type"] == "message_update"]
    return "".join(block["content"] for blocks in updates for block in blocks if block["type"] == "text")


async def converse(form, command):
    async with RPCClient(command, wrapped=form == "operator") as client:
        for prompt in ("first", "second"):
            events = await client.prompt_and_wait(prompt)
            assert "hello" in text_of(events), events
            assert events[-1]["type"] == "agent_end" and events[-1]["reason"] == "completed", events[-1]
            roles = [message["role"] for message in events[-1]["messages"]]
            assert roles == ["user", "assistant"], roles
        state = await client.send("get_state")
        assert state["phase"] == "idle" and state["message_count"] == 4, state
        messages = (await client.send("get_messages"))["messages"]
        assert messages[1]["contents"][0]["type"] == "text", messages
        try:
            await client.send("prompt")
            raise AssertionError("a prompt without a text was accepted")
        except RuntimeError as error:
            assert "is required" in str(error), error
        assert (await client.send("new_session"))["cancelled"] is False
        assert (await client.send("get_state"))["message_count"] == 0
        assert not await client.send("abort")
    assert client.process.returncode == 0, client.process.returncode


if __name__ == "__main__":
    asyncio.run(converse(sys.argv[1], sys.argv[2:]))
