"""Compiles the programs: three that use Debian's shared libraries, and a plugin that needs none.

The plugin is linked statically, so that it runs on any Linux. Debian's libcurl.a cannot be: it needs
GSSAPI and others that Debian has no archives of. So Debian's curl is built again, with HTTP alone, and
with c-ares for names: glibc's resolver loads modules of the machine it runs on, which have to be of
the glibc that it was linked with.
"""

import pathlib
import re
import shutil

from target import MAN_PAGES, PROGRAMS, run

HARDENED = "-O2 -fPIE -fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2"
CURL_WITHOUT = (
    *("brotli", "zstd", "libpsl", "libidn2", "nghttp2", "librtmp", "libssh2", "gssapi", "ca-path"),
)
CURL_DISABLED = (
    *("shared", "ldap", "ldaps", "ftp", "file", "dict", "telnet", "tftp", "pop3", "imap", "smb"),
    *("smtp", "gopher", "mqtt", "rtsp", "manual", "cookies", "alt-svc", "hsts", "netrc", "ntlm"),
    *("ntlm-wb", "tls-srp", "openssl-auto-load-config", "dependency-tracking"),
)
# The plugin has no server; libmicrohttpd stands in a library that it uses in part.
UNUSED = {"libmicrohttpd": "0.9.75", "gnutls": "3.7"}
CROSS_FILE = """\
[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
strip = '{triplet}-strip'
pkgconfig = 'pkg-config'
exe_wrapper = {emulator}
[properties]
pkg_config_libdir = '/usr/lib/{triplet}/pkgconfig:/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = 'little'
"""


def build_curl(release, target):
    """The folder with its lib/ and include/."""
    sources = release.place / "curl"
    if not sources.exists():
        (described,) = pathlib.Path("/usr/src").glob("curl_*.dsc")
        run("dpkg-source", "--no-check", "-x", described, sources)
    build, prefix = release.place / f"curl-{target.debian}", release.place / f"net-{target.debian}"
    build.mkdir()
    argv = [sources / "configure", "--quiet", f"--prefix={prefix}", f"--host={target.triplet}"]
    argv += ["--with-openssl", "--with-zlib", "--enable-ares", "--enable-static"]
    argv += ["--with-ca-bundle=/etc/ssl/certs/ca-certificates.crt"]
    argv += [f"--without-{name}" for name in CURL_WITHOUT]
    argv += [f"--disable-{name}" for name in CURL_DISABLED]
    argv += [f"CC={target.tool('gcc')}", f"CFLAGS={HARDENED} -ffile-prefix-map={release.place}=."]
    run(*argv, cwd=build)
    for folder in ("lib", "include"):
        run("make", "-s", "-j2", "-C", build / folder, "install")
    packages = prefix / "lib" / "pkgconfig"
    packages.mkdir()
    shutil.copy(build / "libcurl.pc", packages)
    for name, version in UNUSED.items():
        text = f"Name: {name}\nDescription: not linked\nVersion: {version}\nLibs:\n"
        (packages / f"{name}.pc").write_text(text)
    return prefix


def setup(release, target, build, *options):
    argv = ["meson", "setup", build, release.source, "--buildtype=release", "-Dwerror=true"]
    if target.emulator:
        cross = build.with_suffix(".ini")
        cpu, *_ = target.triplet.split("-")
        emulator = list(target.emulator)
        cross.write_text(CROSS_FILE.format(triplet=target.triplet, cpu=cpu, emulator=emulator))
        argv.append(f"--cross-file={cross}")
    run(*argv, *options)


def strip(target, program, folder):
    """The path of a copy without symbols."""
    folder.mkdir(parents=True, exist_ok=True)
    stripped = folder / program.name
    run(target.tool("strip"), "-o", stripped, program)
    stripped.chmod(0o755)
    return stripped


def build_shared(release, target):
    """{name: its stripped program}; for Debian, and for images."""
    build = release.place / f"build-{target.debian}"
    setup(release, target, build)
    pages = [] if target.emulator else MAN_PAGES.values()
    run("ninja", "-C", build, *PROGRAMS.values(), *pages)
    return {
        name: strip(target, build / path, release.place / f"shared-{target.debian}")
        for name, path in PROGRAMS.items()
    }


def man_page(release, name):
    return release.place / "build-amd64" / MAN_PAGES[name]


def build_static_plugin(release, target):
    """(the stripped plugin, the archives of Debian's that are in it)"""
    prefix = build_curl(release, target)
    build = release.place / f"static-{target.debian}"
    listing = release.place / f"static-{target.debian}.map"
    setup(
        release, target, build, "-Dprefer_static=true", f"-Dc_link_args=-static-pie -Wl,-Map={listing}",
        f"-Dpkg_config_path={prefix}/lib/pkgconfig",
    )  # fmt: skip
    run("ninja", "-C", build, PROGRAMS["kubectl-plimsoll"])
    text = listing.read_text(encoding="utf-8")
    members, _, _ = text.partition("\nMemory Configuration\n")
    found = re.findall(r"^(/\S+\.a)\(", members, re.M)
    archives = {str(pathlib.Path(path).resolve()) for path in found}
    program = build / PROGRAMS["kubectl-plimsoll"]
    stripped = strip(target, program, release.place / f"portable-{target.debian}")
    return stripped, sorted(path for path in archives if path.startswith("/usr/"))


def check_program(release, target, program):
    """It answers, and says its version."""
    said = run(*target.emulator, program, "--version").split()
    assert said == [program.name, release.version], said
    assert "Usage" in run(*target.emulator, program, "--help").title()
