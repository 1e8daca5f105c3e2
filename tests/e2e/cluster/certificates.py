"""Keys and certificates of one cluster. EC P-256: a dozen of them take half a second."""

import os
import subprocess


class Authority:
    """A certificate authority in a directory, and what it has signed."""

    def __init__(self, directory, name="ca"):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.cert, self.key = self._paths(name)
        self._openssl(name, f"/CN=plimsoll-e2e-{name}", [], self_signed=True)

    def _paths(self, name):
        return (os.path.join(self.directory, f"{name}{end}") for end in (".crt", ".key"))

    def _openssl(self, name, subject, extensions, self_signed=False, days=2):
        cert, key = self._paths(name)
        argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        argv += ["-nodes", "-days", str(days), "-subj", subject, "-out", cert, "-keyout", key]
        if not self_signed:
            argv += ["-CA", self.cert, "-CAkey", self.key]
        for extension in extensions:
            argv += ["-addext", extension]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
        return cert, key

    def server(self, name, addresses, names=("localhost",)):
        """A server's certificate: (certificate file, key file)."""
        alternatives = [f"IP:{a}" for a in addresses] + [f"DNS:{n}" for n in names]
        return self._openssl(
            name,
            f"/CN={name}",
            [
                "basicConstraints=critical,CA:FALSE",
                f"subjectAltName={','.join(alternatives)}",
                "extendedKeyUsage=serverAuth,clientAuth",
            ],
        )

    def client(self, name, user, group=None):
        """A client's certificate for a Kubernetes user: (certificate file, key file)."""
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        return self._openssl(
            name,
            subject,
            ["basicConstraints=critical,CA:FALSE", "extendedKeyUsage=clientAuth"],
        )


def signing_key(directory, name="service-account"):
    """The key that signs ServiceAccount tokens: (private, public) files."""
    private = os.path.join(directory, f"{name}.key")
    public = os.path.join(directory, f"{name}.pub")
    for argv in (
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private],
        ["pkey", "-in", private, "-pubout", "-out", public],
    ):
        subprocess.run(["openssl", *argv], check=True, capture_output=True)
    return private, public
