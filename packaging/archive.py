"""An archive for people who install nothing: the binary, its manual pages, completions and licences in one folder."""

import gzip
import io
import tarfile
import time
import zipfile

from project import timestamp, version


def build(binary, target, extras, out):
    """Writes the archive, a ZIP file for Windows, and returns its path."""
    name = f"bowline-{version()}-{target.triple}"
    files = {target.program: binary}
    for path in sorted(extras.rglob("*")):
        if path.is_file():
            inside = path.relative_to(extras)
            # Documents are beside the binary.
            files["/".join(inside.parts[1:] if inside.parts[0] == "documents" else inside.parts)] = path
    write = write_zip if target.npm_os == "win32" else write_tar
    return write(name, files, target.program, out)


def write_tar(name, files, program, out):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for inside, path in files.items():
            entry = tarfile.TarInfo(f"{name}/{inside}")
            entry.size = path.stat().st_size
            entry.mode = 0o755 if inside == program else 0o644
            entry.mtime = timestamp()
            with path.open("rb") as file:
                archive.addfile(entry, file)
    place = out / f"{name}.tar.gz"
    place.write_bytes(gzip.compress(content.getvalue(), mtime=0))
    return place


def write_zip(name, files, program, out):
    place = out / f"{name}.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, path in files.items():
            entry = zipfile.ZipInfo(f"{name}/{inside}", time.gmtime(timestamp())[:6])
            entry.external_attr = (0o755 if inside == program else 0o644) << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return place
