"""ServiceAccount tokens that live for seconds. The API server itself gives none below 10 minutes."""

import base64
import json
import subprocess
import time

# An ECDSA signature of P-256 in a token: two numbers of so many bytes.
NUMBER_BYTES = 32
# The API server takes a token for so much longer, in case that clocks differ (go-jose's leeway).
LEEWAY_S = 60


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def claims(token):
    """What a token says about itself."""
    return json.loads(decode(token.split(".")[1]))


def sign(text, key_file):
    """ES256: openssl writes the two numbers as DER, a token wants them one after the other."""
    argv = ["openssl", "dgst", "-sha256", "-sign", key_file]
    der = subprocess.run(argv, input=text.encode("ascii"), capture_output=True, check=True).stdout
    numbers, at = [], 2  # SEQUENCE, its length
    for _ in range(2):
        length = der[at + 1]  # INTEGER, its length, its bytes: a leading zero, or too few
        number = der[at + 2 : at + 2 + length].lstrip(b"\0")
        numbers.append(number.rjust(NUMBER_BYTES, b"\0"))
        at += 2 + length
    return encode(b"".join(numbers))


def short_lived(token, lifetime_s, key_file):
    """The same token, signed by the cluster's key, but taken for `lifetime_s` only."""
    said = claims(token) | {"exp": int(time.time() + lifetime_s - LEEWAY_S)}
    text = f"{token.split('.')[0]}.{encode(json.dumps(said).encode())}"
    return f"{text}.{sign(text, key_file)}"
