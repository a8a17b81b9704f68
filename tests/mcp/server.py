#!/usr/bin/env python3
"""An MCP server for tests, without dependencies: over stdio, or over streamable HTTP with --http PORTFILE.

What it does wrong is chosen by flags, each of which is one property of a bad server:

  --log FILE          appends every message that it receives to FILE, one per line
  --crash-at METHOD   exits with code 7 when a request for METHOD arrives
  --crash-once FILE   ... but only as long as FILE does not exist, which it then creates
  --hang-at METHOD    never answers requests for METHOD
  --garbage           writes lines to stdout that are no messages
  --flood             writes 100 MB in one line after the first tools/list
  --flood-lines       writes lines that are no messages without end after the first tools/list
  --flood-log         writes log notifications without end after the first tools/list
  --noise             writes 10 MB to stderr at the start
  --tools N           offers N more tools, 100 per page
  --endless-pages     has a next page for ever
  --duplicates        lists a tool twice, and tools whose names differ only in what providers do not accept
  --daemon FILE       leaves a process in a session of its own, and writes its number to FILE
  --ignore-eof        goes on after its stdin was closed
  --die-with TEXT     writes TEXT to stderr and exits with code 3 at once
  --delay SECONDS     waits before it answers initialize
  --token TOKEN       over HTTP, wants this bearer token
"""

import argparse
import base64
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

parser = argparse.ArgumentParser()
parser.add_argument("--http")
parser.add_argument("--log")
parser.add_argument("--crash-at")
parser.add_argument("--crash-once")
parser.add_argument("--hang-at")
parser.add_argument("--garbage", action="store_true")
parser.add_argument("--flood", action="store_true")
parser.add_argument("--flood-lines", action="store_true")
parser.add_argument("--flood-log", action="store_true")
parser.add_argument("--noise", action="store_true")
parser.add_argument("--tools", type=int, default=0)
parser.add_argument("--endless-pages", action="store_true")
parser.add_argument("--duplicates", action="store_true")
parser.add_argument("--daemon")
parser.add_argument("--ignore-eof", action="store_true")
parser.add_argument("--die-with")
parser.add_argument("--delay", type=float, default=0)
parser.add_argument("--token")
options = parser.parse_args()


def tool(name, description, properties=None, required=()):
    schema = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("echo", "Returns its text.", {"text": {"type": "string"}}, ["text"]),
    tool("environment", "Returns a variable of its environment.", {"name": {"type": "string"}}, ["name"]),
    tool("contents", "Returns every kind of content."),
    tool("structured", "Returns structured content only."),
    tool("fail", "Returns an error."),
    tool("refuse", "Refuses the call."),
    tool("invalid", "Returns a result that is not valid."),
    tool("slow", "Reports progress.", {"steps": {"type": "integer"}, "pause": {"type": "number"}}),
    tool("wait", "Waits until it is cancelled."),
    tool("die", "Exits."),
    tool("long", "Returns a long text.", {"bytes": {"type": "integer"}}),
    tool("order", "Asks the user."),
    tool("roots", "Returns the roots."),
    tool("grow", "Adds a tool."),
    tool("folder", "Returns its working directory."),
]
extra = []
listed = False
cancelled = set()


class Session:
    """One client: sends messages to it and waits for its answers."""

    def __init__(self, write):
        self.write = write
        self.next_id = 1000
        self.answers = {}
        self.arrived = threading.Condition()
        self.client = {}

    def send(self, message):
        self.write({"jsonrpc": "2.0", **message})

    def ask(self, method, params=None):
        with self.arrived:
            self.next_id += 1
            number = self.next_id
        self.send({"id": number, "method": method, **({"params": params} if params else {})})
        with self.arrived:
            self.arrived.wait_for(lambda: number in self.answers, timeout=60)
            return self.answers.pop(number, {})

    def answered(self, message):
        with self.arrived:
            self.answers[message["id"]] = message
            self.arrived.notify_all()


def log(message):
    if options.log:
        with open(options.log, "a") as file:
            file.write(json.dumps(message) + "\n")


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def call(session, request, name, arguments):
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "environment":
        return text(os.environ.get(arguments["name"], "(not set)"))
    if name == "folder":
        return text(os.getcwd())
    if name == "contents":
        return {
            "content": [
                {"type": "text", "text": "one"},
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                {"type": "audio", "data": base64.b64encode(b"sound").decode(), "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "demo://link", "name": "a link", "mimeType": "text/plain"},
                {"type": "resource", "resource": {"uri": "demo://inside", "mimeType": "text/plain", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "demo://picture", "mimeType": "image/png", "blob": PIXEL}},
            ],
            "structuredContent": {"answer": 42},
        }
    if name == "structured":
        return {"content": [], "structuredContent": {"answer": 42}}
    if name == "fail":
        return {**text("It did not work."), "isError": True}
    if name == "refuse":
        raise ValueError("I refuse")
    if name == "invalid":
        return {"content": "this must be a list"}
    if name == "slow":
        steps = arguments.get("steps", 3)
        token = request["params"].get("_meta", {}).get("progressToken")
        for step in range(1, steps + 1):
            time.sleep(arguments.get("pause", 0.15))
            if request["id"] in cancelled:
                return text("cancelled")
            params = {"progressToken": token, "progress": step, "total": steps, "message": f"step {step}"}
            session.send({"method": "notifications/progress", "params": params})
        return text("done")
    if name == "wait":
        while request["id"] not in cancelled:
            time.sleep(0.01)
        return text("cancelled")
    if name == "die":
        sys.stderr.write("dying on request\n")
        sys.stderr.flush()
        os._exit(9)
    if name == "long":
        return text(("x" * 79 + "\n") * (arguments.get("bytes", 1000000) // 80))
    if name == "order":
        schema = {
            "type": "object",
            "properties": {"size": {"type": "string", "enum": ["small", "large"]}, "count": {"type": "integer"}},
            "required": ["size", "count"],
        }
        answer = session.ask("elicitation/create", {"message": "What do you want?", "requestedSchema": schema})
        return text(json.dumps(answer.get("result", answer.get("error"))))
    if name == "roots":
        return text(json.dumps(session.ask("roots/list").get("result")))
    if name == "grow":
        extra.append(tool(f"grown_{len(extra)}", "A new tool."))
        session.send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if any(known["name"] == name for known in extra) or name.startswith(("many_", "same")):
        return text(f"called {name}")
    raise ValueError(f"there is no tool {name}")


def list_tools(params):
    tools = TOOLS + extra
    if options.duplicates:
        tools = tools + [tool("same", "First."), tool("same", "Second."), tool("same name", "Third."), tool("same.name", "Fourth.")]
    tools = tools + [tool(f"many_{number}", "One of many.") for number in range(options.tools)]
    start = int((params or {}).get("cursor", 0))
    page = {"tools": tools[start : start + 100]}
    if start + 100 < len(tools) or options.endless_pages:
        page["nextCursor"] = str(start + 100)
    return page


def answer(session, request):
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        time.sleep(options.delay)
        session.client = params
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "test-server", "version": "1.2.3"},
            "instructions": "Use the tool echo for everything.",
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return list_tools(params)
    if method == "tools/call":
        return call(session, request, params["name"], params.get("arguments") or {})
    if method == "prompts/list":
        arguments = [{"name": "city", "required": True}, {"name": "units"}]
        return {"prompts": [{"name": "weather", "description": "Asks for the weather.", "arguments": arguments}]}
    if method == "prompts/get":
        given = params.get("arguments", {})
        words = f"How is the weather in {given.get('city')}, in {given.get('units', 'any')} units?"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "resources/list":
        return {"resources": [{"uri": "demo://note", "name": "note", "mimeType": "text/plain"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "demo://{name}", "name": "any note"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": f"the text of {params['uri']}"}]}
    raise LookupError(method)


def after_list():
    global listed
    if listed:
        return
    listed = True
    if options.flood:
        chunk = b"x" * (1 << 20)
        for _ in range(100):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    while options.flood_lines:
        sys.stdout.buffer.write(b"this is not a message\n" * 1000)
    while options.flood_log:
        notification = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 100}}
        sys.stdout.buffer.write((json.dumps(notification) + "\n").encode() * 100)


def handle(session, message):
    log(message)
    if "method" not in message:
        session.answered(message)
        return
    if message["method"] == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    if "id" not in message:
        return
    if message["method"] == options.crash_at:
        if not options.crash_once or not os.path.exists(options.crash_once):
            if options.crash_once:
                open(options.crash_once, "w").close()
            sys.stderr.write("crashing as told\n")
            sys.stderr.flush()
            os._exit(7)
    if message["method"] == options.hang_at:
        return
    try:
        session.send({"id": message["id"], "result": answer(session, message)})
    except LookupError:
        session.send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
    except ValueError as error:
        session.send({"id": message["id"], "error": {"code": -32000, "message": str(error)}})
    if message["method"] == "tools/list":
        after_list()


def serve_stdio():
    lock = threading.Lock()

    def write(message):
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    session = Session(write)
    if options.garbage:
        sys.stdout.write("Server running on stdio\n\n{\nnull\n[1,2]\n")
        sys.stdout.flush()
    for line in sys.stdin:
        threading.Thread(target=handle, args=(session, json.loads(line)), daemon=True).start()
    while options.ignore_eof:
        time.sleep(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = {}

    def log_message(self, *_):
        pass

    def plain(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def is_allowed(self):
        if options.token and self.headers.get("Authorization") != f"Bearer {options.token}":
            self.plain(401, WWW_Authenticate='Bearer realm="test"')
            return False
        return True

    def do_GET(self):
        self.plain(405)

    def do_DELETE(self):
        log({"delete": self.headers.get("Mcp-Session-Id")})
        self.plain(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.is_allowed():
            return
        if "id" not in message or "method" not in message:
            session = self.sessions.get(self.headers.get("Mcp-Session-Id"))
            handle(session, message)
            return self.plain(202)
        if message["method"] == "initialize":
            number = f"session-{len(self.sessions)}"
            written = []
            session = Session(written.append)
            self.sessions[number] = session
            handle(session, message)
            return self.plain(200, json.dumps(written[0]).encode(), Mcp_Session_Id=number)
        session = self.sessions.get(self.headers.get("Mcp-Session-Id"))
        if session is None:
            return self.plain(404)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        lock = threading.Lock()

        def write(event):
            with lock:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

        streamed = Session(write)
        streamed.client = session.client
        # Answers to what is asked in this stream arrive by other requests.
        streamed.answers, streamed.arrived = session.answers, session.arrived
        handle(streamed, message)
        self.close_connection = True


def serve_http():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(options.http + ".new", "w") as file:
        file.write(str(server.server_port))
    os.rename(options.http + ".new", options.http)
    server.serve_forever()


if options.die_with:
    sys.stderr.write(options.die_with + "\n")
    sys.exit(3)
if options.noise:
    sys.stderr.write("noise\n" * (10 * 1024 * 1024 // 6))
    sys.stderr.flush()
if options.daemon:
    process = subprocess.Popen(["sleep", "300"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(options.daemon, "w") as file:
        file.write(str(process.pid))
if options.http:
    serve_http()
else:
    serve_stdio()
