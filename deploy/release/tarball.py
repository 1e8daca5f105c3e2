"""Archives whose bytes depend on nothing but what is in them and the time that is given."""

import gzip
import io
import os
import pathlib
import tarfile


def entries_below(folder):
    """[(name, path)] of all that is in a folder, in order of names."""
    folder = pathlib.Path(folder)
    return [(str(path.relative_to(folder)), path) for path in sorted(folder.rglob("*"))]


def tar(entries, epoch):
    """The bytes of a tar. Of each (name, path): mode, content; all is root's, and of that time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, path in entries:
            info = tarfile.TarInfo(name)
            info.mtime = epoch
            if path.is_symlink():
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
                archive.addfile(info)
            elif path.is_dir():
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            else:
                info.size = path.stat().st_size
                info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                with open(path, "rb") as content:
                    archive.addfile(info, content)
    return out.getvalue()


def compress(content):
    out = io.BytesIO()
    # No name and no time: gzip would note both.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as file:
        file.write(content)
    return out.getvalue()


def write_folder(path, folder, epoch):
    """A tar.gz of a folder, with the folder's name before each."""
    folder = pathlib.Path(folder)
    entries = [(f"{folder.name}/{name}", below) for name, below in entries_below(folder)]
    path.write_bytes(compress(tar([(folder.name, folder), *entries], epoch)))
