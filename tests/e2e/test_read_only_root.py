"""Both programs write nothing: each runs with a read-only root, as nobody and without capabilities, and
strace shows what it opens."""

import re

from cluster.plimsoll import ask, wait_ready
from cluster.workloads import pod_object
from harness import wait_until

CPU = "cpu_usage_avg_5m"
TRACE = "strace -D -f -qq -e trace=%file"
# Calls that change what they name, and opened files that are to be written.
CHANGES = re.compile(
    r"\b(?:creat|mkdir|mknod|unlink|rmdir|rename|link|symlink|truncate|chmod|chown|utimens)\w*\(.*"
    r"|\bopen(?:at2?)?\(.*\bO_(?:WRONLY|RDWR|CREAT|TRUNC|TMPFILE)\b.*"
)
# Files that a program opens once it is running. It forbids others to read its memory, strace too, which
# therefore shows the address of a name.
OWN_FILES = re.compile(r"\bopenat\(AT_FDCWD, 0x[0-9a-f]+, O_RDONLY")


def test_nothing_is_written(plane, fleet, exporters, make_plimsoll, figure):
    (node,) = fleet.add(1, load={"cpu": 0.3, "mem": 0.2})
    plimsoll = make_plimsoll(plane, "release")
    controller = plimsoll.as_pod(
        "plimsoll-controller", f"--target-url-template=http://{{address}}:{exporters.port}/metrics", "--scrape-interval=1s",
        "--leader-elect-resource-namespace=kube-system", "--health-port=0", wrapper=TRACE,
    )  # fmt: skip
    extender = plimsoll.as_pod("plimsoll-extender", "--port=0", wrapper=TRACE)
    for program in (controller, extender):
        program.url = f"http://127.0.0.1:{program.wait_port(r'msg=serving .*port=([0-9]+)')}"
        wait_ready(program)
    wait_until(lambda: CPU in fleet.annotations(node), 60, "annotations")
    assert ask(extender, "filter", pod_object("web-0"), [node])["NodeNames"] == [node]

    for program in (controller, extender):
        with open(f"/proc/{program.pid}/status", encoding="ascii") as file:
            assert re.search(r"^Uid:\s+65532\b", file.read(), re.MULTILINE)
        assert program.stop() == 0
        trace = program.stderr()
        changes = [found[0] for found in CHANGES.finditer(trace) if "/dev/null" not in found[0]]
        assert OWN_FILES.search(trace) and not changes, changes
    figure("both work with a read-only root, and open no file to write it")
