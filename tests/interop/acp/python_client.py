"""Drives bowline with the client class of the official Python library, whose models check every message.

  python_client.py FOLDER COMMAND ARGS...
"""
import asyncio
import json
import logging
import os
import sys
import warnings

import acp
from acp import schema

FOLDER, COMMAND = sys.argv[1], sys.argv[2:]


class Complaints(logging.Handler):
    """Whatever the library logs as a warning or worse."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


class Client:
    def __init__(self):
        self.updates, self.asked, self.written, self.running = [], 0, 0, asyncio.Event()

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)
        if getattr(update, "status", None) == "in_progress":
            self.running.set()

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked += 1
        option = next(option for option in options if option.kind == "allow_once")
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def read_text_file(self, path, session_id, **_):
        return schema.ReadTextFileResponse(content=text_of(path))

    async def write_text_file(self, content, path, session_id, **_):
        self.written += 1
        with open(path, "w") as file:
            file.write(content)
        return schema.WriteTextFileResponse()

    def on_connect(self, _):
        pass


def text_of(path):
    with open(path) as file:
        return file.read()


def plan(*steps):
    return [acp.text_block("PLAN " + json.dumps(list(steps)))]


def call(name, **arguments):
    return {"tools": [{"name": name, "args": arguments}]}


async def main():
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    warnings.simplefilter("error")
    client = Client()
    environment = {name: value for name, value in os.environ.items()}
    async with acp.spawn_agent_process(client, *COMMAND, env=environment) as (agent, process):
        capabilities = schema.ClientCapabilities(fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True))
        initialized = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=capabilities)
        assert initialized.protocol_version == acp.PROTOCOL_VERSION
        session = (await agent.new_session(cwd=FOLDER, mcp_servers=[])).session_id
        with open(FOLDER + "/file.txt", "w") as file:
            file.write("one\ntwo\n")
        turn = await agent.prompt(session_id=session, prompt=plan(
            {"think": "A thought.", "text": "Some text.", **call("edit", path="file.txt", edits=[{"oldText": "two", "newText": "TWO"}])},
            call("bash", command="cat file.txt; exit 2"), {"text": "Done."}))
        assert turn.stop_reason == "end_turn", turn
        assert text_of(FOLDER + "/file.txt") == "one\nTWO\n" and client.written == 1 and client.asked >= 2
        await agent.set_config_option(config_id="model", session_id=session, value="mock/m2")
        await agent.set_session_mode(session_id=session, mode_id="auto")
        client.running.clear()
        running = asyncio.create_task(agent.prompt(session_id=session, prompt=plan(call("bash", command="sleep 60"), {"text": "no"})))
        await asyncio.wait_for(client.running.wait(), 30)
        await agent.cancel(session_id=session)
        assert (await running).stop_reason == "cancelled"
        steered = await agent.ext_method("bowline/stats", {"sessionId": session})
        assert steered["userMessages"] == 2, steered
        await agent.close_session(session_id=session)
        before = len(client.updates)
        await agent.load_session(cwd=FOLDER, session_id=session, mcp_servers=[])
        kinds = {update.session_update for update in client.updates[before:]}
        assert {"user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call"} <= kinds, kinds
        copy = await agent.fork_session(session_id=session, cwd=FOLDER, mcp_servers=[])
        assert copy.session_id != session
        listed = await agent.list_sessions(cwd=FOLDER)
        assert {session, copy.session_id} <= {found.session_id for found in listed.sessions}
    assert process.returncode == 0, process.returncode
    assert not complaints.texts, complaints.texts
    print(f"python: {len(client.updates)} updates, no complaint")


asyncio.run(main())
