"""Scenarios for packages that need more than a line: servers, documents and components of their own."""
import json
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from run_examples import CACHE
from script import Script, call

# A server of the Model Context Protocol with one tool.
MCP_SERVER = r"""
import readline from "node:readline";
const answers = {
  initialize: ({ protocolVersion }) =>
    ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "loud", version: "1" } }),
  "tools/list": () => ({ tools: [{
    name: "shout", description: "Shouts a text",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } }] }),
  "tools/call": ({ arguments: { text } }) =>
    ({ content: [{ type: "text", text: `shouted: ${text.toUpperCase()}` }] }),
  ping: () => ({}),
};
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const rest = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: "unknown" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...rest }));
}
"""

SENTENCE = "Stones are <b>hard</b>, and so they last for a long time, as everybody knows. "
PAGE = f"""<html><head><title>Of stones</title></head><body><article><h1>Of stones</h1><h2>What they are</h2>
<p>{SENTENCE * 10}</p></article></body></html>"""

# What Ollama answers, by path.
OLLAMA = {
    "/api/experimental/web_search": {"results": [
        {"title": "On stones", "url": "http://stones.example", "content": "They are hard."}]},
    "/api/tags": {"models": [{"name": "pebble:1b", "model": "pebble:1b", "size": 1, "details": {"family": "pebble"}}]},
    "/api/show": {"details": {"family": "pebble", "parameter_size": "1B"}, "capabilities": ["completion", "tools"],
                  "model_info": {"general.architecture": "pebble", "pebble.context_length": 4096}},
    "/api/version": {"version": "0.12.0"},
}
OLLAMA_PORT = 11434


class Handler(BaseHTTPRequestHandler):
    """Answers as a page of the web, or as Ollama."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        answer = OLLAMA.get(self.path)
        body = (json.dumps(answer) if answer else PAGE).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json" if answer else "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@cache
def serve(port=0):
    """Starts a web server on this machine and returns its port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def mcp():
    """Calls a tool of an MCP server."""
    server = {"mcpServers": {"loud": {"command": "node", "args": ["{HOME}/server.mjs"]}}}
    return Script(files={"server.mjs": MCP_SERVER, "work/.mcp.json": server, "agent/mcp.json": server}).prompt(
        "Go", call("mcp", connect="loud"), call("mcp", search="shout"),
        call("mcp", tool="loud_shout", args='{"text":"hello"}'), "done")


def web_page():
    """Fetches a page of a web server on this machine."""
    # It does not fetch from this machine unless it is told to.
    settings = {"ssrf": {"allowRanges": ["127.0.0.0/8"]}}
    return Script(files={".pi/web-search.json": settings, "agent/web-search.json": settings}).prompt(
        "Go", call("fetch_content", url="http://127.0.0.1:%d/page" % serve()), "done")


def web_tools():
    """Searches with a stand-in for Ollama, which a configuration file chooses."""
    serve(OLLAMA_PORT)
    return Script(files={".config/rpiv-web-tools/config.json": {"provider": "ollama"}}).prompt(
        "Go", call("web_search", query="stones"), "done")


def ollama_search():
    """Searches with a stand-in for Ollama."""
    serve(OLLAMA_PORT)
    return Script().prompt("Go", call("web_search", query="stones"), "done")


def ollama_models():
    """Lists the models of a stand-in for Ollama."""
    serve(OLLAMA_PORT)
    return Script().command("/ollama-status").sleep(1).ask("get_available_models")


def document():
    """Reads a PDF file of one page."""
    content = "BT /F1 24 Tf 72 700 Td (Words in a document) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    text, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(text))
        text += f"{number} 0 obj{body}endobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer<</Size 6/Root 1 0 R>>\nstartxref\n{len(text)}\n%%EOF\n"
    return Script(files={"work/page.pdf": text + end}).prompt(
        "Go", call("document_parse", path="page.pdf", ocr="off"),
        call("document_search", path="page.pdf", phrase="in a document", ocr="off"), "done")


def memory():
    """Stores a fact, and has the package look for others in the session with a model of its own."""
    found = {"semantic": [{"key": "pref.shell", "value": "likes sh", "confidence": 0.9}], "lessons": []}
    return Script(files={".pi/agent/settings.json": {"memory": {"consolidationModel": "mock/m1"}}}).prompt(
        "I like ed", call("memory_remember", type="fact", key="pref.editor", value="likes ed"),
        call("memory_search", query="editor"), "done"
    ).prompt("I like sh", json.dumps(found)).command("/memory-consolidate")


def question():
    """Answers a question of the model in a dialog."""
    options = [{"label": "granite", "description": "hard"}, {"label": "chalk", "description": "soft"}]
    return Script().begin("Go", call("ask_user_question", questions=[
        {"question": "Which stone?", "header": "Stone", "options": options}]), "done") \
        .dialog("select", value="1. granite — hard").settled()


def workflow():
    """Runs a workflow whose stages are skills."""
    skill = "---\nname: {0}\ndescription: Does {0}\n---\nDo {0}.\n"
    config = """import { defineWorkflow, acts, terminal } from "@juicesharp/rpiv-workflow";
export default defineWorkflow({ name: "both", start: "first", stages: { first: acts(), second: terminal() },
  edges: { first: "second", second: "stop" } });
"""
    # The project has the package installed, as its configuration imports it.
    folder = "node_modules/@juicesharp"
    package = CACHE / "packages" / "juicesharp_rpiv-workflow" / folder / "rpiv-workflow"
    return Script(
        files={"agent/skills/first/SKILL.md": skill.format("first"),
               "agent/skills/second/SKILL.md": skill.format("second"), "work/.rpiv/workflows/config.ts": config},
        setup=f"mkdir -p {folder} && ln -s {package} {folder}/",
    ).command("/wf").send("prompt", message="/wf both stones").notified(
        message="✓ both finished — /lanes to view").shell("cat .rpiv/workflows/runs/*.jsonl")


def experiment():
    """Runs one experiment after the user has turned experiments on."""
    script = Script(setup="git init -q && git commit -q --allow-empty -m x").command("/autoresearch count stones")
    return script.settled().prompt(
        "Go", call("init_experiment", name="stones", metric_name="count", metric_unit="", direction="higher"),
        call("run_experiment", command="echo METRIC count=3"), "done")


def blueprint():
    """Makes a plan of one phase."""
    task = {"id": "1.1", "title": "Count the stones", "description": "All", "acceptance_criteria": ["counted"],
            "file_targets": ["a.txt"], "dependencies": []}
    phase = {"id": "1", "title": "Begin", "description": "First", "tasks": [task],
             "verification_gates": [{"type": "user_approval", "description": "fine"}]}
    return Script().prompt(
        "Go", call("blueprint_create", objective="Know the stones", phases=[phase]), call("blueprint_next"),
        call("blueprint_update", task_id="1.1", status="completed"), call("blueprint_status"), "done",
    ).command("/plan-status")


def wizard():
    """Goes through a wizard of one step in the component that it shows."""
    step = {"type": "info", "id": "a", "title": "First step", "body": "Read this"}
    script = Script().ask("set_client_capabilities", render=True, columns=80, rows=24)
    script.begin("Go", call("wizard", title="Setup", steps=[step]), "done")
    script.keep("KEY", "widgetKey", type="extension_ui_request", method="setWidget", takesKeys=True)
    return script.send("widget_input", widgetKey="${KEY}", data="\r").settled()
