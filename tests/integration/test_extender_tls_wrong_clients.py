"""Client certificates that the extender refuses with --client-ca-file; one of its CA it serves."""

import base64
import re
import shutil
import ssl

import pytest

from programs import complete
from tls_kit import Authority, Volume

LAST_TIME = re.compile(rb"\d{12}Z(?!.*\d{12}Z)", re.DOTALL)
REFUSED = (ssl.SSLError, ConnectionError)


def bundle(folder, pair, *issuers):
    """The pair with its issuers after it, as a client shows a chain."""
    path = folder / "chain.crt"
    with open(path, "wb") as file:
        for source in (pair[0], *issuers):
            with open(source, "rb") as content:
                shutil.copyfileobj(content, file)
    return str(path), pair[1]


def issued_by(folder, pair):
    """A client's certificate whose issuer is one that is no CA."""
    other = Authority(str(folder / "other"), "other")
    issuer, other.cert, other.key = pair, *pair
    return bundle(folder, other.client(), issuer[0])


def spoilt(folder, pair, change):
    """The certificate after a change of its bytes."""
    with open(pair[0], encoding="ascii") as file:
        body = re.search(r"-----\n(.*?)-----END", file.read(), re.DOTALL).group(1)
    der = base64.b64decode(body)
    assert change(der) != der
    changed = base64.encodebytes(change(der)).decode()
    path = folder / "spoilt.crt"
    path.write_text(f"-----BEGIN CERTIFICATE-----\n{changed}-----END CERTIFICATE-----\n")
    return str(path), pair[1]


def self_signed(folder, _):
    authority = Authority(str(folder / "self"), "kube-scheduler")
    return authority.cert, authority.key


WRONG = {
    "none": lambda folder, ours: None,
    "another CA's": lambda folder, ours: Authority(str(folder / "x"), "theirs").client(),
    "of a CA of the same name": lambda folder, ours: Authority(str(folder / "x"), "ours").client(),
    "of another CA, with ours after it": lambda folder, ours: bundle(
        folder, Authority(str(folder / "x"), "theirs").client(), ours.cert
    ),
    "signed by itself": self_signed,
    "expired": lambda folder, ours: ours.client(days=-1),
    "a server's": lambda folder, ours: ours.server(),
    "for code": lambda folder, ours: ours.sign("kube-scheduler", "codeSigning"),
    "for no purpose": lambda folder, ours: ours.sign("kube-scheduler", None),
    "for time stamps": lambda folder, ours: ours.sign("kube-scheduler", "timeStamping"),
    "issued by a client": lambda folder, ours: issued_by(folder, ours.client()),
    "issued by the server": lambda folder, ours: issued_by(folder, ours.server()),
    "an unknown critical extension": lambda folder, ours: ours.sign(
        "kube-scheduler", "clientAuth\n1.2.3.4=critical,ASN1:NULL"
    ),
    "another name after it was signed": lambda folder, ours: spoilt(
        folder, ours.client(), lambda der: der.replace(b"kube-scheduler", b"kube-schedules")
    ),
    "another signature": lambda folder, ours: spoilt(
        folder, ours.client(), lambda der: der[:-1] + bytes([der[-1] ^ 1])
    ),
    "another end after it was signed": lambda folder, ours: spoilt(
        folder, ours.client(days=-1), lambda der: LAST_TIME.sub(b"300101000000Z", der)
    ),
}


@pytest.fixture(scope="module", name="ours")
def fixture_ours(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("ours")), "ours")


@pytest.fixture(scope="module", name="extender")
def fixture_extender(module_start_standin, module_start_extender, ours, tmp_path_factory):
    volume = Volume(str(tmp_path_factory.mktemp("volume")), ours.server(), ours.cert)
    standin = module_start_standin("--nodes", 1)
    return module_start_extender(standin, *volume.flags(), scheme="https")


def client(ours, pair):
    context = ssl.create_default_context(cafile=ours.cert)
    if pair:
        context.load_cert_chain(*pair)
    return context


def ask(extender, context):
    with extender.scheduler(context=context) as scheduler:
        return scheduler.filter(["a"])[1]


@pytest.mark.parametrize("kind", WRONG)
def test_refused(extender, ours, tmp_path, kind):
    wrong = client(ours, WRONG[kind](tmp_path, ours))
    with pytest.raises(REFUSED):
        ask(extender, wrong)
    assert ask(extender, client(ours, ours.client())) == {}


def test_allowed_names(start_standin, start_extender, ours, tmp_path):
    volume = Volume(str(tmp_path), ours.server(), ours.cert)
    extender = start_extender(
        start_standin("--nodes", 1),
        *volume.flags(),
        "--client-allowed-names=kube-scheduler",
        "--client-allowed-names=prometheus",
        scheme="https",
    )
    for name in ("kube-scheduler", "prometheus"):
        assert ask(extender, client(ours, ours.client(name))) == {}
    for name in ("kube-schedule", "kube-scheduler-2", "KUBE-SCHEDULER", "somebody"):
        with pytest.raises(REFUSED):
            ask(extender, client(ours, ours.client(name)))
    extender.process.wait_log("common name is not allowed")


def test_allowed_names_need_a_ca():
    done = complete("plimsoll-extender", "--check-config", "--client-allowed-names=a", status=2)
    assert "TLS needs both a certificate and a key" in done.stderr
