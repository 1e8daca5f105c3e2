#!/usr/bin/env python3
"""Writes an SPDX 2.3 document, as JSON: sbom.py OUTPUT [--package=NAME].. PROGRAM..

It has each program of ours with its version, licence and hashes, and of each shared library that one
of them loads the Debian package with its version; --package adds one that is needed otherwise. Used
in Debian, by the Dockerfile and by `ninja plimsoll.spdx.json`. The same input gives the same bytes,
if SOURCE_DATE_EPOCH has the time to write (seconds; else it is now).
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

DEBIAN = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^a-zA-Z0-9.]", "-", name)


def packages_of(libraries):
    """{library: the Debian package that has it}"""
    # /lib is /usr/lib, and dpkg knows a file by either name.
    paths = {library: os.path.realpath(library) for library in libraries}
    names = [name for path in paths.values() for name in (path, path.removeprefix("/usr"))]
    argv = ["dpkg-query", "--search", *names]
    # It ends with 1, because no file has both.
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    owners = dict(line.split(": ", 1)[::-1] for line in said.splitlines())
    found = {
        library: owners.get(path) or owners.get(path.removeprefix("/usr"))
        for library, path in paths.items()
    }
    strays = [library for library, package in found.items() if not package]
    if strays:
        sys.exit(f"sbom.py: no Debian package has {', '.join(strays)}")
    return found


def describe(name, version, **more):
    return {
        "SPDXID": spdx_id(f"Package-{name}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        **more,
    }


def describe_program(path):
    name, version = run(path, "--version").split()
    content = pathlib.Path(path).read_bytes()
    return describe(
        name,
        version,
        licenseDeclared="Apache-2.0",
        packageFileName=f"usr/bin/{name}",
        primaryPackagePurpose="APPLICATION",
        checksums=[
            {"algorithm": kind, "checksumValue": hashlib.new(kind, content).hexdigest()}
            for kind in ("SHA1", "SHA256")
        ],
    )


def describe_debian(row):
    name, version, architecture, source, source_version = row.split("\t")
    locator = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}"
    return describe(
        name,
        version,
        supplier="Organization: Debian",
        sourceInfo=f"built from the source package {source} {source_version}",
        externalRefs=[
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": locator.replace("~", "%7E"),
            }
        ],
    )


def main():
    output = pathlib.Path(sys.argv[1])
    programs = sorted(arg for arg in sys.argv[2:] if not arg.startswith("--package="))
    others = sorted(arg.partition("=")[2] for arg in sys.argv[2:] if arg not in programs)

    libraries = {path: re.findall(r"/\S+", run("ldd", path)) for path in programs}
    package_of = packages_of(sorted(set(sum(libraries.values(), []))))
    debian = sorted({*package_of.values(), *others})
    rows = run("dpkg-query", "--show", f"--showformat={DEBIAN}\n", *debian).splitlines()
    ours = {path: describe_program(path) for path in programs}
    relations = []

    def relate(element, kind, name):
        related = spdx_id(f"Package-{name}")
        row = {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}
        relations.append(row)
        return related

    for path, package in ours.items():
        program = relate("SPDXRef-DOCUMENT", "DESCRIBES", package["name"])
        for name in sorted({package_of[library] for library in libraries[path]}):
            relate(program, "DYNAMIC_LINK", name.partition(":")[0])
        for name in others:
            relate(program, "DEPENDS_ON", name)

    packages = [*ours.values(), *map(describe_debian, rows)]
    title = f"plimsoll-{packages[0]['versionInfo']}"
    content = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()
    created = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": title,
        "documentNamespace": f"https://spdx.org/spdxdocs/{title}-{content}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
            "creators": ["Tool: plimsoll-sbom.py"],
        },
        "packages": packages,
        "relationships": relations,
    }
    output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
