"""Logins that extensions of pi carry out: on the terminal, for a client, renewed, and never shown."""
import json
import signal
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from client import BOWLINE, HERE, NODE, PATIENCE, Client, environment_of
from corporate import CODE, Corporate

EXTENSION = HERE / "corporate.ts"


class Logins(unittest.TestCase):
    def setUp(self):
        self.corporate = Corporate()
        self.addCleanup(self.corporate.stop)
        self.variables = {"CORPORATE_URL": self.corporate.url}

    def start(self, *arguments, credential=None, model="corp/m1", **options):
        files = {".bowline/auth.json": json.dumps({"corp": credential, "corp-own": credential})} if credential else {}
        arguments = ["-e", EXTENSION, *arguments]
        client = Client(*arguments, files=files, variables=self.variables, model=model, **options)
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        return client

    def credential(self, lasts=3600):
        """Returns a login as it is in the file."""
        tokens = self.corporate.issue()
        return {"type": "oauth", **tokens, "expires": int((time.time() + lasts) * 1000), "account": "me"}

    def home(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        home = Path(folder.name)
        (home / ".bowline").mkdir()
        (home / "work").mkdir()
        (home / ".bowline" / "settings.json").write_text(json.dumps({"nodePath": NODE}))
        return home

    def auth(self, home, *arguments, lines=()):
        return subprocess.run(
            [BOWLINE, "auth", *arguments], cwd=home / "work", env=environment_of(home, self.variables), text=True,
            input="".join(f"{line}\n" for line in lines), capture_output=True, timeout=PATIENCE)

    def answer_of(self, client, text="go"):
        client.send("prompt", message=text)
        client.until(type="agent_settled")
        return [record["message"] for record in client.seen if record["type"] == "message_end"][-1]

    def hides_secrets(self, client):
        errors = client.stop()
        written = json.dumps(client.seen) + errors
        self.assertEqual([secret for secret in self.corporate.secrets() if secret in written], [])

    def test_user_logs_in_on_the_terminal(self):
        home = self.home()
        done = self.auth(home, "login", "corp", "-e", EXTENSION, lines=["x", "1", CODE])
        self.assertEqual((done.returncode, done.stdout), (0, "Logged in to corp (Corporate AI). The login is in auth.json.\n"), done.stderr)
        for part in (f"Sign in here:\n  {self.corporate.url}/login", "  1. Work\n", "Enter a number from 1 to 2.", "Logging in with work", "Code (such as 1234): "):
            self.assertIn(part, done.stderr)
        path = home / ".bowline" / "auth.json"
        stored = json.loads(path.read_text())["corp"]
        self.assertEqual((stored["type"], stored["access"], stored["account"]), ("oauth", "access-token-1", "me"))
        self.assertIsInstance(stored["expires"], int)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertFalse([secret for secret in self.corporate.secrets() if secret in done.stdout + done.stderr])
        checked = self.auth(home, "check", "corp", "--json", "-e", EXTENSION)
        self.assertEqual(json.loads(checked.stdout), {"provider": "corp", "status": "ready", "source": "auth.json"})
        online = self.auth(home, "check", "corp", "--online", "--json", "-e", EXTENSION)
        self.assertEqual(json.loads(online.stdout)["online"], {"model": "m1", "ok": True}, online.stderr)
        self.assertEqual(self.auth(home, "remove", "corp").returncode, 0)
        checked = self.auth(home, "check", "corp", "--json", "-e", EXTENSION)
        self.assertEqual((checked.returncode, json.loads(checked.stdout)["status"]), (1, "missing"))
        self.assertIn("bowline auth login corp", json.loads(checked.stdout)["note"])

    def test_login_that_fails_or_is_given_up_changes_nothing(self):
        home = self.home()
        for lines, expected in (([], "Login cancelled"), (["1"], "Login cancelled"), (["1", "wrong"], "the server answered 400")):
            done = self.auth(home, "login", "corp", "-e", EXTENSION, lines=lines)
            self.assertEqual(done.returncode, 1)
            self.assertIn(expected, done.stderr)
        for named, expected in (("groq", "bowline auth set --provider groq"), ("corporation", "there are corp (Corporate AI)")):
            done = self.auth(home, "login", named, "-e", EXTENSION)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(expected, done.stderr)
        self.assertIn("which provider?", self.auth(home, "login", "-e", EXTENSION).stderr)
        self.assertFalse((home / ".bowline" / "auth.json").exists())

    def test_interrupt_cancels_a_login(self):
        home = self.home()
        process = subprocess.Popen(
            [BOWLINE, "auth", "login", "corp", "-e", EXTENSION], cwd=home / "work", env=environment_of(home, self.variables), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while "2. In the browser" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.stdin.write("2\n")
        process.stdin.flush()
        while "Logging in with browser" not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130)
        self.assertIn("Login cancelled: nothing was changed", errors)

    def test_provider_without_its_login_cannot_be_used(self):
        client = self.start(model="mock/m1")
        listed = client.ask("get_available_models")["data"]["models"]
        self.assertEqual([model for model in listed if model["provider"].startswith("corp")], [])
        refused = client.ask("set_model", provider="corp", modelId="m1")
        self.assertIn("bowline auth login corp", refused["error"])

    def test_requests_have_the_key_that_the_login_stands_for(self):
        for model, expected in (("corp/m1", "hello from corp"), ("corp-own/m2", "the key is right")):
            client = self.start(credential=self.credential(), model=model)
            self.assertEqual(self.answer_of(client)["content"], [{"type": "text", "text": expected}])
            self.hides_secrets(client)
        self.assertTrue(any(headers.get("x-team") == "tests" for headers in self.corporate.headers_seen))

    def test_models_follow_the_login(self):
        client = self.start(credential=self.credential())
        names = [model["name"] for model in client.ask("get_available_models")["data"]["models"] if model["provider"] == "corp"]
        self.assertEqual(names, ["M1 of me"])

    def test_expired_login_is_renewed_once_however_many_need_it(self):
        client = self.start(credential=self.credential(lasts=-10))
        path = client.home / ".bowline" / "auth.json"
        checks = [
            subprocess.Popen(
                [BOWLINE, "auth", "check", "corp", "--online", "--json", "-e", EXTENSION], cwd=client.home / "work",
                env=environment_of(client.home, self.variables), text=True, stdout=subprocess.PIPE)
            for _ in range(2)
        ]
        # In one process, a command of the extension and the model's call need it at once.
        client.send("prompt", message="/keys corp/m1")
        self.assertEqual(self.answer_of(client)["content"], [{"type": "text", "text": "hello from corp"}])
        for check in checks:
            output, _ = check.communicate(timeout=PATIENCE)
            self.assertEqual(json.loads(output)["online"], {"model": "m1", "ok": True})
        self.assertEqual(self.corporate.renewals, 1)
        stored = json.loads(path.read_text())["corp"]
        self.assertEqual((stored["access"], stored["refresh"], stored["account"]), ("access-token-2", "refresh-token-2", "me"))
        self.assertGreater(stored["expires"], time.time() * 1000)

    def test_refused_renewal_says_how_to_go_on(self):
        self.corporate.refuses_renewal = True
        for model in ("corp/m1", "corp-own/m2"):
            client = self.start(credential=self.credential(lasts=-10), model=model)
            answer = self.answer_of(client)
            self.assertEqual(answer["stopReason"], "error")
            self.assertIn("Log in again: bowline auth login corp", answer["errorMessage"])
            self.hides_secrets(client)

    def test_keys_are_masked_in_what_the_server_says(self):
        self.corporate.complaint = lambda key: f"bad key {key}"
        client = self.start(credential=self.credential())
        self.assertIn("[redacted]", self.answer_of(client)["errorMessage"])
        self.hides_secrets(client)

    def test_client_logs_the_user_in(self):
        client = self.start(model="mock/m1")
        status = lambda: next(found for found in client.ask("get_login_providers")["data"]["providers"] if found["id"] == "corp")
        self.assertEqual(status(), {"id": "corp", "name": "Corporate AI", "available": True, "authenticated": False})
        login = client.send("login", providerId="corp")
        self.assertIn(f"{self.corporate.url}/login", client.notification())
        dialog = client.until(type="extension_ui_request", method="select")
        self.assertEqual(dialog["options"], ["Work", "In the browser"])
        client.ask("get_state")
        client.answer(dialog, value="Work")
        client.answer(client.until(type="extension_ui_request", method="input"), value=CODE)
        self.assertEqual(client.until(type="response", id=login)["data"], {"providerId": "corp"})
        self.assertTrue(status()["authenticated"])
        self.assertTrue(client.ask("set_model", provider="corp", modelId="m1")["success"])
        self.assertEqual(self.answer_of(client)["content"], [{"type": "text", "text": "hello from corp"}])
        deadline = time.monotonic() + PATIENCE
        names = []
        while "M1 of me" not in names and time.monotonic() < deadline:
            names = [model["name"] for model in client.ask("get_available_models")["data"]["models"]]
        self.assertIn("M1 of me", names)
        self.hides_secrets(client)

    def test_login_of_a_client_ends_with_an_abort_and_without_an_answer(self):
        client = self.start(model="mock/m1")
        login = client.send("login", providerId="corp")
        client.answer(client.until(type="extension_ui_request", method="select"), cancelled=True)
        self.assertEqual(client.until(type="response", id=login)["code"], "cancelled")
        login = client.send("login", providerId="corp")
        client.answer(client.until(type="extension_ui_request", method="select"), value="In the browser")
        client.until(type="extension_ui_request", method="notify", message="Logging in with browser")
        client.send("abort")
        self.assertEqual(client.until(type="response", id=login)["code"], "cancelled")
        login = client.send("login", providerId="corp")
        client.answer(client.until(type="extension_ui_request", method="select"), value="Work")
        client.answer(client.until(type="extension_ui_request", method="input"), value="wrong")
        failed = client.until(type="response", id=login)
        self.assertEqual(failed["code"], "no_credentials")
        self.assertIn("the server answered 400", failed["error"])

    def test_registry_tells_the_truth_about_keys(self):
        client = self.start("--models", "corp/m1:off,mock/*", credential=self.credential(), model="mock/m1")
        told = {}
        for model in ("corp/m1", "mock/m1"):
            client.send("prompt", message=f"/keys {model}")
            told[model] = json.loads(client.notification())
        corp = told["corp/m1"]
        self.assertEqual((corp["oauth"], corp["configured"], corp["ok"], corp["same"], corp["right"]), (True,) * 5)
        self.assertEqual((corp["status"], corp["headers"]), ({"configured": True, "source": "stored"}, {"x-team": "tests"}))
        self.assertEqual(corp["scoped"][0], ["m1", "off"])
        self.assertIn(["m1", None], corp["scoped"][1:])
        mock = told["mock/m1"]
        self.assertEqual((mock["oauth"], mock["configured"], mock["ok"], mock["right"]), (False, True, True, False))
        client.send("prompt", message="/store groq sk-stored-by-an-extension")
        self.assertEqual(json.loads(client.notification()), {"configured": True, "source": "stored"})
        stored = json.loads((client.home / ".bowline" / "auth.json").read_text())
        self.assertEqual(stored["groq"], {"type": "api_key", "key": "sk-stored-by-an-extension"})
        client.send("prompt", message="/store groq")
        self.assertEqual(json.loads(client.notification()), {"configured": False})

    def test_extension_of_a_project_gets_no_login(self):
        files = {"work/.pi/extensions/corporate.ts": EXTENSION.read_text(), ".bowline/auth.json": json.dumps({"corp": self.credential()})}
        client = Client("--approve", files=files, variables=self.variables)
        self.addCleanup(lambda: client.process.poll() is None and client.stop())
        refused = client.ask("login", providerId="corp")
        self.assertIn("of an extension of the project", refused["error"])
        refused = client.ask("set_model", provider="corp", modelId="m1")
        self.assertFalse(refused["success"])
