"""A throwaway CA with a server certificate, made with the openssl program."""

import os
import subprocess

SUBJECT_ALT_NAMES = "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:::1"


def _openssl(directory, *arguments):
    subprocess.run(
        ["openssl", *arguments], cwd=directory, check=True, capture_output=True, timeout=60
    )


def _certificate(directory, name, subject, extensions, issuer=None):
    with open(os.path.join(directory, f"{name}.ext"), "w", encoding="ascii") as file:
        file.write(extensions)
    _openssl(
        directory,
        *("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key"),
    )
    _openssl(
        directory,
        *("req", "-new", "-key", f"{name}.key", "-subj", subject, "-out", f"{name}.csr"),
    )
    if issuer:
        signer = ("-CA", f"{issuer}.crt", "-CAkey", f"{issuer}.key", "-CAcreateserial")
    else:
        signer = ("-signkey", f"{name}.key")
    _openssl(
        directory,
        *("x509", "-req", "-in", f"{name}.csr", *signer, "-days", "30", "-sha256"),
        *("-extfile", f"{name}.ext", "-out", f"{name}.crt"),
    )
    os.chmod(os.path.join(directory, f"{name}.key"), 0o600)


def make(directory):
    """Create ca and server (.crt, .key) in `directory`, unless they are there."""
    os.makedirs(directory, exist_ok=True)
    if os.path.exists(os.path.join(directory, "server.crt")):
        return
    _certificate(
        directory,
        "ca",
        "/CN=standin-ca",
        "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n",
    )
    server = f"subjectAltName={SUBJECT_ALT_NAMES}\nextendedKeyUsage=serverAuth\n"
    _certificate(directory, "server", "/CN=kubernetes", server, "ca")
