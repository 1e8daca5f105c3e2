"""`trial`: what Plimsoll would do if kube-scheduler asked, as an extender counts and as people read it."""

import json

import pytest
import yaml

from extender_kit import annotate, policy
from harness import wait_until
from pages import block, run_commands
from paper_cluster import EXTENDERS, SYSTEM
from policies import ago, node_names
from programs import complete

NODES = node_names(2)
A, B = NODES
PAGE = f"{SYSTEM}/pods/{{}}:8010/proxy/trial"


def trial_page(**changed):
    """The one that the picture of the page shows."""
    page = json.loads(block("extender/README.md", "trial"))
    return {
        key: {**page[key], **value} if isinstance(value, dict) else value
        for key, value in {**page, **changed}.items()
    }


@pytest.fixture
def say(cluster, plimsoll):
    def call(*pages, flags=()):
        for name, page in zip(EXTENDERS, pages, strict=False):
            cluster.objects[PAGE.format(name)] = page
        return plimsoll("trial", *flags)

    return call


def test_picture(say):
    assert say(trial_page()) == block("docs/kubectl/trial.md", "trial-picture")
    assert json.loads(say(trial_page(), flags=("-ojson",))) == trial_page()
    assert yaml.safe_load(say(trial_page(), flags=("-oyaml",))) == trial_page()


def test_verdicts(say):
    for ratio, said in (
        ({"middle": 0.9, "low": 0.7, "high": 1.1}, "no gain: "),
        ({"middle": 1.4, "low": 1.1, "high": 1.7}, "a loss: "),
        ({"middle": None, "low": None, "high": None}, "too early: "),
        (None, "too early: "),
    ):
        assert f"\n{said}" in say(trial_page(ratio=ratio)), said
    assert "\ntoo early: " in say(trial_page(countedSeconds=120))
    assert "\nno pod is judged: " in say(trial_page(scoring="absolute"))
    none = {"real": 0, "virtual": 0}
    assert "\nno node is hot: " in say(trial_page(hotMinutes=none))
    fresh = trial_page(
        since=None, countedSeconds=0, pods={"judged": 0}, countedMinutes=none, hotMinutes=none
    )
    assert say(fresh).startswith("since now, 0s counted; 0 pods judged, ")
    assert "older pods" in say(fresh) and " 0% " in say(fresh)
    assert "2h1m counted" in say(trial_page(countedSeconds=7301))


HELD = {
    "heldBack": 0.05,
    "countedMinutes": {"real": 20000, "virtual": 400000},
    "hotMinutes": {"real": 1820, "virtual": 14000},
    "veryHotMinutes": {"real": 300, "virtual": 2000},
    "ratio": {"middle": 0.385, "low": 0.31, "high": 0.47},
    "askedAt": "2026-12-04T09:00:11.000Z",
}


def test_held_back(say):
    assert say(trial_page(**HELD)) == block("docs/kubectl/trial.md", "held-picture")
    worse = {"middle": 1.4, "low": 1.1, "high": 1.7}
    unasked = say(trial_page(**HELD | {"ratio": worse, "askedAt": None}))
    assert "\na loss: " in unasked
    assert "\nkube-scheduler has not asked: " in unasked


def test_the_longest_of_several(say):
    """And a scheduler asks one of them."""
    asked, before = ago(60), ago(120)
    for times in ((None, asked), (before, asked), (asked, before), (asked, None)):
        pages = [trial_page(askedAt=times[0]), trial_page(countedSeconds=3000, askedAt=times[1])]
        table = say(*pages)
        assert say(*reversed(pages)) == table.replace(*EXTENDERS)
        assert f"kube-scheduler asked at {asked}: no pod is judged" in table
        assert "\na gain: " in table


def test_refused(cluster, plimsoll):
    said = plimsoll("trial", status=2)
    assert "no extender has a trial: " in said and "404" in said
    cluster.objects[PAGE.format(EXTENDERS[0])] = trial_page(version=2)
    assert "answers in version 2, and this plugin knows version 1" in plimsoll("trial", status=2)
    assert "expected nothing but flags" in plimsoll("trial", "now", status=2)


def test_absurd_numbers(say):
    """Of a page that is not an extender's."""
    huge = {"real": 1e300, "virtual": -1e300}
    pods = {"judged": -5, "running": 1e300}
    for counted_s in (-1e9, 1e308):
        shown = say(trial_page(countedSeconds=counted_s, hotMinutes=huge, pods=pods))
        assert "time above 80% CPU" in shown
        assert max(map(len, shown.splitlines())) < 200, shown


def test_docs(say, cluster):
    say(trial_page())
    run_commands(block("docs/kubectl/trial.md", "trial"), f"-s {cluster.url}")


def test_an_extender_that_nobody_asks(start_standin, start_extender, plimsoll, cluster):
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, usage in zip(NODES, (0.6, 0.1), strict=True):
        annotate(standin, name, usage)
    extender = start_extender(standin, content=policy(scoring="estimate"))
    extender.wait_ready(r"(?m)pods: \d+ pods$")
    standin.add_pods(3, prefix="web-", nodes=[A])

    def page():
        answer = extender.page_of_now("/trial")
        assert answer.status == 200
        return json.loads(answer.text)

    wait_until(lambda: page()["pods"]["judged"] == 3, 30, "the pods to be judged")
    assert page()["pods"]["displaced"] == 3 and page()["askedAt"] is None
    assert page().keys() == trial_page().keys()
    assert extender.call("POST", "/trial", "").status == 405
    cluster.ask(extender)
    assert " 3 pods judged, 0 not\n" in plimsoll("trial")
    with extender.scheduler() as scheduler:
        scheduler.filter(NODES)
    wait_until(lambda: page()["askedAt"], 30, "the call to be on the page")
    standin.add_pods(1, prefix="later-", nodes=[A])
    wait_until(lambda: page()["pods"]["running"] == 4, 30, "the last pod to be seen")
    assert page()["pods"]["judged"] == 3


def test_pods_that_are_held_back(start_standin, start_extender, plimsoll, cluster):
    """A half of all, by their uids, on every replica. The limits do not apply to them."""
    standin = start_standin()
    standin.admin("nodes", {"names": NODES, "cpus": 10, "memory_gib": 100})
    for name, usage in zip(NODES, (0.9, 0.1), strict=True):
        annotate(standin, name, usage)
    extender = start_extender(standin, "--hold-back=50", content=policy(scoring="estimate"))
    extender.wait_ready(r"(?m)pods: \d+ pods$")
    with extender.scheduler() as scheduler:
        for uid, passed, scores in (
            ("00000000-0000-4000-8000-000000000000", NODES, {0}),
            ("7fffff00-0000-4000-8000-000000000000", NODES, {0}),
            ("80000100-0000-4000-8000-000000000000", [B], {10}),
            ("ffffffff-0000-4000-8000-000000000000", [B], {10}),
        ):
            pod = {"metadata": {"namespace": "shop", "name": f"web-{uid[0]}", "uid": uid}}
            assert scheduler.filter(NODES, pod=pod)[0] == passed, uid
            assert set(scheduler.prioritize(passed, pod=pod).values()) == scores, uid
    cluster.ask(extender)
    said = plimsoll("explain", "pod", "web-0", "-n", "shop")
    assert "held back: kube-scheduler places it" in said, said
    assert "; 50% of all pods held back\n" in plimsoll("trial")


def test_with_admission_there_is_none(start_standin, start_extender):
    flags = ("--admission", "--hold-back=5", "--check-config")
    said = complete("plimsoll-extender", *flags, status=2).stderr
    assert "cannot be combined with --admission" in said
    extender = start_extender(start_standin(), "--admission", content=policy(scoring="estimate"))
    assert extender.page("/trial").status == 404
