"""Pages in Firefox, as Debian packages it, driven by its own protocol (Marionette), without a separate driver."""

import base64
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

FIREFOX = os.environ.get("BOOLSHAP_FIREFOX", "/usr/bin/firefox-esr")


class Firefox:
    """A headless Firefox with an empty profile and no connections except those of the page."""

    def __init__(self, width=1280, height=800):
        self.folder = tempfile.TemporaryDirectory(prefix="boolshap-firefox-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        quiet = {
            "marionette.port": port,
            "app.update.enabled": False,
            "datareporting.policy.dataSubmissionEnabled": False,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
            "browser.shell.checkDefaultBrowser": False,
            "browser.startup.page": 0,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in quiet.items()]
        pathlib.Path(self.folder.name, "user.js").write_text("\n".join(lines))
        line = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", self.folder.name]
        line += ["--window-size", f"{width},{height}"]
        self.process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = self.connect(port)
        self.number = 0
        self.receive()
        self.call("WebDriver:NewSession", {"acceptInsecureCerts": False})
        self.call("WebDriver:SetWindowRect", {"width": width, "height": height})

    def connect(self, port):
        end = time.monotonic() + 120
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=300)
            except OSError:
                assert time.monotonic() < end and self.process.poll() is None, "Firefox did not start"
                time.sleep(0.2)

    def receive(self):
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        text = b""
        while len(text) < int(length[:-1]):
            text += self.socket.recv(int(length[:-1]) - len(text))
        return json.loads(text)

    def call(self, name, settings):
        self.number += 1
        text = json.dumps([0, self.number, name, settings])
        self.socket.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, result = self.receive()
        assert error is None, error
        return result

    def run(self, script, *arguments):
        return self.call("WebDriver:ExecuteScript", {"script": f"return {script}", "args": list(arguments)})["value"]

    def until(self, script, *arguments, seconds=300):
        end = time.monotonic() + seconds
        while not self.run(script, *arguments):
            assert time.monotonic() < end, f"never: {script}"
            time.sleep(0.02)

    def open(self, url):
        self.call("WebDriver:Navigate", {"url": url})
        self.until("document.documentElement.dataset.ready === '1'")

    def screenshot(self, path):
        image = self.call("WebDriver:TakeScreenshot", {"full": False, "hash": False})["value"]
        pathlib.Path(path).write_bytes(base64.b64decode(image))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(60)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
