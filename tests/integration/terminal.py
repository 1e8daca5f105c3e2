"""What programs print on a terminal."""

import os
import pty
import subprocess

from harness import clean_environment


def on_terminal(argv, columns=80, stream="stdout", status=0, env=None, **more):
    """What it prints on a terminal of so many columns, in colours unless `env` has NO_COLOR."""
    clean = {key: value for key, value in clean_environment().items() if key != "NO_COLOR"}
    env = {**clean, "TERM": "xterm", **(env or {})}
    master, slave = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", "50"], stdin=slave, check=True)
    more = {"stdin": subprocess.DEVNULL, stream: slave, **more}
    with subprocess.Popen(argv, env=env, **more) as process:
        os.close(slave)
        output = b""
        try:
            while piece := os.read(master, 65536):
                output += piece
        except OSError:  # the other side has closed
            pass
        assert process.wait(30) == status
    os.close(master)
    return output.decode()
