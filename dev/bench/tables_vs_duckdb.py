#!/usr/bin/env python3
r"""Compares recto's previews of the messy corpus with DuckDB's reading of the same files.

    pip install duckdb
    python dev/bench/tables_vs_duckdb.py
    python dev/bench/tables_vs_duckdb.py --public
    python dev/bench/tables_vs_duckdb.py --made 10000
    python dev/bench/tables_vs_duckdb.py --debian DIR
    python dev/bench/tables_vs_duckdb.py --judged DIR

Names, types and the number of rows are compared, first with DuckDB's defaults. If that differs and
`expected.toml` has a hint, DuckDB runs again with an option (such as padding of short rows) or with
the same text in UTF-8. Hints describe how a file is written, never a header or a type. A delimiter
should be detected, so files that agree only with a delimiter hint are counted separately. Remaining
differences are printed with the reason in `expected.toml`; one without a reason fails the run.

Files that are not tables, for recto or by intent, are left out, because DuckDB reads every text as a
table. These count as equal: no columns, and DuckDB's one generated column without a value; text, and
DuckDB's type for a column of nulls; a name that DuckDB changed because it differs from another only
by case. Shortened output is compared by its start and length: more than 4,096 columns, or names with
more than 200 characters. The Parquet files of the tests are compared too, with the types that both
sides report mapped to words like `integer`.

`--public` also compares the tables of public packages, selected by `public_tables.py`. For every file
that differs with DuckDB's defaults, `public_differences.toml` says who is right and why, and gives
the hints. A difference that is not listed fails the run, and so does an entry for a file that does
not differ. If both reject a file, they agree.

`--debian` compares the tables in the Debian packages of a directory, with DuckDB's defaults and without
reasons. This downloads all packages that have tables:

    apt-get download $(apt-file search -l -x '\.(csv|tsv|psv|tab|ndjson|jsonl|geojson)(\.gz)?$')

`--judged` compares public tables, those of the Debian packages in a directory, and those of the git
repositories `owner/name` in it, and draws N_JUDGED of the files that differ. `public_differences.toml`
and `judged_differences.toml` say who is right; a file without a verdict fails the run.

`--made` compares that many generated tables (`made_tables.py`), whose expected reading is known, and
reports how often each side is right. It fails if DuckDB is right more often than recto.
"""

import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import tomllib

import duckdb
import made_tables
import public_tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "crates/recto-tables/tests/messy"
PARQUET = ROOT / "crates/recto-tables/tests/parquet"
DIFFERENCES = pathlib.Path(__file__).with_name("public_differences.toml")
JUDGED = pathlib.Path(__file__).with_name("judged_differences.toml")
N_JUDGED = 200
SEED = 21

# Rows beyond this number are not counted; the example shows no more.
MAX_ROWS = 100_000

WORDS = {
    "BOOLEAN": "boolean",
    "BIGINT": "integer",
    "HUGEINT": "integer",
    "UBIGINT": "integer",
    "BIGNUM": "integer",
    "DOUBLE": "number",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "VARCHAR": "text",
    "UUID": "text",
    '"NULL"': "text",
    "JSON": "json",
    "GEOMETRY": "json",
}

# A name that recto cut: the part that is shown, and the number of further characters.
CUT_NAME = re.compile(r"(.{200})… \(\+(\d+) characters\)", re.DOTALL)

# Names of Parquet types in recto and DuckDB.
FAMILIES = {
    "integer": r"u?int\d+|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?",
    "number": r"float(16)?|double|decimal.*|FLOAT|DOUBLE|DECIMAL.*",
    "timestamp": r"timestamp.*|TIMESTAMP.*",
    "time": r"time.*|TIME.*",
    "text": r"string|enum|uuid|VARCHAR|UUID",
    "binary": r"binary|fixed.*|BLOB",
    "null": r'null|"NULL"',
    "json": r"(list|struct|map)<.*|json|bson|JSON|STRUCT.*|MAP.*|.*\]",
}


PARQUET_DIFFERS = {
    "names.parquet": "DuckDB makes up C2 where the file names no column, and column2 in CSV files.",
    "no_columns.parquet": "DuckDB reads no file without columns.",
}


def word(kind):
    """Returns recto's name for a DuckDB type; nested types are JSON."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP")):
        return "json"
    return WORDS.get(kind, kind)


def family(kind):
    """Returns the common name of a Parquet type."""
    return next((name for name, form in FAMILIES.items() if re.fullmatch(form, kind)), kind.lower())


def names_as_in_sql(columns):
    """Undoes DuckDB's numbering of names that differ from an earlier one only by case."""
    seen, renamed = {}, []
    for name, kind in columns:
        n_before = seen.get(name.lower(), 0)
        seen[name.lower()] = n_before + 1
        renamed.append([f"{name}_{n_before}" if n_before else name, kind])
    return renamed


def as_shown(theirs, answer):
    """Returns DuckDB's answer with columns and names cut like recto's, if nothing else differs."""
    if isinstance(theirs, str) or "error" in answer:
        return theirs
    (columns, n_rows), ours = theirs, answer["columns"]
    if len(columns) == answer["n_columns"]:
        columns = columns[: len(ours)]
    if len(columns) != len(ours):
        return theirs
    names = [name_as_shown(name, our_name) for (name, _), (our_name, _) in zip(columns, ours)]
    return [[name, kind] for name, (_, kind) in zip(names, columns)], n_rows


def name_as_shown(name, our_name):
    """Returns the name as recto shows it, if that is cut and has the same start and length."""
    cut = CUT_NAME.fullmatch(our_name)
    is_same = cut and name.startswith(cut[1]) and len(name) == len(cut[1]) + int(cut[2])
    return our_name if is_same else name


def our_answer(answer):
    """Returns columns and the number of rows, or the error, in the form of `ask_duckdb`."""
    return answer.get("error") or (names_as_in_sql(answer["columns"]), answer["n_rows"])


def ask_duckdb(path, is_json, options):
    """Returns columns and the number of rows, or the error."""
    function = "read_json_auto" if is_json else "read_csv_auto"
    options = f", {options}" if options else ""
    source = f"{function}({quoted(path)}{options})"
    try:
        described = duckdb.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        # A table, because counting alone would not read the values.
        duckdb.execute(f"CREATE OR REPLACE TEMP TABLE read AS SELECT * FROM {source}")
        n_rows = duckdb.execute("SELECT count(*) FROM read").fetchall()[0][0]
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    columns = [[name, word(kind)] for name, kind, *_ in described]
    if [name for name, _ in columns] in (["column0"], ["json"]):
        n_values = duckdb.execute(f'SELECT count("{columns[0][0]}") FROM read').fetchall()[0][0]
        if n_values == 0:
            return [], 0
    return columns, min(n_rows, MAX_ROWS)


def quoted(path):
    return "'" + str(path).replace("'", "''") + "'"


def compare_parquet():
    """Returns the number of Parquet files, and of those that both sides read alike."""
    paths = sorted(PARQUET.glob("*.parquet"))
    n_same = 0
    for path, answer in zip(paths, ask_us(map(str, paths)), strict=True):
        ours = [[name, family(kind)] for name, kind in answer.get("columns", [])]
        try:
            source = f"read_parquet({quoted(path)})"
            described = duckdb.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            theirs = [[name, family(kind)] for name, kind, *_ in described]
        except duckdb.Error as error:
            theirs = str(error).splitlines()[0]
        if ours == theirs:
            n_same += 1
        else:
            print(f"{path.name}: {PARQUET_DIFFERS.get(path.name, 'NOT EXPLAINED')}")
            print(f"    ours:   {ours}\n    DuckDB: {theirs}\n")
    return len(paths), n_same


def in_utf8(path, entry):
    """Returns the file, or a copy that DuckDB can decode."""
    if "encoding" not in entry:
        return path
    copy = pathlib.Path(tempfile.gettempdir()) / f"utf8_{path.name}"
    copy.write_bytes(path.read_bytes().decode(entry["encoding"]).encode())
    return copy


def ask_us(paths):
    command = ["cargo", "run", "--release", "--quiet", "--package", "recto-tables"]
    command += ["--example", "preview", "--"]
    output = subprocess.run([*command, *paths], cwd=ROOT, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in output.stdout.split("\n") if line]


def compare_own():
    """Returns five counts, for the files as first written and for those added later: tables, those
    that agree, those that agree with hints, those of them with a delimiter hint, and those without
    a reason."""
    with open(CORPUS / "expected.toml", "rb") as file:
        entries = [entry for entry in tomllib.load(file)["file"] if "error" not in entry]
    answers = ask_us([str(CORPUS / entry["name"]) for entry in entries])
    n_parquet, n_parquet_same = compare_parquet()
    first, later = [n_parquet, n_parquet_same, 0, 0, 0], [0] * 5
    for entry, answer in zip(entries, answers, strict=True):
        of_file = compare_entry(entry, answer)
        counts = later if "later" in entry else first
        counts[:] = [n + n_more for n, n_more in zip(counts, of_file)]
    return first, later


def compare_entry(entry, answer):
    """Returns the counts of `compare_own` for one file."""
    path = CORPUS / entry["name"]
    is_json = path.suffix in public_tables.JSON_ENDINGS or path.read_bytes().startswith(b"{")
    ours = our_answer(answer)
    theirs = as_shown(ask_duckdb(path, is_json, ""), answer)
    if ours == theirs:
        if entry.keys() & {"differs", "duckdb", "encoding"}:
            print(f"{entry['name']}: does not differ\n")
        return 1, 1, 0, 0, 0
    if "duckdb" in entry or "encoding" in entry:
        hinted = ask_duckdb(in_utf8(path, entry), is_json, entry.get("duckdb"))
        theirs = as_shown(hinted, answer)
        if ours == theirs:
            if "differs" in entry:
                print(f"{entry['name']}: does not differ\n")
            return 1, 0, 1, "delim " in entry.get("duckdb", ""), 0
    print(f"{entry['name']}: {entry.get('differs', 'NOT EXPLAINED')}")
    print(f"    ours:   {ours}\n    DuckDB: {theirs}\n")
    return 1, 0, 0, 0, "differs" not in entry


def compare_public():
    """The same for public tables; an outdated entry counts as a missing one."""
    with open(DIFFERENCES, "rb") as file:
        reasons = tomllib.load(file)
    tables = public_tables.tables()
    n_same = n_hinted = n_delimiters = n_unexplained = 0
    n_by_right = collections.Counter()
    for (key, path), answer in zip(tables, ask_us(str(path) for _, path in tables), strict=True):
        is_json = public_tables.ending(key) in public_tables.JSON_ENDINGS
        ours = our_answer(answer)
        theirs = as_shown(ask_duckdb(path, is_json, ""), answer)
        reason = reasons.pop(key, None)
        if ours == theirs or isinstance(ours, str) and isinstance(theirs, str):
            n_same += 1
            if reason is not None:
                n_unexplained += 1
                print(f"{key}: does not differ\n")
            continue
        if reason is None:
            n_unexplained += 1
            print(f"{key}: NOT EXPLAINED")
            print_difference(ours, theirs)
            continue
        n_by_right[reason["right"]] += 1
        if reason.keys() & {"duckdb", "encoding"}:
            hinted = ask_duckdb(in_utf8(path, reason), is_json, reason.get("duckdb"))
            hinted = as_shown(hinted, answer)
            if hinted == ours:
                n_hinted += 1
                n_delimiters += "delim " in reason.get("duckdb", "")
            else:
                n_unexplained += 1
                print(f"{key}: differs even with hints")
                print_difference(ours, hinted)
        print(f"{key}: right is {reason['right']}. {reason['why']}")
        print_difference(ours, theirs)
    for key in reasons:
        n_unexplained += 1
        print(f"{key}: is not among the public tables\n")
    print("right:", ", ".join(f"{who} {n}" for who, n in n_by_right.most_common()))
    return len(tables), n_same, n_hinted, n_delimiters, n_unexplained


def compare_debian(folder):
    """Prints how many tables of Debian packages agree, and those that do not."""
    tables = [pair for pair in public_tables.debian_tables(folder) if ".parquet" not in pair[0]]
    answers = [answer for some in batches(tables) for answer in ask_us(str(path) for _, path in some)]
    n_same = 0
    for (key, path), answer in zip(tables, answers, strict=True):
        is_json = public_tables.ending(key) in public_tables.JSON_ENDINGS
        ours = our_answer(answer)
        theirs = as_shown(ask_duckdb(path, is_json, ""), answer)
        if ours == theirs or isinstance(ours, str) and isinstance(theirs, str):
            n_same += 1
        else:
            print(f"{key}:")
            print_difference(ours, theirs)
    print(f"Debian tables: the same {share(n_same, len(tables))}")


def compare_judged(folder):
    """Prints who is right about a sample of the files that differ, and returns whether all were judged."""
    tables = public_tables.tables() + public_tables.debian_tables(folder)
    tables += public_tables.git_tables(folder)
    tables = [pair for pair in tables if public_tables.ending(pair[0]) != ".parquet"]
    # The same file may be in a repository and in a package.
    tables = list({path.read_bytes(): (key, path) for key, path in reversed(tables)}.values())[::-1]
    answers = [answer for some in batches(tables) for answer in ask_us(str(path) for _, path in some)]
    different = {}
    for (key, path), answer in zip(tables, answers, strict=True):
        is_json = public_tables.ending(key) in public_tables.JSON_ENDINGS
        ours = our_answer(answer)
        theirs = as_shown(ask_duckdb(path, is_json, ""), answer)
        if ours != theirs and not (isinstance(ours, str) and isinstance(theirs, str)):
            different[key] = (ours, theirs)
    verdicts = tomllib.loads(DIFFERENCES.read_text()) | tomllib.loads(JUDGED.read_text())
    drawn = random.Random(SEED).sample(sorted(different), N_JUDGED)
    n_by_right = collections.Counter()
    for key in drawn:
        n_by_right[verdicts.get(key, {}).get("right", "not judged")] += 1
        if key not in verdicts:
            print(f"{key}: NOT JUDGED")
            print_difference(*different[key])
    print(f"{len(different)} of {len(tables)} tables differ; of {N_JUDGED} drawn, right:", end=" ")
    print(", ".join(f"{who} {n}" for who, n in n_by_right.most_common()))
    return n_by_right["not judged"] == 0


def compare_made(n_tables):
    """Prints how often each side is right, and returns whether recto is right as often."""
    made = [made_tables.make(number) for number in range(n_tables)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{number}.csv" for number in range(n_tables)]
        for path, table in zip(paths, made):
            path.write_bytes(table.data)
        answers = [answer for some in batches(paths) for answer in ask_us(map(str, some))]
        n = collections.Counter()
        for path, table, answer in zip(paths, made, answers, strict=True):
            truth = names_as_in_sql(table.columns), table.n_rows
            ours = our_answer(answer)
            theirs = hinted = ask_duckdb(path, False, "")
            if ours != theirs and table.options:
                hinted = ask_duckdb(path, False, table.options)
            n["same"] += ours == theirs
            n["same with hints"] += ours == hinted
            n["ours"] += ours == truth
            n["theirs"] += theirs == truth
            n["both"] += ours == theirs == truth
            if theirs == truth != ours:
                print(f"{path.stem}: right is duckdb.")
                print_difference(ours, theirs)
    print(f"made tables: the same {share(n['same'], n_tables)},", end=" ")
    print(f"with hints {share(n['same with hints'], n_tables)}")
    print(f"right: ours {share(n['ours'], n_tables)}, DuckDB {share(n['theirs'], n_tables)};", end=" ")
    print(f"where DuckDB is right, recto is for {share(n['both'], n['theirs'])}")
    return n["ours"] >= n["theirs"]


def batches(paths):
    """Yields batches of paths that fit a command line."""
    return (paths[at : at + 1_000] for at in range(0, len(paths), 1_000))


def print_difference(ours, theirs):
    """Prints both answers; of long lists of columns only the differences."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours[0]) == len(theirs[0]) > 8:
        pairs = [pair for pair in zip(ours[0], theirs[0]) if pair[0] != pair[1]]
        ours = [pair[0] for pair in pairs], ours[1]
        theirs = [pair[1] for pair in pairs], theirs[1]
    print(f"    ours:   {ours}\n    DuckDB: {theirs}\n")


def main():
    if "--made" in sys.argv:
        is_ahead = compare_made(int(sys.argv[sys.argv.index("--made") + 1]))
        sys.exit(not is_ahead)
    if "--debian" in sys.argv:
        compare_debian(pathlib.Path(sys.argv[sys.argv.index("--debian") + 1]))
        return
    if "--judged" in sys.argv:
        sys.exit(not compare_judged(pathlib.Path(sys.argv[sys.argv.index("--judged") + 1])))
    first, later = compare_own()
    counts = [("own", first), ("later own", later)]
    if "--public" in sys.argv:
        counts.append(("public", compare_public()))
        counts.append(("all", [sum(pair) for pair in zip(*(numbers for _, numbers in counts))]))
    print(f"DuckDB {duckdb.__version__}")
    for what, (n_files, n_same, n_hinted, n_delimiters, n_unexplained) in counts:
        print(f"{what} files: the same {share(n_same, n_files)},", end=" ")
        print(f"with hints {share(n_same + n_hinted, n_files)},", end=" ")
        print(f"{n_delimiters} of them with a delimiter hint, {n_unexplained} without a reason")
    sys.exit(n_unexplained > 0)


def share(n, n_all):
    return f"{n} of {n_all} ({n / n_all:.1%})"


if __name__ == "__main__":
    main()
