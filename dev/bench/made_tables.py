"""Generates tables with known content.

Every number gives one table with random columns. Properties that can be detected from a file are
random: delimiter, quotes, line endings, BOM, header, comments above it, missing values, date
formats. Properties that cannot be detected are left out: words without a header, or `1,234` with a
decimal comma.
"""

import csv
import dataclasses
import datetime
import io
import random
import uuid

WORDS = (
    "amber birch cedar delta ember frost grove harbor island juniper kettle lemon maple north "
    "orbit pixel quartz river saddle timber umber velvet willow zephyr"
).split()
PEOPLE = ["Ada Lovelace", "Björn Borg", "Chloé Dubois", "Jürgen Müller", "Mary O'Neil", "Zoë Çelik"]
CITIES = ["New York", "São Paulo", "Oslo", "Cape Town", "Zürich", "Kyiv"]
NAMES = (
    "id name value price amount day created_at city country e-mail status code qty total type "
    "score age weight height lat lon group region product category user title flag url note"
).split()

DAYS = ["%Y-%m-%d"] * 8 + ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y"]
MOMENTS = ["%Y-%m-%d %H:%M:%S"] * 6 + ["%Y-%m-%dT%H:%M:%S"] * 3 + ["%Y-%m-%dT%H:%M:%SZ"] * 3
MOMENTS += ["%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M"]


@dataclasses.dataclass
class Style:
    """The notation of a table."""

    delimiter: str
    has_decimal_comma: bool
    day: str
    moment: str
    truth: tuple

    @staticmethod
    def draw(rng):
        delimiter = rng.choices(",;\t|", [5, 3, 3, 1.5])[0]
        return Style(
            delimiter=delimiter,
            has_decimal_comma=delimiter in ";\t" and rng.random() < 0.12,
            day=rng.choice(DAYS),
            moment=rng.choice(MOMENTS),
            truth=rng.choice([("true", "false"), ("TRUE", "FALSE"), ("True", "False")]),
        )


@dataclasses.dataclass
class Made:
    """A table, its expected reading, and the hints for DuckDB."""

    data: bytes
    columns: list
    n_rows: int
    options: str


def make(number):
    rng = random.Random(number)
    style = Style.draw(rng)
    n_columns = rng.choice([1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 12])
    n_rows = rng.choice([1, 2, 3, 3, 5, 8, 10, 20, 50, 300])
    kinds = [rng.choice(list(KINDS)) for _ in range(n_columns)]
    share_missing = rng.choice([0, 0, 0, 0.05, 0.3])
    columns = [column(rng, kind, style, n_rows, share_missing) for kind in kinds]
    types = [kind_of(kind, values) for kind, values in zip(kinds, columns)]
    # Words above words cannot be distinguished from a header.
    has_header = rng.random() < 0.85 or not set(types) - {"text"}
    names = names_of(rng, n_columns)
    records = [list(record) for record in zip(*columns)]
    n_digits = len(str(n_columns - 1))
    made_up = [f"column{idx:0{n_digits}}" for idx in range(n_columns)]
    return Made(
        data=write(rng, style, [names] * has_header + records, n_columns > 1 and n_rows > 1),
        columns=[list(pair) for pair in zip(names if has_header else made_up, types)],
        n_rows=n_rows,
        options=options(style, types),
    )


def column(rng, kind, style, n_rows, share_missing):
    """Returns values of a kind; some are missing, but never the first of a column."""
    values = [KINDS[kind][1](rng, style) for _ in range(n_rows)]
    return [value if idx == 0 or rng.random() >= share_missing else "" for idx, value in enumerate(values)]


def kind_of(kind, values):
    """Returns the type of a column: codes without any leading zeros are integers."""
    filled = [value for value in values if value]
    is_whole = all(value.isdigit() and value[0] != "0" for value in filled)
    return "integer" if kind == "code" and is_whole else KINDS[kind][0]


def names_of(rng, n_columns):
    names = rng.sample(NAMES, n_columns)
    change = rng.choice([str, str, str, str.upper, lambda name: name.replace("_", " ").title()])
    return [change(name) for name in names]


def write(rng, style, records, may_have_title):
    line_end = rng.choice(["\n", "\n", "\r\n"])
    quoting = rng.choice([csv.QUOTE_MINIMAL] * 4 + [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    text = io.StringIO()
    writer = csv.writer(text, delimiter=style.delimiter, quoting=quoting, lineterminator=line_end)
    writer.writerows(records)
    preamble = rng.choices(["", "# made by a tool\n# on a day\n", "\n", "Report of the year\n\n"], [88, 6, 3, 3])[0]
    if preamble.startswith("Report") and not may_have_title:
        preamble = ""
    text = preamble.replace("\n", line_end) + text.getvalue()
    if rng.random() < 0.2:
        text = text.removesuffix(line_end)
    return text.encode("utf-8-sig" if rng.random() < 0.1 else "utf-8")


def options(style, types):
    """Returns hints that DuckDB needs: the formats of numbers and timestamps."""
    hints = []
    if style.has_decimal_comma and "number" in types:
        hints.append("decimal_separator = ','")
    if not style.moment.startswith("%Y") and "timestamp" in types:
        hints.append(f"timestampformat = '{style.moment}'")
    return ", ".join(hints)


def decimal(rng, style):
    text = f"{rng.uniform(0, 1000):.{rng.choice([1, 2])}f}"
    return text.replace(".", ",") if style.has_decimal_comma else text


def moment(rng, form):
    seconds = rng.randrange(631_152_000, 1_767_225_600)
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime(form)


def sentence(rng):
    """Returns words, some with characters that need quotes between them."""
    words = [rng.choice(WORDS) for _ in range(rng.randrange(3, 9))]
    first = rng.choice([" ", " ", " ", ", ", "; ", "\n", ' "', "'s "])
    text = words[0] + first + words[1] + ('" ' if first == ' "' else " ") + " ".join(words[2:])
    return text.capitalize() + rng.choice(["", "."])


# The type of each kind, and how a value is generated.
KINDS = {
    "count": ("integer", lambda rng, style: str(rng.randrange(100_000))),
    "balance": ("integer", lambda rng, style: str(rng.randrange(-500, 500))),
    "large": ("integer", lambda rng, style: str(rng.randrange(10**12, 10**15))),
    "decimal": ("number", decimal),
    "decimal again": ("number", decimal),
    "truth": ("boolean", lambda rng, style: rng.choice(style.truth)),
    "day": ("date", lambda rng, style: moment(rng, style.day)),
    "moment": ("timestamp", lambda rng, style: moment(rng, style.moment)),
    "time": ("time", lambda rng, style: moment(rng, "%H:%M:%S")),
    "word": ("text", lambda rng, style: rng.choice(WORDS)),
    "category": ("text", lambda rng, style: rng.choice(WORDS[:3])),
    "person": ("text", lambda rng, style: rng.choice(PEOPLE)),
    "city": ("text", lambda rng, style: rng.choice(CITIES)),
    "sentence": ("text", lambda rng, style: sentence(rng)),
    "code": ("text", lambda rng, style: f"{rng.randrange(50_000):05}"),
    "order": ("text", lambda rng, style: f"ORD-{rng.randrange(10_000)}"),
    "address": ("text", lambda rng, style: f"{rng.choice(WORDS)}@example.org"),
    "link": ("text", lambda rng, style: f"https://example.org/{rng.choice(WORDS)}?q={rng.choice(WORDS)}"),
    "uuid": ("text", lambda rng, style: str(uuid.UUID(int=rng.getrandbits(128)))),
    "percentage": ("text", lambda rng, style: f"{rng.randrange(100)}%"),
    "price": ("text", lambda rng, style: f"${rng.uniform(1, 900):.2f}"),
}
