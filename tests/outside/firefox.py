"""Firefox as Debian packages it, spoken to by its own protocol (Marionette: messages as JSON, each behind its length)."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

FIREFOX = os.environ.get("BOOLSHAP_FIREFOX", shutil.which("firefox-esr") or shutil.which("firefox"))


class Firefox:
    """A browser without a window."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="boolshap-firefox-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {"marionette.port": port, "datareporting.policy.dataSubmissionEnabled": False}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        (pathlib.Path(self.profile) / "user.js").write_text("\n".join(lines) + "\n")
        line = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", self.profile, "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(line, env=os.environ | {"MOZ_HEADLESS": "1", "HOME": self.profile}, **quiet)
        end = time.monotonic() + 120
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
                break
            except OSError:
                assert time.monotonic() < end and self.process.poll() is None, "Firefox never listened"
                time.sleep(0.1)
        self.number, self.rest = 0, b""
        self.receive()
        self.send("WebDriver:NewSession", {"strictFileInteractability": False})

    def receive(self):
        while b":" not in self.rest or len(self.rest) < sum(self.needed()):
            more = self.socket.recv(1 << 16)
            assert more, "Firefox has gone"
            self.rest += more
        length, begin = self.needed()
        message, self.rest = self.rest[begin : begin + length], self.rest[begin + length :]
        return json.loads(message)

    def needed(self):
        length, _, _ = self.rest.partition(b":")
        return int(length), len(length) + 1

    def send(self, name, parameters):
        self.number += 1
        message = json.dumps([0, self.number, name, parameters])
        self.socket.sendall(f"{len(message.encode())}:{message}".encode())
        _, _, error, result = self.receive()
        assert error is None, error
        return result

    def open(self, url):
        self.send("WebDriver:Navigate", {"url": url})

    def run(self, script, *arguments):
        """What a script returns that runs in the page."""
        parameters = {"script": script, "args": list(arguments), "newSandbox": False, "sandbox": None}
        return self.send("WebDriver:ExecuteScript", parameters)["value"]

    def until(self, expression, seconds=300):
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({expression});"):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.02)

    def click(self, selector):
        found = self.send("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        self.send("WebDriver:ElementClick", {"id": next(iter(found.values()))})

    def give_file(self, selector, path):
        found = self.send("WebDriver:FindElement", {"using": "css selector", "value": selector})["value"]
        self.send("WebDriver:ElementSendKeys", {"id": next(iter(found.values())), "text": str(path)})

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.profile, ignore_errors=True)
