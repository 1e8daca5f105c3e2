"""The Debian packages: the programs as Debian would have them, with man pages and systemd's units.

No unit is started by an installation: without a kubeconfig it could only fail.
"""

import gzip

from target import MAN_PAGES, SUMMARIES, run

MAINTAINER = "Plimsoll's maintainers <maintainers@plimsoll.invalid>"
DAEMONS = ("plimsoll-controller", "plimsoll-extender")
DETAILS = {
    "plimsoll-controller": """\
 It reads exporters, kubelets, Prometheus or metrics-server, and writes
 means, maxima and quantiles of each node's load into its annotations.
 In a cluster it runs as a Deployment; this package is for hosts outside.""",
    "plimsoll-extender": """\
 It answers the calls of kube-scheduler: nodes above the policy's limits
 are filtered out, others are scored by the load in their annotations.
 In a cluster it runs as a Deployment; this package is for hosts outside.""",
    "kubectl-plimsoll": """\
 A plugin of kubectl, which also runs by itself. It shows the load and
 the limits of each node, why a pod is where it is, what another policy would
 change, and what is wrong with an installation.""",
}
CONTROL = """\
Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size_kib}
Depends: {depends}
Section: admin
Priority: optional
Homepage: {homepage}
Description: {summary}
{details}
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Source: {homepage}

Files: *
Copyright: 2025-2026 Plimsoll's maintainers
License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""
CHANGELOG = """\
{name} ({version}) stable; urgency=medium

  * Changes are in the project's CHANGELOG.md.

 -- {maintainer}  {date}
"""
DEFAULTS = """\
# Flags of {name}: each is also a variable, see its man page. The kubeconfig
# is /etc/plimsoll/{short}.kubeconfig.
"""
# As debhelper's: the packages run where there is no systemd too. A purge takes what an administrator has added to
# make the unit run: the kubeconfig, which is a secret, and the link of `systemctl enable`.
SCRIPTS = {
    "postinst": """\
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
  [ -z "$2" ] || deb-systemd-invoke try-restart {name}.service >/dev/null || true
fi
""",
    "prerm": """\
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop {name}.service >/dev/null || true
fi
""",
    "postrm": """\
#!/bin/sh
set -e
if [ "$1" = purge ]; then
  rm -f /etc/plimsoll/{short}.kubeconfig /etc/systemd/system/multi-user.target.wants/{name}.service
  rmdir --ignore-fail-on-non-empty /etc/plimsoll 2>/dev/null || true
fi
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload >/dev/null || true
fi
""",
}


def compressed(path, content):
    """As dh_compress does it."""
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(content)
    path.chmod(0o644)


def depends(target, program, folder):
    """The packages of the shared libraries, by their lowest versions; @program is in the package."""
    (folder / "debian/control").write_text("Source: x\n\nPackage: x\nArchitecture: any\n")
    env = {"DEB_HOST_ARCH": target.debian, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    said = run("dpkg-shlibdeps", "-O", program, cwd=folder, env=env)
    return said.strip().removeprefix("shlibs:Depends=")


def put(content, path, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def fill(release, name, program, page, root):
    """What the package installs."""
    put(program.read_bytes(), root / "usr/bin" / name, 0o755)
    section = MAN_PAGES[name][-1]
    manual = root / f"usr/share/man/man{section}" / f"{MAN_PAGES[name]}.gz"
    manual.parent.mkdir(parents=True)
    compressed(manual, page.read_bytes())
    about = root / "usr/share/doc" / name
    about.mkdir(parents=True)
    homepage = release.repository
    put(COPYRIGHT.format(homepage=homepage).encode(), about / "copyright")
    date = run("date", "--utc", "--rfc-email", f"--date=@{release.epoch}").strip()
    text = CHANGELOG.format(name=name, version=release.version, maintainer=MAINTAINER, date=date)
    compressed(about / "changelog.gz", text.encode())
    if name == "kubectl-plimsoll":
        complete = release.source / "cli" / "kubectl_complete-plimsoll"
        put(complete.read_bytes(), root / "usr/bin" / complete.name, 0o755)
        (manual.parent / f"{complete.name}.1.gz").symlink_to(manual.name)
        return
    unit = release.source / "deploy/systemd" / f"{name}.service"
    put(unit.read_bytes(), root / "lib/systemd/system" / unit.name)
    words = {"name": name, "short": name.removeprefix("plimsoll-")}
    put(DEFAULTS.format(**words).encode(), root / "etc/default" / name)
    put(f"/etc/default/{name}\n".encode(), root / "DEBIAN/conffiles")
    (root / "etc/plimsoll").mkdir(mode=0o755)
    for script, text in SCRIPTS.items():
        put(text.format(**words).encode(), root / "DEBIAN" / script, 0o755)


def write_checksums(root):
    files = sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and path.parent.name != "DEBIAN"
    )
    said = run("md5sum", *(str(path.relative_to(root)) for path in files), cwd=root)
    put(said.encode(), root / "DEBIAN/md5sums")


def build_package(release, target, name, program, page):
    """Write dist/NAME_VERSION_ARCHITECTURE.deb."""
    folder = release.place / "deb" / f"{name}-{target.debian}"
    root = folder / "debian" / name
    (root / "DEBIAN").mkdir(parents=True)
    fill(release, name, program, page, root)
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    control = CONTROL.format(
        name=name, version=release.version, architecture=target.debian, maintainer=MAINTAINER,
        size_kib=-(-size // 1024), depends=depends(target, root / "usr/bin" / name, folder),
        homepage=release.repository, summary=SUMMARIES[name], details=DETAILS[name],
    )  # fmt: skip
    put(control.encode(), root / "DEBIAN/control")
    write_checksums(root)
    for path in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        path.chmod(0o755)
    deb = release.dist / f"{name}_{release.version}_{target.debian}.deb"
    run("dpkg-deb", "-Zxz", "--root-owner-group", "--build", root, deb)
