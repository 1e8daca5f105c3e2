"""Headless Chromium, by the DevTools protocol over a pipe: opens a page, runs scripts in it, presses keys,
takes pictures."""

import base64
import json
import os
import shutil
import signal
import subprocess
import time

LIMIT_S = 60
FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--mute-audio"),
    *("--no-first-run", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--force-color-profile=srgb",
    ),
)


class Browser:
    """One browser with one page; a context manager."""

    def __init__(self, directory):
        program = shutil.which("chromium")
        assert program, "apt-get install chromium"
        here, theirs = os.pipe(), os.pipe()
        # Chromium reads commands from descriptor 3 and writes to 4.
        argv = ["bash", "-c", f'exec "$@" 3<&{here[0]} 4>&{theirs[1]}', "_", program, *FLAGS]
        argv += [f"--user-data-dir={directory}", "about:blank"]
        with open(os.path.join(directory, "chromium.log"), "wb") as log:
            self.process = subprocess.Popen(
                argv,
                pass_fds=(here[0], theirs[1]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "HOME": directory},
            )
        os.close(here[0])
        os.close(theirs[1])
        self.out = os.fdopen(here[1], "wb", buffering=0)
        self.input = os.fdopen(theirs[0], "rb", buffering=0)
        self.rest, self.number, self.session = b"", 0, None
        self.events = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(row["targetId"] for row in targets if row["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.out.close()
        self.input.close()

    def _message(self):
        while b"\0" not in self.rest:
            data = self.input.read(1 << 20)
            assert data, "Chromium has ended; see chromium.log"
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        """One command; what it returns."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, script):
        """The value of an expression in the page, which may be a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script, what):
        """Until an expression is true."""
        deadline = time.monotonic() + LIMIT_S
        while not self.evaluate(script):
            assert time.monotonic() < deadline, f"waited {LIMIT_S} s for {what}"
            time.sleep(0.05)

    def show(self, url, width, height, scheme="light", is_phone=False):
        """Open a page in a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if is_phone else 1,
            mobile=is_phone,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.call("Emulation.setEmulatedMedia", features=features)
        self.events.clear()
        self.call("Page.navigate", url=url)

    def press(self, key, text=""):
        """A key, as a person presses it."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                text=text if kind == "keyDown" else "",
                windowsVirtualKeyCode=27 if key == "Escape" else 0,
            )

    def picture(self, path):
        """What is in sight, as a PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the page's console says, and exceptions: violations of the policy are there too."""
        self.evaluate("0")
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
            elif event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:500])
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(parameters["args"])[:500])
        return found
