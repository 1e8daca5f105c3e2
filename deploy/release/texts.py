"""What a release says of itself: notes, the manifest for krew, checksums, and the list of its files."""

import hashlib
import re

KREW = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: plimsoll
spec:
  version: v{version}
  homepage: {homepage}
  shortDescription: Show the load of nodes and how pods were placed by it
  description: |
    Shows what Plimsoll does in a cluster: the load and the limits of each node, why
    a pod is where it is, what another policy would change, and what is wrong with an
    installation. Only rebalance --apply changes anything.
  platforms:
"""
KREW_PLATFORM = """\
  - selector:
      matchLabels: {{os: {system}, arch: {architecture}}}
    uri: {uri}
    sha256: {sha256}
    bin: {program}
    files:
    - {{from: "*/{program}", to: .}}
    - {{from: "*/LICENSE", to: .}}
"""


def notes(changelog, version):
    """The chapter of CHANGELOG.md about a version."""
    found = re.search(rf"^## {re.escape(version)}(?![\d.]).*\n+((?:(?!## ).*\n)+)", changelog, re.M)
    if not found:
        raise SystemExit(f"CHANGELOG.md has no chapter about {version}")
    return found[1].strip() + "\n"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def krew(release, archives):
    """@archives: (system, architecture, the tar.gz with the plugin)"""
    text = KREW.format(version=release.version, homepage=release.repository)
    for system, architecture, path in archives:
        text += KREW_PLATFORM.format(
            system=system, architecture=architecture, uri=release.asset(path.name),
            sha256=sha256(path), program="kubectl-plimsoll",
        )  # fmt: skip
    return text


# What a file is, by its name: the first that fits.
KINDS = (
    (r"kubectl-plimsoll-.*-in-cluster\.tar\.gz", "the plugin for macOS and Windows: a script that runs it in the cluster"),
    (r"kubectl-plimsoll-.*\.tar\.gz", "the plugin, for any Linux; krew installs it"),
    (r"plimsoll-(controller|extender)-.*\.tar\.gz", "the program for Debian 12 and what has its libraries"),
    (r".*\.deb", "package for Debian 12 and 13"),
    (r"plimsoll-chart-.*\.oci\.tar", "the chart as an OCI artifact"),
    (r".*\.oci\.tar", "image for each processor, with one index"),
    (r"plimsoll-[\d.]+\.tgz", "the Helm chart"),
    (r".*\.spdx\.json", "SBOM"),
    (r"plimsoll\.yaml", "manifest for krew"),
    (r"artifacthub-repo\.yml", "who owns the chart, for Artifact Hub"),
    (r"release-notes\.md", "the chapter of CHANGELOG.md"),
    (r"build-packages\.txt", "the Debian packages that it was built with"),
    (r"SHA256SUMS", "checksums of all others"),
)  # fmt: skip


def kind(name):
    return next(what for pattern, what in KINDS if re.fullmatch(pattern, name))


def table(paths):
    """Markdown: each file, its size, what it is."""
    rows = ["| file | kB | |", "| --- | ---: | --- |"]
    for path in sorted(paths):
        rows.append(f"| `{path.name}` | {-(-path.stat().st_size // 1000):,} | {kind(path.name)} |")
    return "\n".join(rows) + "\n"
