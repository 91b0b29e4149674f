"""Selects the public tables that `tables_vs_duckdb.py` compares.

`public_packages.toml` lists the packages of `--public` and how they were chosen. They are cached in
`$XDG_CACHE_HOME/recto/public-tables`. This module decides which of their files are tables, by name
and structure, before they are compared:

- The extension is one of ENDINGS, with or without `.gz`. Files with the same bytes count once.
- JSON is a table if it is an array or a sequence of values. One object is a document, such as a
  package's settings, a schema or a translation. GeoJSON counts by its extension.
- A `.txt` or `.dat` is a table if its first lines all have the same number of tabs, commas,
  semicolons or pipes, at least one. The others are mostly prose, and DuckDB reads any as a table.
- A package contributes at most MAX_FILES, so that no notation outweighs the others: those with the
  lowest digests, which is effectively random.

Of the Debian packages in a directory (`--debian`), those up to MAX_DEB_BYTES count. Each contributes
at most MAX_DEB_FILES, because many contain a hundred tables of one program, and only files with a
table's extension, because a distribution has a hundred thousand others.

Of git repositories (`--judged`), named `owner/name` below a directory, the files at HEAD count, each up
to MAX_GIT_BYTES.
"""

import gzip
import hashlib
import io
import os
import pathlib
import subprocess
import tarfile
import tomllib
import urllib.request
import zipfile
import zlib

PACKAGES = pathlib.Path(__file__).with_name("public_packages.toml")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
CACHE = CACHE / "recto/public-tables"

JSON_ENDINGS = {".json", ".ndjson", ".jsonl", ".geojson"}
TEXT_ENDINGS = {".txt", ".dat"}
ENDINGS = {".csv", ".tsv", ".psv", ".tab", ".parquet"} | JSON_ENDINGS | TEXT_ENDINGS
ARCHIVES = (".tar.gz", ".tgz", ".zip", ".whl")
MAX_FILES = 100
MAX_DEB_FILES = 20
MAX_DEB_BYTES = 20_000_000
MAX_GIT_BYTES = 30_000_000
N_LINES = 10


def tables():
    """Returns every table, as its key (package and path inside it) and its current path."""
    with open(PACKAGES, "rb") as file:
        packages = tomllib.load(file)["package"]
    named = ((package["file"].split("-")[0].lower(), package) for package in packages)
    return kept(
        CACHE / "tables",
        ((name, members(package["file"], download(package))) for name, package in named),
        MAX_FILES,
    )


def debian_tables(folder):
    """Returns the tables of the Debian packages in a directory, in the form of `tables`."""
    debs = sorted(path for path in folder.glob("*.deb") if path.stat().st_size <= MAX_DEB_BYTES)
    named = ((deb.name.split("_")[0], deb_members(deb)) for deb in debs)
    return kept(folder / "tables", named, MAX_DEB_FILES)


def git_tables(folder):
    """Returns the tables of the git repositories in a directory, in the form of `tables`. Keys start
    with owner and name."""
    named = (
        (f"{path.parent.name}/{path.name}", git_members(path))
        for path in sorted(folder.glob("*/*"))
        if (path / "HEAD").exists() or (path / ".git").exists()
    )
    return [table for one in named for table in kept(folder / "tables", [one], MAX_FILES)]


def git_members(repository):
    """Returns the files at HEAD with a table's extension, without those that are missing or in LFS."""
    git = ["git", "-C", str(repository)]
    listed = subprocess.run([*git, "ls-tree", "-rlz", "HEAD"], check=True, capture_output=True).stdout
    for entry in listed.decode(errors="surrogateescape").split("\0")[:-1]:
        meta, path = entry.split("\t", 1)
        mode, kind, blob, size = meta.split()
        is_file = kind == "blob" and mode != "120000" and size.isdigit()
        if not is_file or int(size) > MAX_GIT_BYTES or not is_wanted(path) or path.endswith(ARCHIVES):
            continue
        data = subprocess.run([*git, "cat-file", "blob", blob], check=True, capture_output=True).stdout
        if not data.startswith(b"version https://git-lfs"):
            yield path, data


def kept(folder, packages, max_files):
    """Writes the tables of packages, each a name and its members, below a directory."""
    seen, found = set(), []
    for name, files in packages:
        of_package = {}
        for path, data in files:
            digest = hashlib.sha256(data).hexdigest()
            if digest not in seen and is_table(path, data):
                seen.add(digest)
                of_package[digest] = (path, data)
        for _, (path, data) in sorted(of_package.items())[:max_files]:
            place = folder / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            found.append((f"{name}/{path}", place))
    return sorted(found)


def deb_members(deb):
    """Returns the files of a Debian package with a table's extension. It is an `ar` archive with
    headers of 60 bytes, the name first and the size at 48."""
    data, at = deb.read_bytes(), len("!<arch>\n")
    while not data[at:].startswith(b"data.tar"):
        size = int(data[at + 48 : at + 58])
        at += 60 + size + size % 2
    content = data[at + 60 : at + 60 + int(data[at + 48 : at + 58])]
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.isfile() and ending(member.name) in ENDINGS - TEXT_ENDINGS - {".json"}:
                yield member.name.removeprefix("./"), archive.extractfile(member).read()


def download(package):
    """Returns the bytes of a package, from the cache if possible."""
    place = CACHE / "packages" / package["file"]
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(package["url"], timeout=180) as response:
            place.write_bytes(response.read())
    data = place.read_bytes()
    if hashlib.sha256(data).hexdigest() != package["sha256"]:
        raise SystemExit(f"{place} is not the file that public_packages.toml names")
    return data


def members(name, data):
    """Returns the files of an archive, and of archives in it, sorted by path."""
    if name.endswith((".zip", ".whl")):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
            opened = [(path, archive.read(path)) for path in names if is_wanted(path)]
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = [member for member in archive if member.isfile() and is_wanted(member.name)]
            opened = [(member.name, archive.extractfile(member).read()) for member in files]
    for path, content in sorted(opened):
        if path.endswith(ARCHIVES):
            yield from ((f"{path}/{inner}", data) for inner, data in members(path, content))
        else:
            yield path, content


def is_wanted(path):
    parts = pathlib.PurePosixPath(path).parts
    is_hidden = any(part.startswith(("._", "..", "/")) for part in parts)
    return not is_hidden and (path.endswith(ARCHIVES) or ending(path) in ENDINGS)


def ending(path):
    """Returns the extension, without that of compression, in lower case."""
    return pathlib.PurePosixPath(path.lower().removesuffix(".gz")).suffix


def is_table(path, data):
    """Returns whether a file with that extension is a table by its structure."""
    kind = ending(path)
    if path.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return False
    if kind in TEXT_ENDINGS:
        return has_even_lines(data)
    if kind in JSON_ENDINGS - {".geojson"}:
        return is_sequence(data)
    return bool(data.strip())


def has_even_lines(data):
    lines = [line for line in data.splitlines() if line.strip()][:N_LINES]
    counts = [{line.count(mark) for line in lines} for mark in (b"\t", b",", b";", b"|")]
    return len(lines) > 1 and any(len(count) == 1 and count != {0} for count in counts)


def is_sequence(data):
    """Returns whether it is an array, or one object on every line."""
    data = data.removeprefix(b"\xef\xbb\xbf").strip()
    lines = data.split(b"\n")[:N_LINES]
    are_objects = all(line.strip()[:1] == b"{" and line.strip()[-1:] == b"}" for line in lines)
    return data.startswith(b"[") or len(lines) > 1 and are_objects
