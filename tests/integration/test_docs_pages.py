"""Every fenced block of every page is run or validated by a test, which takes it from the page; and what pages
name exists. These tests run no program, and take seconds."""

import ast
import importlib
import ipaddress
import itertools
import re

import sys

import growth
import yaml
from pages import TOP, anchors, block, blocks, links, pages
from programs import complete

sys.path[:0] = (str(TOP / "tests" / folder) for folder in ("demo", "bench", "tools", "e2e"))
# pylint: disable=wrong-import-position
import pictures  # noqa: E402
import table  # noqa: E402
import ten_days  # noqa: E402
import test_closed_loop  # noqa: E402

# A number, its unit, and the constant that it is.
FIGURE = re.compile(r"(\d[\d,]*\.?\d*) ?(%|[KM]?i?B|m?s)?\s<!-- (\w+)\.(\w+) -->")
# Parts of a constant's name: the unit on a page, and how many times as large the number is there.
UNITS = {
    "S": ("s", 1), "MS": ("ms", 1), "KIB": ("KiB", 1), "MIB": ("MiB", 1), "MB": ("MB", 1), "SHARE": ("%", 100),
}  # fmt: skip

QUICK_START = "docs/quick-start.md"
# (page, how it begins): why no test runs it.
NOT_RUN = {
    ("ARCHITECTURE.md", "node_exporter x N --scrape-->"): "a drawing",
    ("docs/admission.md", "readings, pods"): "a drawing",
    ("docs/arena.md", "make arena"): "takes hours; see tests/e2e/test_arena.py",
    ("docs/admission.md", "kubectl apply -k"): "see tests/e2e/test_admission.py",
    ("CONTRIBUTING.md", "CC=clang"): "builds and formats the tree, as make check does",
    ("docs/crane-compatibility.md", "score100"): "a formula; see test_crane_verdicts.c",
    ("docs/estimate.md", "usage    ="): "a formula; see test_node_estimate.c",
    ("docs/measured-pods.md", "kubelets --/metrics"): "a drawing",
    ("docs/measured-pods.md", "web/Deployment"): "a line; see test_workload_usage.c",
    ("docs/status-page.md", "kubectl -n"): "holds the terminal, for a browser",
    ("docs/http-api.md", "kubectl -n"): "holds the terminal",
    ("docs/install.md", "docker build"): "needs docker and a registry to push to",
    ("docs/install.md", "kube-scheduler-arg"): "of k3s' and RKE2's servers",
    ("docs/quick-start.md", "kwokctl create"): "downloads Kubernetes; e2e starts the same programs",
    ("docs/quick-start.md", "kind create"): "needs Docker and kind",
    ("docs/quick-start.md", "helm test"): "needs pods that run; test_chart.py runs the same",
    ("docs/quick-start.md", "kubectl create deployment"): "needs the cluster of kind",
    (
        "deploy/release/README.md",
        "REPOSITORY=",
    ): "makes a release; tests/release looks at two of them",
    ("deploy/README.md", "buildah bud"): "fetches its base from a registry; see test_image.py",
    ("tests/e2e/README.md", "make e2e"): "runs the tests with a real cluster",
    ("tests/e2e/README.md", "tests/e2e/tools/build.py"): "builds for these tests, and runs some",
    ("tests/integration/README.md", "PLIMSOLL_BUILD_DIR="): "runs these tests",
    ("tests/placement/README.md", "make build"): "see test_tools_placement_simulator.py",
    (
        "tests/placement/traces.md",
        "tests/placement/planetlab.py",
    ): "see test_tools_placement_traces.py",
}


def string(node, constants):
    """The value of an argument that is a literal, or a constant of its file."""
    if isinstance(node, ast.Name):
        node = constants.get(node.id)
    return node.value if isinstance(node, ast.Constant) else None


def taken():
    """{(page, name)} of every block() in the tests."""
    found = set()
    for path in sorted((TOP / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            called = (
                function.attr
                if isinstance(function, ast.Attribute)
                else getattr(function, "id", "")
            )
            if called == "block":
                row = tuple(string(argument, constants) for argument in node.args)
                assert len(row) == 2 and None not in row, f"{path}:{node.lineno}: name it literally"
                found.add(row)
    return found


def test_every_block_has_a_test():
    found = [row for page in pages() for row in blocks(page)]
    # tests/tools/readme.py holds flags and metrics to what the programs say.
    named = [row for row in found if row.mark in ("run", "check")]
    others = [row for row in found if row.mark not in ("run", "check", "flags", "metrics")]
    names = {(row.page, row.name) for row in named}
    assert len(names) == len(named), "a name twice on one page"
    asked, excused = taken(), set()
    problems = [f"{page}: no test takes {name!r}" for page, name in sorted(names - asked)]
    problems += [f"{page}: a test wants {name!r}" for page, name in sorted(asked - names)]
    for row in others:
        excuses = {
            key for key in NOT_RUN if row.page == key[0] and row.text.lstrip().startswith(key[1])
        }
        if not excuses:
            problems.append(f"{row.page}:{row.line}: name it, and let a test take it by block()")
        excused |= excuses
    problems += [
        f"{page}: no block {start!r} is without a test" for page, start in set(NOT_RUN) - excused
    ]
    assert not problems, "\n".join(problems)


def commands(text):
    """The commands of a block, without what is said about them."""
    return [line.partition(" #")[0].rstrip() for line in text.splitlines()]


def test_the_readme_repeats_what_is_run():
    """Its commands are those of docs/install.md, which the tests with a cluster run."""
    installing = commands(block("docs/install.md", "installing"))
    assert [line for line in installing if "rollout status" not in line] == commands(
        block("README.md", "installing")
    )


def test_the_quick_start_fits_the_manifests(tmp_path):
    """The scheduler of the kind cluster finds its configuration, and in it the extender's address."""
    *images, folder, sed = block(QUICK_START, "kind-configuration").splitlines()
    tags = re.findall(r"--target (\w+) -t (plimsoll-\1:\S+)", "\n".join(images))
    loaded = f"kind load docker-image {' '.join(tag for _, tag in tags)}\n"
    assert len(tags) == 2 and loaded in "".join(row.text for row in blocks(QUICK_START))
    complete("bash", "-euc", f"{folder}\ncp -r {TOP}/deploy .\n{sed}", cwd=tmp_path)
    (written,) = (tmp_path / "build-kind").iterdir()
    (extender,) = yaml.safe_load(written.read_text("utf-8"))["extenders"]
    address = re.search(r"--set extender.clusterIP=(\S+)", block(QUICK_START, "kind-install"))[1]
    assert extender["urlPrefix"] == f"http://{address}:8010/v1"
    assert ipaddress.ip_address(address) in ipaddress.ip_network("10.96.0.0/16"), "kind's default"

    cluster = yaml.safe_load((TOP / "deploy/kind/cluster.yaml").read_text("utf-8"))
    control_plane = cluster["nodes"][0]
    mounts = {row["hostPath"]: row["containerPath"] for row in control_plane["extraMounts"]}
    patches, configuration = mounts["deploy/scheduler/kubeadm-patches"], mounts["build-kind"]
    (init,) = map(yaml.safe_load, control_plane["kubeadmConfigPatches"])
    assert init == {"kind": "InitConfiguration", "patches": {"directory": patches}}
    (patch,) = (TOP / "deploy/scheduler/kubeadm-patches").iterdir()
    assert f"--config={configuration}/{written.name}" in patch.read_text("utf-8")


def test_the_recommended_policy_is_shown():
    """docs/policy.md begins with policy/policy.yaml, with remarks of its own."""
    there = yaml.safe_load((TOP / "policy/policy.yaml").read_text("utf-8"))
    assert yaml.safe_load(block("docs/policy.md", "recommended")) == there


def test_links_resolve():
    problems = []
    for page in pages():
        for line, target in links(page):
            path, _, anchor = target.partition("#")
            there = (TOP / page).parent / path if path else TOP / page
            if not there.exists():
                problems.append(f"{page}:{line}: {target}: no such file")
            elif anchor and anchor not in anchors(str(there.resolve().relative_to(TOP))):
                problems.append(f"{page}:{line}: {target}: no such heading")
    assert not problems, "\n".join(problems)


def test_the_index_has_every_page():
    there = {path.name for path in (TOP / "docs").glob("*.md")} - {"README.md"}
    assert there <= {target for _, target in links("docs/README.md")}
    verbs = {f"kubectl/{path.name}" for path in (TOP / "docs/kubectl").iterdir()}
    assert verbs <= {target.partition("#")[0] for _, target in links("docs/kubectl-plugin.md")}


def measured_row(name):
    """The cells of a row of what `tests/tools/bench scale` measures, by tests/bench/results.md."""
    measured = (TOP / "tests/bench/results.md").read_text("utf-8").partition("<!-- scale -->")[2]
    (cells,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", measured, re.M)
    return cells.split(" | ")


def measured_cores(name):
    return [f"{float(text.partition('%')[0]) / 100:.2f} CPU" for text in measured_row(name)]


def plain(text):
    """Without line breaks, and the targets of links."""
    return re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)", "]", text))


def test_the_readme_has_the_figures_of_its_pages():
    readme = plain((TOP / "README.md").read_text("utf-8"))
    programs = [
        f"{cores[0]} and {memory[0]}"
        for cores, memory in (
            (measured_cores(f"{name}, CPU"), measured_row(f"{name}, memory"))
            for name in ("controller", "extender")
        )
    ]
    nodes, interval = measured_row("nodes")[0], measured_row("scraped every")[0]
    assert (
        f"With {nodes} nodes, each read every {interval}, the controller takes {programs[0]}, "
        f"and the extender {programs[1]}." in readme
    )
    (pods,) = re.findall(
        r"for each bound pod: (\d+ MiB) for 150,000",
        plain((TOP / "docs/performance.md").read_text("utf-8")),
    )
    assert f"the extender needs {pods} more for 150,000 of them" in readme
    performance = (TOP / "tests/bench/results.md").read_text("utf-8")
    (spent,) = re.findall(
        r"^\| scheduler's CPU, 1,000 nodes, sampling default \| (.*?) \| no extender: (.*?) \|",
        performance,
        re.M,
    )
    assert f"spends {spent[0]} of CPU on a pod, and {spent[1]} without an extender" in readme
    both = re.findall(
        r"^\| ([\d,]+) \| [\w ]+ \| extender \|.*?\|.*?\| ([\d.]+)x \|", performance, re.M
    )
    nodes, worst = max(both, key=lambda row: float(row[1]))
    assert len(both) == 12 and f"with {nodes} nodes and a profile without default spread" in readme
    assert f"scheduler and extender together spend {worst}x" in readme
    concluded = plain((TOP / "docs/placement.md").read_text("utf-8"))
    unseen, _, families = concluded.partition("nothing was tuned on")[2].partition("families")
    figures = re.findall(r"\*\*[\d.]+ ± [\d.]+\*\* \([\w-]+, \d+%\)", unseen)
    figures += re.findall(r"\*\*[\d.]+ ± [\d.]+\*\*", families)[:1]
    assert len(figures) == 4 and all(figure in readme for figure in figures)


def test_sizing_is_what_was_measured():
    """The rows of sizing in docs/performance.md are those of tests/bench/results.md."""
    row, cores = measured_row, measured_cores
    patches = [cell.partition("; ")[2] for cell in row("`--patch-qps`; patches a second")]
    wanted = [
        f"| {nodes}, every {interval} | {cpu}, {memory} | {their_cpu}, {their_memory} | {patched} |"
        for nodes, interval, cpu, memory, their_cpu, their_memory, patched in zip(
            row("nodes"), row("scraped every"),
            cores("controller, CPU"), row("controller, memory"),
            cores("extender, CPU"), row("extender, memory"), patches,
        )
    ]  # fmt: skip
    page = (TOP / "docs/performance.md").read_text("utf-8")
    assert wanted and [line for line in page.splitlines() if ", every 60 s |" in line] == wanted
    compared = (TOP / "tests/bench/results.md").read_text("utf-8")
    (ms,) = re.findall(
        r"^\| controller, 1,000 nodes every 15 s, CPU \| ([\d.]+) ms/s", compared, re.M
    )
    (mib,) = re.findall(
        r"^\| controller, 1,000 nodes every 15 s, memory \| ([\d.]+) MiB", compared, re.M
    )
    measured = f"{float(ms) / 1000:.2f} CPU, {float(mib):.0f} MiB"
    assert f"\n| 1,000, every 15 s | {measured} |" in page


def test_patches_are_those_of_the_simulation():
    """With the period of the recommended policy, and 5,000 nodes."""
    results = (TOP / "tests/placement/results.md").read_text("utf-8")
    (patches,) = re.findall(r"^\| 7m \| [\d.]+ \| (\d+) \| ", results, re.M)
    performance, annotations = (
        plain((TOP / f"docs/{page}.md").read_text("utf-8"))
        for page in ("performance", "annotations")
    )
    assert f"it is {patches} patches per second for 5,000 nodes" in performance
    assert f"and about {patches} with what is written early" in annotations


def test_named_files_exist():
    """Paths from the top, as ARCHITECTURE.md and CONTRIBUTING.md name them."""
    tops = "cli|common|controller|deploy|docs|extender|policy|tests"
    missing = [
        f"{page}: {path}"
        for page in (
            *("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "deploy/README.md"),
            *("docs/how-it-works.md", "docs/security.md"),
        )
        for path in re.findall(rf"`((?:{tops})/[\w./+-]*)`", (TOP / page).read_text("utf-8"))
        if not (TOP / path).exists()
    ]
    assert not missing, "\n".join(missing)


def literals():
    """The programs' sources; adjacent literals are one."""
    sources = [
        path.read_text("utf-8")
        for room in ("cli", "common", "policy", "controller", "extender")
        for path in (TOP / room).rglob("*.c")
    ]
    return re.sub(r'"\s+"', "", "\n".join(sources))


def test_quoted_log_lines_exist():
    """Who searches a page for a line of a log finds it only as the programs write it."""
    text = literals()
    quoted = {
        (page, message)
        for page in pages()
        for message in re.findall(r'msg="([^"]+)"', (TOP / page).read_text("utf-8"))
    }
    assert quoted
    problems = [f"{page}: {msg}" for page, msg in sorted(quoted) if f'MSG("{msg}")' not in text]
    assert not problems, "\n".join(problems)


def test_quoted_reasons_exist():
    """So it is with the reasons why the plugin has no score or no decision."""
    text = re.sub(r"%\S*[a-z]", "...", literals())
    for page, title in (
        ("kubectl-plugin", "no extender answers"),
        ("kubectl/explain", "no decision"),
    ):
        table = (TOP / f"docs/{page}.md").read_text("utf-8").partition(f"| `{title}` |")[2]
        rows = table.partition("\n\n")[0].splitlines()[2:]
        cells = [reason for row in rows for reason in re.findall(r"`(.+?)`", row.split(" | ")[0])]
        quoted = [reason for reason in cells if not reason.isdigit()]
        assert len(quoted) > 1 and not [reason for reason in quoted if reason not in text]


def test_promises_have_tests():
    """docs/security.md names the test of what it promises."""
    page = (TOP / "docs/security.md").read_text("utf-8")
    named = list(re.finditer(r"`(test_\w+)`", page))
    assert len(named) > 10
    for match in named:
        name, path = match[1], re.search(r"`(tests/[\w/]+[.]py)`", page[match.end() :])[1]
        assert f"\ndef {name}(" in (TOP / path).read_text("utf-8"), f"{path} has no {name}"


def test_figures_are_those_of_the_tests():
    """`30 s <!-- test_x.TOLD_S -->` is the constant of a test, and of its unit."""
    problems, count = [], 0
    for page in pages():
        for text, unit, module, name in FIGURE.findall((TOP / page).read_text("utf-8")):
            count += 1
            found = getattr(importlib.import_module(module), name)
            units = [UNITS[part] for part in name.split("_") if part in UNITS] or [("", 1)]
            if (unit, float(text.replace(",", ""))) != (units[0][0], found * units[0][1]):
                problems.append(f"{page}: {text} {unit}: {module}.{name} is {found}")
    assert not problems and count > 30, "\n".join(problems)


def test_every_figure_is_of_a_test():
    """The faults of tests/faults.md have no figure that no test asserts, and no test that is not there."""
    page = (TOP / "tests/faults.md").read_text("utf-8")
    assert not re.findall(r".*\n?.*(?<![\w.])\d.*", re.sub(r"`[^`]*`", "", FIGURE.sub("", page)))
    files = {
        path.name for group in ("integration", "e2e") for path in (TOP / "tests" / group).iterdir()
    }
    named = set(re.findall(r"`(test_\w+\.\w+)`", page)) - {"test_request.c"}
    assert len(named) > 15 and named <= files, named - files


def test_ten_days_are_as_flat_as_the_test_demands():
    """The table of tests/bench/endurance.md, which one run has written."""
    table_of = (TOP / "tests/bench/endurance.md").read_text("utf-8").split("<!-- ten days")[1]
    rows = re.findall(r"^\| \w+, (.*?) \| .*? \| (.*?) \| (.*?) \| ([+-].*?) \|$", table_of, re.M)
    assert len(rows) == 2 * len(ten_days.MEASURES) + 2
    measures = {title: (measure, unit) for title, measure, unit in ten_days.MEASURES}
    measures[ten_days.LINES] = ("log_lines", 1)
    for title, first, last, a_day in rows:
        measure, unit = measures[title]
        found = growth.Growth(*(float(text) * unit for text in (first, last, a_day)))
        assert found.is_flat(measure), title


def test_each_way_is_as_good_as_the_test_demands():
    """The table of tests/placement/results.md, of which each row is a run."""
    table = (TOP / "tests/placement/results.md").read_text("utf-8").split("<!-- each way")[1]
    rows = re.findall(r"^\| \S+, \d+ \| (.*?) \| .*? \| (.*?) \| (.*?) \|$", table, re.M)
    bounds = [test_closed_loop.OF_DEFAULT[name] for name in ("admission", "estimate")]
    assert len(rows) >= 3
    for without, *left in rows:
        shares = [float(text) / float(without) for text in left]
        assert all(share <= bound for share, bound in zip(shares, bounds)), (without, left)


def permissions(path, suffix=""):
    """(account, object, verb) of a file with roles and their bindings."""
    objects = list(yaml.safe_load_all((TOP / path).read_text("utf-8")))
    accounts = {o["roleRef"]["name"]: o["subjects"][0]["name"] for o in objects if "roleRef" in o}
    for role in objects:
        where = role["metadata"].get("namespace")
        for rule in role.get("rules", []):
            for group, resource, verb in itertools.product(
                rule["apiGroups"], rule["resources"], rule["verbs"]
            ):
                what = f"`{resource}.{group}`" if group else f"`{resource}`"
                what += f" in `{where}`" if where else ""
                names = ", ".join(f"`{name}`" for name in rule.get("resourceNames", []))
                what += f", only {names}" if names else ""
                yield f"`{accounts[role['metadata']['name']]}`{suffix}", what, verb


def test_every_permission_is_told():
    """The table of deploy/README.md is what deploy/ grants."""
    page = (TOP / "deploy/README.md").read_text("utf-8")
    table = re.search(r"<!-- accounts -->(.*?)<!-- end -->", page, re.S)[1]
    told = {
        (account, what, verb)
        for account, what, verbs, _ in re.findall(
            r"^\| (`.*?) \| (.*?) \| (.*?) \| (.*) \|$", table, re.M
        )
        for verb in re.findall(r"`(\w+)`", verbs)
    }
    granted = {
        *permissions("deploy/base/rbac-controller.yaml"),
        *permissions("deploy/base/rbac-extender.yaml"),
        *permissions("deploy/extender-bind/rbac.yaml", " with `extender-bind`"),
        *permissions("deploy/admission/rbac.yaml", " with `admission`"),
        *permissions("deploy/idle/rbac.yaml", " with `idle`"),
        *permissions("deploy/doctor/rbac.yaml"),
        *permissions("deploy/rebalance/rbac.yaml"),
    }
    assert told == granted


def test_pictures_are_of_this_version():
    """Else `tests/tools/pictures.py` takes them again."""
    assert {path.name for path in (TOP / "docs").glob("*.png")} == set(pictures.MADE_OF)
    old = [name for name in pictures.MADE_OF if pictures.noted(name) != pictures.made_of(name)]
    assert not old


def test_picture(tmp_path):
    """The README's table has the form of the demo's."""
    shown = block("README.md", "picture")
    rows = []
    for line in shown.splitlines()[1:]:
        node, score, *ratios, pods, expected, verdict = re.split(r"\s+", line, maxsplit=6)
        ratios = [int(text.removesuffix("%")) / 100 for text in ratios]
        points = None if score == "-" else int(score)
        rows.append(table.Row(node, points, *ratios, int(pods), expected, verdict))
    with open(tmp_path / "out", "w", encoding="utf-8") as out:
        assert shown == table.render(rows, "EXPECTED", 0.8, table.Style(out)) + "\n"
