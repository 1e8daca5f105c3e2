"""The Helm chart as a package, and as an OCI artifact, from which Helm installs too."""

import re
import shutil

import oci
import tarball

CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
IMAGES = ("plimsoll-controller", "plimsoll-extender")


def annotations(release):
    """What Artifact Hub shows in addition to Chart.yaml."""
    lines = ["  artifacthub.io/images: |"]
    for name in IMAGES:
        lines += [f"    - name: {name}", f"      image: {release.image(name)}"]
        lines += ["      platforms: [linux/amd64, linux/arm64]"]
    lines += ["  artifacthub.io/links: |"]
    lines += ["    - name: documentation", f"      url: {release.repository}"]
    return "\n".join(lines) + "\n"


def fields(text):
    """Scalars and the one list of Chart.yaml: the artifact's config. Its annotations are in the package."""
    found = dict(re.findall(r"^(\w+): (.+)$", text, re.M))
    found = {key: value.strip("'") for key, value in found.items()}
    found["keywords"] = found["keywords"].strip("[]").split(", ")
    return found


def write_chart(release):
    folder = release.place / "chart" / "plimsoll"
    # files/ has links to the manifests; in a package there are files in their place.
    shutil.copytree(release.source / "deploy" / "chart", folder)
    text = (folder / "Chart.yaml").read_text(encoding="utf-8")
    text = text.replace("\nannotations:\n", f"\nhome: {release.repository}\nannotations:\n")
    text += annotations(release)
    (folder / "Chart.yaml").write_text(text, encoding="utf-8")
    values = (folder / "values.yaml").read_text(encoding="utf-8")
    values = values.replace("  registry: ''\n", f"  registry: '{release.registry}'\n", 1)
    (folder / "values.yaml").write_text(values, encoding="utf-8")
    package = release.dist / f"plimsoll-{release.version}.tgz"
    tarball.write_folder(package, folder, release.epoch)

    layout = oci.Layout()
    described = oci.labels(release, "plimsoll", fields(text)["description"])
    config = layout.add(CHART_CONFIG, oci.as_json(fields(text)))
    layer = layout.add(CHART_LAYER, package.read_bytes())
    manifest = layout.add_manifest(config, [layer], described)
    path = release.dist / f"plimsoll-chart-{release.version}.oci.tar"
    layout.write(path, [manifest], release.version, release.epoch, described)
    if release.artifacthub_id:
        (release.dist / "artifacthub-repo.yml").write_text(
            f"repositoryID: {release.artifacthub_id}\n", encoding="utf-8"
        )
