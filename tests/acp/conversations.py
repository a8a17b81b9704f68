"""The conversations of the recordings. Each waits for what happens, never for time."""
import base64
import os
import sys

from client import Agent, CONFORMANCE, EDITOR, Model, allow, plan

ALL = {}
LONG = "sleep 60"



def conversation(function):
    ALL[function.__name__] = function
    return function


def play(name):
    """Returns the messages of a conversation, as (side, message), and the folder that it took place in."""
    with Model() as model:
        messages = []
        ALL[name](model, messages)
        return [(side, message) for side, message in messages if message is not None], model.home


class Player(Agent):
    """An agent whose messages become part of the conversation."""

    def __init__(self, model, messages, arguments=("--ask", "never"), capabilities=None, serve=allow):
        super().__init__(model, arguments, capabilities, serve)
        self.conversation = messages
        self.initialize()

    def __exit__(self, *_):
        self.end()
        self.conversation += self.messages


def call(tool, **arguments):
    return {"name": tool, "args": arguments}


def tools(*calls):
    return {"tools": list(calls)}


def write(model, name, text):
    path = f"{model.work()}/{name}"
    with open(path, "w") as file:
        file.write(text)
    return path


def waiting_call(agent, session):
    """Waits until a command runs."""
    agent.update(session, lambda update: update.get("status") == "in_progress", "a call in progress")


@conversation
def text(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        agent.prompt(session, plan({"text": "Hello from the model."}))
        agent.prompt(session, plan({"text": "And again."}))
        agent.result("session/close", {"sessionId": session})


@conversation
def thinking(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        agent.result("session/set_config_option", {"sessionId": session, "configId": "model", "value": "mock/m2"})
        agent.result("session/set_config_option", {"sessionId": session, "configId": "thinking", "value": "high"})
        agent.prompt(session, plan({"think": "First I think about it.", "text": "Then I answer."}))


@conversation
def tools_with_diffs(model, messages):
    write(model, "old.txt", "alpha\nbeta\ngamma\n")
    write(model, "whole.txt", "one\ntwo\n")
    with Player(model, messages) as agent:
        session = agent.session()
        agent.prompt(session, plan(
            tools(call("read", path="old.txt")),
            tools(call("edit", path="old.txt", edits=[{"oldText": "beta", "newText": "BETA"}])),
            tools(call("write", path="new.txt", content="created\n")),
            tools(call("write", path="whole.txt", content="one\n2\n")),
            tools(call("bash", command="cat old.txt; exit 3")),
            tools(call("read", path="missing.txt")),
            {"text": "Done."}))


@conversation
def plan_of_tasks(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        agent.prompt(session, plan(
            tools(call("todo", op="init", list=[{"phase": "Work", "items": ["Look", "Build"]}])),
            tools(call("todo", op="done", task="Look")),
            {"text": "Planned."}))


@conversation
def permission(model, messages):
    answers = ["allow_once", "reject_once", "allow_always"]

    def serve(message):
        kind = answers.pop(0)
        option = next(option for option in message["params"]["options"] if option["kind"] == kind)
        return {"result": {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}}

    write(model, "asked.txt", "before\n")
    with Player(model, messages, arguments=(), serve=serve) as agent:
        session = agent.session()
        agent.prompt(session, plan(tools(call("edit", path="asked.txt", edits=[{"oldText": "before", "newText": "after"}])), {"text": "Edited."}))
        agent.prompt(session, plan(tools(call("bash", command="touch rejected")), {"text": "Rejected."}))
        agent.prompt(session, plan(tools(call("bash", command="touch allowed")), tools(call("bash", command="touch allowed")), {"text": "Allowed twice."}))
    assert not os.path.exists(model.work() + "/rejected")


@conversation
def cancel_while_the_model_speaks(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan({"text": "sixteen letters. Never said.", "hang": 2})})
        spoken = lambda: "".join(update["content"]["text"] for update in agent.updates(session) if update["sessionUpdate"] == "agent_message_chunk")
        agent.update(session, lambda _: len(spoken()) == 16, "all that the model says")
        agent.notify("session/cancel", {"sessionId": session})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}
        agent.prompt(session, plan({"text": "Next."}))


@conversation
def cancel_while_a_tool_runs(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(tools(call("bash", command=LONG)), {"text": "No."})})
        waiting_call(agent, session)
        agent.notify("session/cancel", {"sessionId": session})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}


@conversation
def cancel_while_a_question_is_open(model, messages):
    with Player(model, messages, arguments=(), serve=lambda _: None) as agent:
        session = agent.session()
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(tools(call("bash", command="touch ran")), {"text": "No."})})
        question = agent.asked("session/request_permission")
        agent.notify("session/cancel", {"sessionId": session})
        agent.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}
    assert not os.path.exists(model.work() + "/ran")


@conversation
def cancel_while_prompts_wait(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        first = agent.request("session/prompt", {"sessionId": session, "prompt": plan(tools(call("bash", command=LONG)), {"text": "No."})})
        second = agent.request("session/prompt", {"sessionId": session, "prompt": plan({"text": "Never."})})
        waiting_call(agent, session)
        agent.notify("session/cancel", {"sessionId": session})
        for number in (first, second):
            assert agent.answer(number)["result"] == {"stopReason": "cancelled"}


@conversation
def cancel_of_a_request(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(tools(call("bash", command=LONG)), {"text": "No."})})
        waiting_call(agent, session)
        agent.notify("$/cancel_request", {"requestId": number})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}


@conversation
def close_while_a_tool_runs(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        number = agent.request("session/prompt", {"sessionId": session, "prompt": plan(tools(call("bash", command=LONG)), {"text": "No."})})
        waiting_call(agent, session)
        agent.result("session/close", {"sessionId": session})
        assert agent.answer(number)["result"] == {"stopReason": "cancelled"}


@conversation
def load(model, messages):
    write(model, "kept.txt", "one\n")
    with Player(model, messages) as agent:
        session = agent.session()
        agent.prompt(session, plan(
            {"think": "Hm.", "text": "I edit.", **tools(call("edit", path="kept.txt", edits=[{"oldText": "one", "newText": "two"}]))},
            tools(call("bash", command="echo shown; exit 4")), {"text": "Edited."}))
    with Player(model, messages) as agent:
        agent.result("session/load", {"sessionId": session, "cwd": model.work(), "mcpServers": []})
        agent.prompt(session, plan({"text": "On we go."}))
    with Player(model, messages) as agent:
        agent.result("session/resume", {"sessionId": session, "cwd": model.work(), "mcpServers": []})
        agent.result("session/list", {"cwd": model.work()})
        agent.result("session/delete", {"sessionId": session})
        agent.result("session/list", {})


@conversation
def two_sessions(model, messages):
    with Player(model, messages) as agent:
        one, two = agent.session(model.work("one")), agent.session(model.work("two"))
        first = agent.request("session/prompt", {"sessionId": one, "prompt": plan(tools(call("bash", command="pwd; until [ -e go ]; do sleep 0.02; done")), {"text": "One."})})
        waiting_call(agent, one)
        agent.prompt(two, plan(tools(call("bash", command="pwd; touch ../one/go")), {"text": "Two."}))
        assert agent.answer(first)["result"]["stopReason"] == "end_turn"


@conversation
def image(model, messages):
    pixel = base64.b64encode(bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63d0885a05000249014f39a0af130000000049454e44ae426082")).decode()
    with Player(model, messages) as agent:
        session = agent.session()
        agent.prompt(session, [
            *plan({"text": "I see it."}),
            {"type": "image", "data": pixel, "mimeType": "image/png"},
            {"type": "resource_link", "uri": f"file://{model.work()}/src/a%20b.rs", "name": "a b.rs"},
            {"type": "resource", "resource": {"uri": "zed:///agent/selection", "text": "fn main() {}"}}])
        sent = model.requests()[-1]
    content = str(sent)
    for part in (pixel, "[@a b.rs](src/a b.rs)", "<context ref=", "fn main() {}"):
        assert part in content, part


@conversation
def mcp_tool(model, messages):
    server = {"name": "beacon", "command": sys.executable, "args": [CONFORMANCE + "/acp_check.py", "--mcp-server", "ok"],
              "env": [{"name": "BEACON_WORD", "value": "bright"}]}
    with Player(model, messages) as agent:
        session = agent.session(servers=[server])
        agent.prompt(session, plan(tools(call("mcp__beacon__lantern", word="oil")), {"text": "Lit."}))


@conversation
def terminal(model, messages):
    with Player(model, messages, capabilities={"_meta": {"terminal_output": True}}) as agent:
        session = agent.session()
        agent.prompt(session, plan(tools(call("bash", command="echo shown")), tools(call("bash", command="exit 7")), {"text": "Done."}))


@conversation
def unsaved_buffer(model, messages):
    path = write(model, "open.txt", "saved\n")
    buffers = {path: "saved\nunsaved\n"}

    def serve(message):
        params = message["params"]
        if message["method"] == "fs/read_text_file":
            return {"result": {"content": buffers[params["path"]]}}
        buffers[params["path"]] = params["content"]
        with open(params["path"], "w") as file:
            file.write(params["content"])
        return {"result": {}}

    with Player(model, messages, capabilities=EDITOR, serve=serve) as agent:
        session = agent.session()
        agent.prompt(session, plan(tools(call("edit", path="open.txt", edits=[{"oldText": "saved\nun", "newText": "saved\nIS UN"}])), {"text": "Edited."}))
    assert open(path).read() == "saved\nIS UNsaved\n"


@conversation
def dialog_as_a_form(model, messages):
    """An extension asks before a command that deletes; the client has forms, and answers with each kind of answer."""
    answers = [{"action": "accept", "content": {"answer": "Allow"}}, {"action": "decline"}, {"action": "cancel"}]

    def serve(message):
        assert message["method"] == "elicitation/create", message
        return {"result": answers.pop(0)}

    gate = os.path.dirname(os.path.dirname(CONFORMANCE)) + "/examples/extensions/permission_gate.py"
    with Player(model, messages, arguments=("--ask", "never", "--extension", gate), capabilities={"elicitation": {"form": {}}}, serve=serve) as agent:
        session = agent.session()
        for number in range(3):
            agent.prompt(session, plan(tools(call("bash", command=f"mkdir d{number}; rm -rf d{number}; touch ran{number}")), {"text": "Done."}))
    ran = [os.path.exists(f"{model.work()}/ran{number}") for number in range(3)]
    assert ran == [True, False, False], ran


@conversation
def notices_and_compaction(model, messages):
    able = {"session": {"notices": {}, "compaction": {}}}
    with Player(model, messages, capabilities=able) as agent:
        session = agent.session()
        agent.prompt(session, plan({"status": 529, "times": 1, "body": "overloaded"}, {"text": "After a retry."}))
        agent.prompt(session, [{"type": "text", "text": "/rename A name"}])
        agent.prompt(session, [{"type": "text", "text": "/compact"}])
        agent.call("_bowline/compact", {"sessionId": session})


@conversation
def methods_of_bowline(model, messages):
    write(model, "undone.txt", "one\n")
    with Player(model, messages) as agent:
        session = agent.session()
        named = {"sessionId": session}
        agent.prompt(session, plan(tools(call("edit", path="undone.txt", edits=[{"oldText": "one", "newText": "two"}])), {"text": "Edited."}))
        agent.result("_bowline/undo", named)
        assert open(model.work() + "/undone.txt").read() == "one\n"
        agent.result("_bowline/redo", named)
        assert open(model.work() + "/undone.txt").read() == "two\n"
        number = agent.request("session/prompt", {**named, "prompt": plan(tools(call("bash", command="until [ -e go ]; do sleep 0.02; done")), {"text": "One."}, {"text": "Two."}, {"text": "Three."})})
        waiting_call(agent, session)
        agent.result("_session/steering", {**named, "prompt": [{"type": "text", "text": "to the right"}]})
        agent.result("_bowline/follow_up", {**named, "prompt": [{"type": "text", "text": "and then"}]})
        open(model.work() + "/go", "w").close()
        agent.answer(number)
        agent.prompt(session, [{"type": "text", "text": "/stats"}])
        agent.prompt(session, [{"type": "text", "text": "/undo"}])


@conversation
def errors(model, messages):
    with Player(model, messages) as agent:
        session = agent.session()
        assert agent.error("session/prompt", {"sessionId": session, "prompt": []}) == -32602
        assert agent.error("session/prompt", {"sessionId": "unknown", "prompt": plan({"text": "x"})}) == -32002
        assert agent.error("session/new", {"cwd": "relative", "mcpServers": []}) == -32602
        assert agent.error("no/such_method") == -32601
        assert agent.error("session/prompt", {"sessionId": session, "prompt": plan({"status": 401, "body": "bad key"})}) == -32000
        agent.result("logout")
        assert agent.error("session/prompt", {"sessionId": session, "prompt": plan({"text": "x"})}) == -32000
        agent.result("authenticate", {"methodId": "keys"})
        agent.prompt(session, plan({"text": "Back again."}))
