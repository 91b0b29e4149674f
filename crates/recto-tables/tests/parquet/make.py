"""Writes the files of this directory with pyarrow and DuckDB, and the values that pyarrow reads.

Run it in a directory with this name: python make.py. It needs pyarrow and duckdb.
"""

import datetime as dt
import decimal
import json
import pathlib
import struct
import uuid

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent
D = decimal.Decimal
UTC = dt.timezone.utc


def write(name, table, **options):
    options.setdefault("compression", "none")
    options.setdefault("write_statistics", False)
    options.setdefault("store_schema", False)
    pq.write_table(table, here / f"{name}.parquet", **options)


def column(kind, values):
    return pa.array(values, type=kind)


big = 2**63 + 5
scalars = {
    "bool": column(pa.bool_(), [True, None, False]),
    "i8": column(pa.int8(), [-128, None, 127]),
    "i16": column(pa.int16(), [-(2**15), None, 2**15 - 1]),
    "i32": column(pa.int32(), [-(2**31), None, 2**31 - 1]),
    "i64": column(pa.int64(), [-(2**63), None, 2**63 - 1]),
    "u8": column(pa.uint8(), [0, None, 255]),
    "u16": column(pa.uint16(), [0, None, 65535]),
    "u32": column(pa.uint32(), [0, None, 2**32 - 1]),
    "u64": column(pa.uint64(), [0, None, big]),
    "f16": column(pa.float16(), [1.5, None, -0.0999755859375]),
    "f32": column(pa.float32(), [0.1, None, 1e30]),
    "f64": column(pa.float64(), [0.1, None, -1e300]),
    "nan": column(pa.float64(), [float("nan"), float("inf"), float("-inf")]),
    "str": column(pa.string(), ["", None, "hé\n|"]),
    "lstr": column(pa.large_string(), ["a", None, "b" * 1005]),
    "bin": column(pa.binary(), [b"", None, b"\x00\xff"]),
    "longbin": column(pa.binary(), [b"\x01" * 100, None, b"\x02" * 64]),
    "fixed": column(pa.binary(3), [b"abc", None, b"\x00\x01\x02"]),
    "date": column(pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "time_ms": column(pa.time32("ms"), [dt.time(0), None, dt.time(23, 59, 59, 999000)]),
    "time_us": column(pa.time64("us"), [dt.time(1, 2, 3), None, dt.time(23, 59, 59, 999999)]),
    "time_ns": column(pa.time64("ns"), [1, None, 86399999999999]),
    "ts_ms": column(pa.timestamp("ms"), [dt.datetime(2024, 2, 29, 1, 2, 3, 4000), None, dt.datetime(1969, 12, 31, 23, 59, 59)]),
    "ts_us": column(pa.timestamp("us"), [dt.datetime(2024, 2, 29, 1, 2, 3, 4), None, dt.datetime(1, 1, 1)]),
    "ts_ns": column(pa.timestamp("ns"), [1, None, 1709168523000000000]),
    "ts_utc": column(pa.timestamp("us", "UTC"), [dt.datetime(2024, 2, 29, tzinfo=UTC), None, dt.datetime(2024, 2, 29, 12, 30, tzinfo=UTC)]),
    "ts_berlin": column(pa.timestamp("us", "Europe/Berlin"), [dt.datetime(2024, 7, 1, 12, tzinfo=UTC), None, None]),
    "dec9": column(pa.decimal128(9, 2), [D("12.30"), None, D("-0.05")]),
    "dec18": column(pa.decimal128(18, 4), [D("12345678901234.5678"), None, D("0.0001")]),
    "dec38": column(pa.decimal128(38, 10), [D("1234567890123456789012345678.0123456789"), None, D("-1")]),
    "dec76": column(pa.decimal256(76, 0), [D(10) ** 75, None, D(-7)]),
    "dict": pa.array(["x", None, "y"]).dictionary_encode(),
    "null": pa.nulls(3),
}
write("scalars", pa.table(scalars))
for codec in ["snappy", "gzip", "brotli", "zstd", "lz4"]:
    write(codec, pa.table({"n": pa.array(range(50)), "s": pa.array(["repeated text"] * 50)}), compression=codec)
write("delta", pa.table({"n": pa.array(range(40)), "s": pa.array([f"prefix {i}" for i in range(40)]), "t": pa.array([f"{i}" * (i % 5) for i in range(40)]), "f": pa.array([i / 4 for i in range(40)])}),
      use_dictionary=False, column_encoding={"n": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "t": "DELTA_LENGTH_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"})
nested = {
    "ints": column(pa.list_(pa.int64()), [[1, 2], None, [], [None, 3]]),
    "lists": column(pa.list_(pa.list_(pa.string())), [[["a"], []], None, [None, ["b", None]], []]),
    "struct": column(pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 2, "b": None}]),
    "map": column(pa.map_(pa.string(), pa.int64()), [[("k", 1), ("l", None)], None, [], [("m", 3)]]),
    "twice": column(pa.map_(pa.int32(), pa.string()), [[(1, "a"), (1, "b")], None, [(2, "c")], []]),
    "deep": column(pa.list_(pa.struct([("n", pa.int32()), ("tags", pa.list_(pa.string())), ("at", pa.date32())])),
                   [[{"n": 1, "tags": ["a", "b"], "at": dt.date(2024, 1, 1)}, {"n": 2, "tags": [], "at": None}], None, [None], [{"n": None, "tags": None, "at": None}, {"n": 4, "tags": [None], "at": None}]]),
    "structs": column(pa.struct([("in", pa.struct([("x", pa.float64()), ("l", pa.list_(pa.int8()))]))]),
                      [{"in": {"x": 0.5, "l": [1]}}, {"in": None}, None, {"in": {"x": None, "l": None}}]),
    "long": column(pa.list_(pa.int32()), [list(range(500)), [7], None, []]),
    "fixed": column(pa.list_(pa.float32(), 2), [[0.1, 0.2], None, [1, None], [3, 4]]),
}
write("nested", pa.table(nested))
write("nested_v2", pa.table(nested), data_page_version="2.0", compression="snappy")
write("v2", pa.table(scalars).select(["bool", "i32", "str", "f64", "dict"]), data_page_version="2.0", compression="gzip")
write("empty", pa.table({"a": column(pa.int64(), []), "b": column(pa.list_(pa.string()), [])}))
write("groups", pa.table({"n": pa.array(range(25)), "l": pa.array([[i] * (i % 3) for i in range(25)])}), row_group_size=10)
write("pages", pa.table({"n": pa.array(range(3000)), "l": pa.array([[i, i] for i in range(3000)])}), data_page_size=400, use_dictionary=False, compression="zstd")
write("int96", pa.table({"t": column(pa.timestamp("ns"), [1, None, -1, 1709168523000000000])}), use_deprecated_int96_timestamps=True)
write("names", pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", ""]))
pq.write_table(pa.table({"a": [1, 2, 3]}).select([]), here / "no_columns.parquet")
write("uuids", pa.table({"u": pa.array([uuid.UUID(int=5).bytes, None], pa.binary(16))}))

duck = duckdb.connect()
duck.sql(f"""copy (select '00000000-0000-0000-0000-000000000005'::uuid as u,
    interval '14 months 3 days 1500 milliseconds' as i, 'b'::enum('a', 'b') as e,
    '{{"a":1}}'::json as j, 170141183460469231731687303715884105727::hugeint as h, [1, null] as l,
    {{'x': 1, 'y': [2]}} as s, map(['k'], [1]) as m, 1.5::decimal(4, 1) as d, '12:34:56'::time as t,
    '2024-02-29 01:02:03'::timestamp as ts, '2024-02-29 01:02:03+00'::timestamptz as tz,
    '2024-02-29 01:02:03'::timestamp_s as s0, '2024-02-29 01:02:03'::timestamp_ns as s9,
    ''::blob as b from range(2)) to '{here}/duckdb.parquet' (format parquet)""")


def shortest(value):
    """Returns the fewest digits that identify this 32-bit float."""
    for n_digits in range(1, 10):
        digits = float(f"{value:.{n_digits}g}")
        if struct.pack("f", digits) == struct.pack("f", value):
            return digits


def clock(seconds, nanos):
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = f"{nanos:09}"
    for n_digits in (0, 3, 6, 9):
        if digits[n_digits:].strip("0") == "":
            return text + (f".{digits[:n_digits]}" if n_digits else "")


def shown(scalar):
    """Returns what the preview shows for a value that pyarrow has read."""
    kind, types = scalar.type, pa.types
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.ExtensionScalar):
        return str(scalar.as_py())
    if types.is_dictionary(kind):
        return shown(scalar.value)
    if types.is_struct(kind):
        return {name: shown(value) for name, value in scalar.items()}
    if types.is_map(kind):
        entries = [(shown(it["key"]), shown(it["value"])) for it in scalar.values]
        keys = [str(key) for key, _ in entries]
        return dict(zip(keys, (it for _, it in entries))) if len(set(keys)) == len(keys) else entries
    if types.is_nested(kind):
        elements = [shown(it) for it in scalar.values]
        # Numbers count for 8 of the 1,000 bytes after which a list is cut.
        return elements if len(elements) <= 126 else elements[:126] + [f"… (+{len(elements) - 126} more)"]
    value = scalar.as_py() if not types.is_temporal(kind) else scalar.value
    if types.is_date(kind):
        return scalar.as_py().isoformat()
    if types.is_time(kind):
        n_per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return clock(value // n_per_second, value % n_per_second * (10**9 // n_per_second))
    if types.is_timestamp(kind):
        n_per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        seconds, rest = divmod(value, n_per_second)
        day = dt.date.fromordinal(dt.date(1970, 1, 1).toordinal() + seconds // 86400)
        return f"{day.isoformat()}T{clock(seconds % 86400, rest * (10**9 // n_per_second))}" + ("Z" if kind.tz else "")
    if types.is_decimal(kind):
        text = format(value, "f")
        if kind.scale == 0:
            return int(text) if -(2**63) <= int(text) < 2**63 else text
        fraction = text.rstrip("0").rstrip(".")
        number = float(text)
        return number if format(D(repr(number)), "f").removesuffix(".0") == fraction else text
    if types.is_floating(kind):
        if value != value or value in (float("inf"), float("-inf")):
            return {"nan": "NaN"}.get(str(value), str(value))
        return value if types.is_float64(kind) else shortest(value)
    if types.is_integer(kind):
        return value
    if types.is_fixed_size_binary(kind) and kind.byte_width == 12:
        months, days, millis = struct.unpack("<III", value)
        return f"P{months // 12}Y{months % 12}M{days}DT{millis / 1000:.3f}S"
    if isinstance(value, bytes):
        return value[:64].hex() + (f"… (+{len(value) - 64} bytes)" if len(value) > 64 else "")
    if isinstance(value, str) and len(value) > 1000:
        return value[:1000] + f"… (+{len(value) - 1000} characters)"
    return value


expected = {}
for path in sorted(here.glob("*.parquet")):
    table = pq.ParquetFile(path).read()
    print(f"{path.name}: {path.stat().st_size} bytes, {table.num_rows} rows")
    assert path.stat().st_size < 10_000, path
    columns = [[shown(it) for it in column] for column in table.columns]
    expected[path.stem] = [list(row) for row in zip(*columns)][:25]
lines = (f"{json.dumps(name)}: {json.dumps(rows, ensure_ascii=False)}" for name, rows in expected.items())
(here / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
