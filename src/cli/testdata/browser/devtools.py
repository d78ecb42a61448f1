"""Chromium's DevTools protocol over a pipe: as much of it as looking at pages takes."""
import base64
import fcntl
import json
import os
import shutil
import signal
import tempfile

FLAGS = ["--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
         "--force-device-scale-factor=1"]


def find_chromium():
    for name in ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]:
        if found := shutil.which(name):
            return found
    return None


class Browser:
    """One tab of one browser."""

    def __init__(self, program):
        self.home = tempfile.mkdtemp(prefix="stitch_browser_")
        # Above the two numbers that the browser wants for its own.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for pair in (os.pipe(), os.pipe()) for end in pair]
        commands, self.send_to, self.read_from, answers = ends
        silent = os.open(os.devnull, os.O_RDWR)
        self.pid = os.posix_spawn(program, [program, *FLAGS, f"--user-data-dir={self.home}", "about:blank"], os.environ,
                                  file_actions=[(os.POSIX_SPAWN_DUP2, silent, 1), (os.POSIX_SPAWN_DUP2, silent, 2),
                                                (os.POSIX_SPAWN_DUP2, commands, 3), (os.POSIX_SPAWN_DUP2, answers, 4)])
        os.close(commands)
        os.close(answers)
        self.pending, self.last_id, self.session, self.messages = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)  # its other processes end with it
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.home, ignore_errors=True)

    def message(self):
        while b"\0" not in self.pending:
            piece = os.read(self.read_from, 1 << 16)
            if not piece:
                raise RuntimeError("the browser ended")
            self.pending += piece
        line, _, self.pending = self.pending.partition(b"\0")
        return json.loads(line)

    def note(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]).splitlines()[0])
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.messages.append(parameters["entry"]["text"])
        elif message.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.messages.append(" ".join(str(one.get("value", "")) for one in parameters["args"]))

    def errors(self):
        """What the console has shown since it was asked."""
        out, self.messages = self.messages, []
        return sorted(set(out))

    def call(self, method, wait_for=None, **parameters):
        """Waits for the answer, and for the event if one is named."""
        self.last_id += 1
        request = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.send_to, json.dumps(request).encode() + b"\0")
        answer = None
        while answer is None or wait_for:
            message = self.message()
            self.note(message)
            if message.get("id") == self.last_id:
                answer = message
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
            if message.get("method") == wait_for:
                wait_for = None
        return answer["result"]

    def view(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path, fragment=""):
        self.call("Page.navigate", url="about:blank", wait_for="Page.loadEventFired")  # a fragment alone loads nothing
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment, wait_for="Page.loadEventFired")

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "an exception"))
        return answer["result"].get("value")

    def press(self, key):
        codes = {"Tab": 9, "Enter": 13, "ArrowRight": 39}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key],
                      **(text if kind == "keyDown" else {}))

    def screenshot(self, path, whole=True):
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(made["data"]))
