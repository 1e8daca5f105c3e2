#!/usr/bin/env python3
"""Writes an SPDX 2.3 document, as JSON: sbom.py OUTPUT [OPTION].. PROGRAM..

It has each program of ours with its version, licence and hashes, and of each shared library that one
of them loads the Debian package with its version. Used in Debian, by the Dockerfile, by a release and
by `ninja plimsoll.spdx.json`. The same input gives the same bytes, if SOURCE_DATE_EPOCH has the time
to write (seconds; else it is now).

    --package=NAME     a Debian package that is needed otherwise
    --archive=PATH     the program is linked statically, and this archive of Debian's is in it
    --source=NAME      and so is a library that was built from this source package, unpacked there
    --emulator=NAME    runs the programs, which are for another processor: qemu-aarch64
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


def describe_program(path, emulator):
    name, version = run(*emulator, path, "--version").split()
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


def external(purl):
    return {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": purl.replace("~", "%7E"),
    }


def describe_debian(row):
    name, version, architecture, source, source_version = row.split("\t")
    locator = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}"
    return describe(
        name,
        version,
        supplier="Organization: Debian",
        sourceInfo=f"built from the source package {source} {source_version}",
        externalRefs=[external(locator)],
    )


def describe_source(folder):
    """A library of ours from Debian's sources: folder/debian/changelog has their version."""
    changelog = pathlib.Path(folder, "debian", "changelog").read_text(encoding="utf-8")
    name, version = re.match(r"(\S+) \((\S+)\)", changelog).groups()
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch=source"
    return describe(
        name,
        version,
        sourceInfo=f"built from Debian's source package {name} {version}",
        externalRefs=[external(purl)],
    )


def loaded_by(path, emulator):
    """The paths of the shared libraries, as ldd prints them."""
    wanted = "LD_TRACE_LOADED_OBJECTS=1"
    argv = [*emulator, "-E", wanted, path] if emulator else ["env", wanted, path]
    return re.findall(r"/\S+", run(*argv))


def main():
    output = pathlib.Path(sys.argv[1])
    programs = sorted(arg for arg in sys.argv[2:] if not arg.startswith("--"))
    options = [arg[2:].split("=", 1) for arg in sys.argv[2:] if arg.startswith("--")]

    def option(wanted):
        return sorted(value for name, value in options if name == wanted)

    others, archives, emulator = option("package"), option("archive"), option("emulator")
    libraries = {path: archives or loaded_by(path, emulator) for path in programs}
    how = "STATIC_LINK" if archives else "DYNAMIC_LINK"
    package_of = packages_of(sorted(set(sum(libraries.values(), []))))
    debian = sorted({*package_of.values(), *others})
    rows = run("dpkg-query", "--show", f"--showformat={DEBIAN}\n", *debian).splitlines()
    ours = {path: describe_program(path, emulator) for path in programs}
    rebuilt = [describe_source(folder) for folder in option("source")]
    relations = []

    def relate(element, kind, name):
        related = spdx_id(f"Package-{name}")
        row = {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": related}
        relations.append(row)
        return related

    for path, package in ours.items():
        program = relate("SPDXRef-DOCUMENT", "DESCRIBES", package["name"])
        for name in sorted({package_of[library] for library in libraries[path]}):
            relate(program, how, name.partition(":")[0])
        for built in rebuilt:
            relate(program, "STATIC_LINK", built["name"])
        for name in others:
            relate(program, "DEPENDS_ON", name)

    packages = [*ours.values(), *map(describe_debian, rows), *rebuilt]
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
