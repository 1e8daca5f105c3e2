#!/usr/bin/python3
"""Makes a release within its Debian root: assemble.py PLACE

release.py has set PLACE up: the commit is in PLACE/source, and what is made goes to PLACE/dist.
"""

import os
import pathlib
import re
import shutil
import sys

import chart
import debs
import oci
import programs
import tarball
import target
import texts
from target import SUMMARIES, TARGETS, run

IMAGES = ("plimsoll-controller", "plimsoll-extender")
IMAGE_PACKAGES = ("ca-certificates", "tzdata")


def say(what):
    print(f"  {what}", flush=True)


def sbom(release, output, goal, paths, *options):
    emulator = [f"--emulator={word}" for word in goal.emulator]
    argv = [release.source / "deploy" / "sbom.py", output, *emulator, *options, *paths]
    run("python3", *argv)


def licences(document, root):
    """Of each Debian package that an SBOM names, what Debian says of its licences."""
    packages = re.findall(r'"name": "(.+)"', document.read_text(encoding="utf-8"))
    for name in packages:
        there = pathlib.Path("/usr/share/doc", name, "copyright")
        if there.exists():
            target_folder = root / name
            target_folder.mkdir(parents=True)
            shutil.copyfile(there, target_folder / "copyright")


def write_archive(release, goal, name, program, *options):
    """The tar.gz of a program, and its SBOM."""
    stem = f"{name}-{release.version}-linux-{goal.debian}"
    folder = release.place / f"archive-{goal.debian}" / f"{name}-{release.version}"
    folder.mkdir(parents=True)
    document = release.dist / f"{stem}.spdx.json"
    sbom(release, document, goal, [program], *options)
    for path in (program, programs.man_page(release, name), release.source / "LICENSE"):
        shutil.copy(path, folder)
    if name == "kubectl-plimsoll":
        shutil.copy(release.source / "cli" / "kubectl_complete-plimsoll", folder)
        licences(document, folder / "licences")
        curl = folder / "licences" / "curl"
        curl.mkdir()
        shutil.copy(release.place / "curl" / "debian" / "copyright", curl)
    else:
        shutil.copy(release.source / "deploy/systemd" / f"{name}.service", folder)
    path = release.dist / f"{stem}.tar.gz"
    tarball.write_folder(path, folder, release.epoch)
    return path


def write_script(release):
    """The plugin for who has no Linux: a script, and one for Windows."""
    folder = release.place / "script" / f"kubectl-plimsoll-{release.version}"
    shutil.copytree(release.source / "cli" / "in-cluster", folder)
    shutil.copy(release.source / "LICENSE", folder)
    path = release.dist / f"kubectl-plimsoll-{release.version}-in-cluster.tar.gz"
    tarball.write_folder(path, folder, release.epoch)
    return path


def image_root(release, goal, name, shared):
    """The folder with an image's files. The controller's image is also that of deploy/doctor and deploy/rebalance."""
    root = release.place / f"image-{goal.debian}" / name
    collect = release.source / "deploy" / "collect-image"
    held = [name, "kubectl-plimsoll"] if name == "plimsoll-controller" else [name]
    for program in held:
        env = {**os.environ, "STRIP": goal.tool("strip")}
        run(collect, shared[program], root, *goal.emulator, env=env)
    document = root / "usr/share/plimsoll.spdx.json"
    packages = [f"--package={package}" for package in IMAGE_PACKAGES]
    sbom(release, document, goal, [root / "usr/bin" / program for program in held], *packages)
    licences(document, root / "usr/share/doc")
    outside = f"{name}-image-{release.version}-linux-{goal.debian}.spdx.json"
    shutil.copyfile(document, release.dist / outside)
    return root


def main():
    release = target.read_release(pathlib.Path(sys.argv[1]))
    release.dist.mkdir()
    roots, plugins = {name: {} for name in IMAGES}, []
    for goal in TARGETS:
        say(f"{goal.debian}: programs")
        shared = programs.build_shared(release, goal)
        say(f"{goal.debian}: the plugin, static")
        plugin, archives = programs.build_static_plugin(release, goal)
        for program in (*shared.values(), plugin):
            programs.check_program(release, goal, program)
        say(f"{goal.debian}: archives and packages")
        inside = [f"--archive={path}" for path in archives]
        inside.append(f"--source={release.place / 'curl'}")
        path = write_archive(release, goal, plugin.name, plugin, *inside)
        plugins.append(("linux", goal.debian, path))
        for name in debs.DAEMONS:
            write_archive(release, goal, name, shared[name])
        for name, program in shared.items():
            debs.build_package(release, goal, name, program, programs.man_page(release, name))
        for name in IMAGES:
            roots[name][goal.debian] = image_root(release, goal, name, shared)
    say("images, chart, texts")
    for name in IMAGES:
        path = release.dist / f"{name}-{release.version}.oci.tar"
        oci.write_image(release, path, name, SUMMARIES[name], roots[name])
    chart.write_chart(release)
    script = write_script(release)
    plugins += [("darwin", goal.debian, script) for goal in TARGETS]
    changelog = (release.source / "CHANGELOG.md").read_text(encoding="utf-8")
    write(release, "release-notes.md", texts.notes(changelog, release.version))
    write(release, "plimsoll.yaml", texts.krew(release, plugins))
    query = "${Package}:${Architecture} ${Version}\n"
    write(release, "build-packages.txt", run("dpkg-query", "--show", f"--showformat={query}"))
    made = sorted(release.dist.iterdir())
    write(release, "SHA256SUMS", "".join(f"{texts.sha256(path)}  {path.name}\n" for path in made))
    print(texts.table(release.dist.iterdir()), end="")


def write(release, name, text):
    (release.dist / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
