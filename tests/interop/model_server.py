"""A scripted model on the loopback interface, over openai-completions."""
import http.server
import json
import threading


class ModelServer:
    """Answers requests with scripted replies in order, and keeps the requests."""

    def __init__(self):
        self.replies, self.requests = [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(body)
                reply = outer.replies.pop(0) if outer.replies else text("ok")
                if "status" in reply:
                    self.answer(reply["status"], "application/json", json.dumps(reply["body"]))
                else:
                    self.answer(200, "text/event-stream", stream(reply, body["model"], len(outer.requests)))

            def answer(self, status, kind, content):
                content = content.encode()
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def script(self, *replies):
        self.replies.extend(replies)

    def last_request(self):
        """Returns the messages of the newest request as text."""
        return json.dumps(self.requests[-1]["messages"], ensure_ascii=False)


def text(content):
    return {"text": content}


def call(name, arguments, content=""):
    return {"text": content, "tool": name, "arguments": arguments}


def failure(status, message):
    return {"status": status, "body": {"error": {"message": message}}}


def stream(reply, model, number):
    """Returns a reply as server-sent events."""
    deltas = [{"role": "assistant", "content": reply["text"]}]
    if "tool" in reply:
        function = {"name": reply["tool"], "arguments": json.dumps(reply["arguments"])}
        deltas.append({"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]})
    frames = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    reason = "tool_calls" if "tool" in reply else "stop"
    frames.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    frames.append({"choices": [], "usage": usage})
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": model}
    return "".join(f"data: {json.dumps({**head, **frame})}\n\n" for frame in frames) + "data: [DONE]\n\n"
