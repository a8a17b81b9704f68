"""A server on the loopback interface that gives out tokens and answers as a model to those who have one."""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CODE = "1234"


class Corporate:
    """Its tokens are single-use: whoever renews one twice is refused, as real servers do."""

    def __init__(self):
        self.lifetime = 3600
        self.issued = self.renewals = 0
        self.access = self.refresh = None
        self.refuses_renewal = False
        # What it says to requests instead of an answer, as a function of the key.
        self.complaint = None
        self.headers_seen = []
        self.lock = threading.Lock()
        corporate = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                corporate.serve(self, None)

            def do_POST(self):
                length = int(self.headers.get("content-length") or 0)
                corporate.serve(self, json.loads(self.rfile.read(length) or b"{}"))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def secrets(self):
        """Everything that must not show up anywhere but in auth.json."""
        numbers = range(1, self.issued + 1)
        return [f"access-token-{number}" for number in numbers] + [f"refresh-token-{number}" for number in numbers]

    def issue(self):
        self.issued += 1
        self.access, self.refresh = f"access-token-{self.issued}", f"refresh-token-{self.issued}"
        return {"access": self.access, "refresh": self.refresh, "expires": time.time() * 1000 + self.lifetime * 1000}

    def token(self, fields):
        with self.lock:
            if "refresh" in fields:
                self.renewals += 1
                # Long enough for others to find the login expired, too.
                time.sleep(0.3)
                if self.refuses_renewal or fields["refresh"] != self.refresh:
                    return None
                return {**self.issue(), "account": "me"}
            return {**self.issue(), "account": "me"} if fields.get("code") == CODE else None

    def serve(self, request, fields):
        if request.path == "/token":
            tokens = self.token(fields)
            return self.respond(request, 200 if tokens else 400, json.dumps(tokens or {}))
        self.headers_seen.append(dict(request.headers))
        key = request.headers.get("authorization", "")
        is_right = key == f"Bearer key-{self.access}"
        if request.path == "/check" or not is_right:
            return self.respond(request, 200 if is_right else 401, "{}")
        if self.complaint:
            return self.respond(request, 400, json.dumps({"error": {"message": self.complaint(key)}}))
        parts = [{"choices": [{"index": 0, "delta": {"content": "hello from corp"}}]},
                 {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        events = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
        self.respond(request, 200, events, "text/event-stream")

    def respond(self, request, status, text, kind="application/json"):
        request.send_response(status)
        request.send_header("content-type", kind)
        request.send_header("content-length", str(len(text.encode())))
        request.end_headers()
        request.wfile.write(text.encode())
