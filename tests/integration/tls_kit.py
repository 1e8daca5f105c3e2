"""Certificates and the volume that they are mounted from."""

import os
import subprocess

NAMES = "DNS:localhost,IP:127.0.0.1"


def openssl(*arguments, days_ago=0):
    argv = ["faketime", f"{days_ago} days ago"] if days_ago else []
    argv += ["openssl", *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"openssl {arguments}: {done.stderr}"
    return done.stdout


class Authority:
    """A CA in a directory; what it signs are pairs (certificate file, key file)."""

    def __init__(self, directory, name):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.count = 0
        self.cert, self.key = self._path(name, "crt"), self._path(name, "key")
        argv = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        argv += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        argv += ["-subj", f"/CN={name}", "-days", 2, "-keyout", self.key, "-out", self.cert]
        openssl(*argv)

    def _path(self, name, end):
        return os.path.join(self.directory, f"{name}.{end}")

    def sign(self, name, usage, days=2, names=NAMES):
        """`days` may be negative: it has expired then. `names` are those that it is valid for; `usage`
        None: it has no extended key usage."""
        self.count += 1
        stem = f"{name}-{self.count}"
        cert, key, request = (self._path(stem, end) for end in ("crt", "key", "csr"))
        extensions = self._path(stem, "ext")
        with open(extensions, "w", encoding="ascii") as file:
            if usage:
                file.write(f"extendedKeyUsage={usage}\n")
            file.write(f"subjectAltName={names}\n")
            file.write("authorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n")
        argv = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl(*argv, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        argv = ["x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key]
        days_ago = max(0, 1 - days)
        argv += ["-CAcreateserial", "-days", days + days_ago, "-extfile", extensions, "-out", cert]
        openssl(*argv, days_ago=days_ago)
        return cert, key

    def server(self, name="extender", **more):
        return self.sign(name, "serverAuth", **more)

    def client(self, name="kube-scheduler", **more):
        return self.sign(name, "clientAuth", **more)


class Volume:
    """A Secret as the kubelet mounts it: everything in it changes with one rename of a link."""

    FILES = ("tls.crt", "tls.key", "ca.crt")

    def __init__(self, directory, pair, ca=None):
        self.directory = directory
        self.generation = 0
        self.write(pair, ca)
        for name in self.FILES[: 3 if ca else 2]:
            os.symlink(f"..data/{name}", self.path(name))

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def write(self, pair, ca=None):
        """Put other content in place of all of it; `ca` may be several files."""
        self.generation += 1
        name = f"..generation-{self.generation}"
        os.makedirs(self.path(name))
        cas = [ca] if isinstance(ca, str) else ca or []
        for target, sources in zip(self.FILES, ([pair[0]], [pair[1]], cas)):
            with open(self.path(name, target), "wb") as file:
                for source in sources:
                    with open(source, "rb") as content:
                        file.write(content.read())
        os.symlink(name, self.path("..data_tmp"))
        os.rename(self.path("..data_tmp"), self.path("..data"))

    def flags(self):
        found = [
            f"--tls-cert-file={self.path('tls.crt')}",
            f"--tls-private-key-file={self.path('tls.key')}",
        ]
        if os.path.islink(self.path("ca.crt")):
            found += [f"--client-ca-file={self.path('ca.crt')}", "--health-port=0"]
        return found
