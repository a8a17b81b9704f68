"""The static build needs no library of the system: it runs in a root folder without a C library, finds servers by name, over DNS
and by /etc/hosts, and checks their certificates.

    static.py BOWLINE     as root, or as a user who may make namespaces
"""

import contextlib
import fcntl
import http.server
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))
from linkage import inspect  # noqa: E402

ANSWER = "Found you."

# A static program cannot ask the C library whether it has the newer source of random numbers.
DEVICES = ["null", "random", "urandom"]

OF_DNS, OF_HOSTS = "model.of-dns.test", "model.of-hosts.test"


def bring_up_loopback():
    """Switches the loopback interface of a new network namespace on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, 0x8913, request))[1]
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


def answer_queries(server, asked):
    """Answers questions about addresses: one name has one, and no other exists."""
    while True:
        query, client = server.recvfrom(512)
        labels, place = [], 12
        while query[place]:
            labels.append(query[place + 1 : place + 1 + query[place]].decode())
            place += 1 + query[place]
        question = query[12 : place + 5]
        name, kind = ".".join(labels), struct.unpack("!H", query[place + 1 : place + 3])[0]
        asked.append(name)
        is_known = name == OF_DNS
        answers = [b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton("127.0.0.1")] if is_known and kind == 1 else []
        flags = 0x8180 if is_known else 0x8183
        header = query[:2] + struct.pack("!HHHHH", flags, 1, len(answers), 0, 0)
        server.sendto(header + question + b"".join(answers), client)


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        chunk = {"choices": [{"index": 0, "delta": {"content": ANSWER}, "finish_reason": "stop"}]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_):
        pass


def certificates(folder):
    """Makes an authority and a certificate for both names."""
    openssl = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=Authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *key, "-subj", f"/CN={OF_DNS}", "-keyout", "model.key", "-out", "model.csr")
    Path(folder, "names").write_text(f"subjectAltName=DNS:{OF_DNS},DNS:{OF_HOSTS}\n", encoding="utf-8")
    signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    openssl("x509", "-req", "-in", "model.csr", *signing, "-out", "model.pem")


def serve(folder):
    """Starts the model, with TLS and without, and returns its ports."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(folder, "model.pem"), Path(folder, "model.key"))
    ports = []
    for wrap in (lambda plain: plain, lambda plain: context.wrap_socket(plain, server_side=True)):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        server.socket = wrap(server.socket)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ports.append(server.server_address[1])
    return ports


def make_root(folder, binary, ports, trusted):
    """Makes a root folder with the program and the files that name resolution and TLS read, and nothing else but devices."""
    root = Path(folder, "root")
    for name in ("etc/ssl/certs", "home", "tmp", "dev"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for device in DEVICES:
        place = root / "dev" / device
        if not place.exists():
            place.touch()
            subprocess.run(["mount", "--bind", f"/dev/{device}", place], check=True)
    shutil.copy(binary, root / "bowline")
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost {OF_HOSTS}\n", encoding="utf-8")
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n", encoding="utf-8")
    shutil.copy(trusted, root / "etc/ssl/certs/ca-certificates.crt")
    plain, secure = ports
    urls = {"dns": f"http://{OF_DNS}:{plain}", "hosts": f"http://{OF_HOSTS}:{plain}", "tls": f"https://{OF_DNS}:{secure}",
            "nowhere": f"http://nowhere.test:{plain}"}
    providers = {
        name: {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "key", "models": [{"id": "model"}]}
        for name, url in urls.items()
    }
    (root / "home/models.json").write_text(json.dumps({"providers": providers}), encoding="utf-8")
    (root / "home/settings.json").write_text(json.dumps({"retry": {"enabled": False}}), encoding="utf-8")
    return root


@contextlib.contextmanager
def removable(folder):
    """Takes the devices out of the root folder again."""
    try:
        yield
    finally:
        for device in DEVICES:
            subprocess.run(["umount", Path(folder, "root/dev", device)], check=True)


def ask(root, provider):
    def enter():
        os.chroot(root)
        os.chdir("/tmp")

    command = ["/bowline", "-p", "Hello?", "--model", f"{provider}/model", "--no-session"]
    environment = {"BOWLINE_HOME": "/home", "HOME": "/home"}
    return subprocess.run(command, preexec_fn=enter, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60)


def inside(binary):
    """Tries it out, in namespaces of its own."""
    bring_up_loopback()
    resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    resolver.bind(("127.0.0.1", 53))
    asked = []
    threading.Thread(target=answer_queries, args=(resolver, asked), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="bowline-static-") as folder, removable(folder):
        certificates(folder)
        ports = serve(folder)
        root = make_root(folder, binary, ports, Path(folder, "ca.pem"))
        for provider in ("dns", "hosts", "tls"):
            ended = ask(root, provider)
            assert (ended.returncode, ended.stdout) == (0, f"{ANSWER}\n"), (provider, ended)
        assert OF_DNS in asked and OF_HOSTS not in asked, asked
        ended = ask(root, "nowhere")
        assert ended.returncode != 0 and "nowhere.test" in ended.stderr, ended
        # Another authority's certificate is not trusted.
        openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        subprocess.run([*openssl, "-subj", "/CN=Other", "-keyout", os.devnull, "-out", Path(folder, "other.pem")], check=True,
                       stderr=subprocess.DEVNULL)
        ended = ask(make_root(folder, binary, ports, Path(folder, "other.pem")), "tls")
        assert ended.returncode != 0 and "certificate" in ended.stderr.lower(), ended
    print("static: in a root folder with nothing but the program: DNS, /etc/hosts, TLS")


def main():
    if sys.argv[1] == "--inside":
        inside(sys.argv[2])
        return
    binary = os.path.abspath(sys.argv[1])
    linkage = inspect(binary)
    if not linkage.is_static:
        sys.exit(f"{binary} is not static: {linkage}")
    print("static: no interpreter and no library in the binary", flush=True)
    namespaces = ["unshare", "--net", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    sys.exit(subprocess.run([*namespaces, sys.executable, __file__, "--inside", binary]).returncode)


main()
