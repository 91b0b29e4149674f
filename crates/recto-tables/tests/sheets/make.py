"""Writes the workbooks of this directory with openpyxl, xlwt and odfpy.

Run it here: python make.py. The .xlsb file is made by hand, because nothing free writes that format.
"""

import datetime as dt
import pathlib
import struct
import zipfile

import openpyxl
import xlwt
from odf import opendocument, style, table, text
from openpyxl.utils.datetime import CALENDAR_MAC_1904

here = pathlib.Path(__file__).parent
HEADER = ["id", "name", "price", "when", "day", "at", "took", "ok", "zip", "mixed"]
ROWS = [
    [1, "Ann", 1.5, dt.datetime(2024, 1, 31, 12, 34, 56), dt.date(2024, 2, 29), dt.time(8, 30), dt.timedelta(hours=26, minutes=30), True, "00123", 1],
    [2, "Bob | \n", 2, dt.datetime(2024, 1, 31), dt.date(1900, 3, 1), dt.time(23, 59, 59), dt.timedelta(seconds=1.5), False, "04567", "x"],
    [3, None, -0.25, None, None, None, None, None, "", dt.date(2024, 1, 1)],
]


def xlsx(name, fill, epoch=None):
    book = openpyxl.Workbook()
    if epoch:
        book.epoch = epoch
    fill(book)
    book.save(here / f"{name}.xlsx")


def types(book):
    sheet = book.active
    sheet.title = "Data"
    for row in [HEADER, *ROWS]:
        sheet.append(row)


def around(book):
    book.active.title = "Empty"
    hidden = book.create_sheet("Secret")
    hidden.append(["hidden"])
    hidden.sheet_state = "hidden"
    sheet = book.create_sheet("Data")
    sheet["C3"] = "Report of 2024"
    for row, values in enumerate([["Country", 2019, 2020, "Note"], ["France", 1.5, 2.5, None], None, ["Spain", 3, 4, "late"]], 5):
        for column, value in enumerate(values or [], 3):
            sheet.cell(row, column, value)
    sheet.merge_cells("C3:F3")
    book.create_sheet("More").append([1])


def names(book):
    book.active.append(["a", "a", None, "b", "a"])
    book.active.append([1, 2, 3, 4, 5])


def headless(book):
    book.active.append([1, "x"])
    book.active.append([2, "y"])


def errors(book):
    sheet = book.active
    sheet.append(["result", "long"])
    sheet.append(["#DIV/0!", "y" * 1500])
    sheet["A2"].data_type = "e"


xlsx("types", types)
xlsx("types_1904", types, CALENDAR_MAC_1904)
xlsx("around", around)
xlsx("names", names)
xlsx("headless", headless)
xlsx("errors", errors)
xlsx("blank", lambda book: None)
xlsx("header_only", lambda book: book.active.append(["a", "b"]))


def rezip(name, change):
    """Replaces parts of a workbook."""
    path = here / f"{name}.xlsx"
    parts = {item.filename: zipfile.ZipFile(path).read(item) for item in zipfile.ZipFile(path).infolist()}
    change(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


def formula(parts):
    # openpyxl cannot write both a formula and its value.
    cells = b'<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2" t="str"><f>"a"&amp;"b"</f><v>ab</v></c></row>'
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"</sheetData>", cells + b"</sheetData>")


xlsx("formulas", lambda book: book.active.append(["sum", "text"]))
rezip("formulas", formula)



def shared(parts):
    # openpyxl writes texts into their cells; Excel stores each text once, in a separate part.
    texts = b"<si><t>a</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh sb='0' eb='1'><t>no</t></rPh></si><si><t xml:space='preserve'> x&amp;y</t></si>"
    parts["xl/sharedStrings.xml"] = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="4" uniqueCount="3">' + texts + b"</sst>"
    cells = b'<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2" t="d"><v>2024-01-31T01:02:03.500</v></c></row>'
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"<sheetData />", b"<sheetData></sheetData>").replace(b"</sheetData>", cells + b"</sheetData>")


xlsx("shared", lambda book: None)
rezip("shared", shared)


def utf16(parts):
    for part in ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"]:
        if part in parts:
            text = parts[part].decode().split("?>", 1)[-1]
            parts[part] = ('<?xml version="1.0" encoding="UTF-16"?>' + text).encode("utf-16")


def macros(parts):
    workbook, relations = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
    sheet = b'<sheet name="Macro1" sheetId="9" r:id="rIdMacro"/></sheets>'
    namespace = b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    parts[workbook] = parts[workbook].replace(b"</sheets>", sheet)
    if b"xmlns:r=" not in parts[workbook].split(b"<sheets>")[0]:
        parts[workbook] = parts[workbook].replace(b"<workbook ", b"<workbook " + namespace, 1)
    relation = b'<Relationship Id="rIdMacro" Target="macrosheets/sheet1.xml" Type="http://schemas.microsoft.com/office/2006/relationships/xlMacrosheet"/>'
    parts[relations] = parts[relations].replace(b"</Relationships>", relation + b"</Relationships>")
    parts["xl/macrosheets/sheet1.xml"] = b"<xm:macrosheet/>"


def new_errors(parts):
    cells = b'<row r="2"><c r="A2" t="e"><v>#SPILL!</v></c><c r="B2" t="e"><v>#DIV/0!</v></c><c r="C2"><v>3</v></c></row>'
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"</sheetData>", cells + b"</sheetData>")


def before_1900(book):
    book.active.append(["day", "n"])
    for number, serial in enumerate([-1, -36524, 45000.5]):
        book.active.append([serial, number])
        book.active.cell(number + 2, 1).number_format = "yyyy-mm-dd hh:mm"


for name, change in [("utf16", utf16), ("macros", macros)]:
    xlsx(name, names)
    rezip(name, change)
xlsx("new_errors", lambda book: book.active.append(["a", "b", "c"]))
rezip("new_errors", new_errors)
xlsx("before_1900", before_1900)

# Cells far apart
book = xlwt.Workbook()
sheet = book.add_sheet("Far")
for row, column, value in [(0, 0, "id"), (0, 1, "name"), (1, 0, 1), (1, 1, "Ann"), (65535, 0, 2), (65535, 255, "end")]:
    sheet.write(row, column, value)
book.save(here / "far.xls")

# Excel 97
for name, is_1904 in [("types", False), ("types_1904", True)]:
    book = xlwt.Workbook()
    book.dates_1904 = is_1904
    book.add_sheet("Empty")
    secret = book.add_sheet("Secret")
    secret.write(0, 0, "hidden")
    secret.visibility = 1
    sheet = book.add_sheet("Data")
    formats = {dt.datetime: "yyyy-mm-dd hh:mm:ss", dt.date: "yyyy-mm-dd", dt.time: "hh:mm:ss", dt.timedelta: "[h]:mm:ss"}
    for row, values in enumerate([HEADER, *ROWS]):
        for column, value in enumerate(values):
            form = xlwt.easyxf(num_format_str=formats[type(value)]) if type(value) in formats else xlwt.Style.default_style
            if isinstance(value, dt.timedelta):
                value = value / dt.timedelta(days=1)
            if value is not None:
                sheet.write(row, column, value, form)
    book.add_sheet("More").write(0, 0, 1)
    book.save(here / f"{name}.xls")

# OpenDocument
doc = opendocument.OpenDocumentSpreadsheet()
invisible = style.Style(name="invisible", family="table")
invisible.addElement(style.TableProperties(display="false"))
doc.automaticstyles.addElement(invisible)


def ods_cell(value):
    kinds = {int: "float", float: "float", bool: "boolean", dt.datetime: "date", dt.date: "date", dt.time: "time", dt.timedelta: "time"}
    if value is None:
        return table.TableCell()
    if isinstance(value, str):
        cell = table.TableCell(valuetype="string")
        for line in value.split("\n"):
            cell.addElement(text.P(text=line))
        return cell
    kind = kinds[type(value)]
    if kind == "boolean":
        return table.TableCell(valuetype=kind, booleanvalue=str(value).lower())
    if kind == "date":
        return table.TableCell(valuetype=kind, datevalue=value.isoformat())
    if kind == "time":
        if isinstance(value, dt.time):
            value = dt.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
        seconds = value.total_seconds()
        shown = f"PT{int(seconds // 3600):02}H{int(seconds // 60 % 60):02}M{seconds % 60:g}S"
        return table.TableCell(valuetype=kind, timevalue=shown)
    return table.TableCell(valuetype=kind, value=value)


def ods_sheet(name, rows, **options):
    sheet = table.Table(name=name, **options)
    for values in rows:
        row = table.TableRow()
        for value in values:
            row.addElement(ods_cell(value))
        # LibreOffice pads rows like this.
        row.addElement(table.TableCell(numbercolumnsrepeated=16384 - len(values)))
        sheet.addElement(row)
    filler = table.TableRow(numberrowsrepeated=1048576 - len(rows))
    filler.addElement(table.TableCell(numbercolumnsrepeated=16384))
    sheet.addElement(filler)
    doc.spreadsheet.addElement(sheet)


ods_sheet("Empty", [])
ods_sheet("Secret", [["hidden"]], stylename=invisible)
ods_sheet("Data", [HEADER, *ROWS])
ods_sheet("More", [[1]])
doc.save(here / "types.ods")


# Excel's binary workbook, record by record
def record(kind, payload=b""):
    head = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    return head + bytes([len(payload)]) + payload


def wide_text(value):
    return struct.pack("<I", len(value)) + value.encode("utf-16-le")


def cell(column, form=0):
    return struct.pack("<II", column, form)


sheet = (
    record(0x81) + record(0x94, struct.pack("<IIII", 0, 2, 0, 2)) + record(0x91)
    + record(0x00, struct.pack("<I", 0) + bytes(12))
    + record(0x07, cell(0) + struct.pack("<I", 0)) + record(0x06, cell(1) + wide_text("day")) + record(0x06, cell(2) + wide_text("ok"))
    + record(0x00, struct.pack("<I", 1) + bytes(12))
    + record(0x02, cell(0) + struct.pack("<I", 7 << 2 | 2)) + record(0x05, cell(1, 1) + struct.pack("<d", 45322.5)) + record(0x04, cell(2) + b"\x01")
    + record(0x00, struct.pack("<I", 2) + bytes(12))
    + record(0x05, cell(0) + struct.pack("<d", 0.5)) + record(0x05, cell(1, 1) + struct.pack("<d", 45323)) + record(0x03, cell(2) + b"\x07")
    + record(0x92) + record(0x82)
)
parts = {
    "[Content_Types].xml": b"<Types/>",
    "xl/_rels/workbook.bin.rels": b'<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.bin"/></Relationships>',
    "xl/workbook.bin": record(0x83) + record(0x99, bytes(4)) + record(0x9C, struct.pack("<II", 0, 1) + wide_text("rId1") + wide_text("Data")) + record(0x90) + record(0x84),
    "xl/styles.bin": record(0x269, struct.pack("<I", 2)) + record(0x2F, struct.pack("<HH", 0, 0) + bytes(12)) + record(0x2F, struct.pack("<HH", 0, 22) + bytes(12)),
    "xl/sharedStrings.bin": record(0x9F, struct.pack("<II", 1, 1)) + record(0x13, b"\x00" + wide_text("number")),
    "xl/worksheets/sheet1.bin": sheet,
}
with zipfile.ZipFile(here / "binary.xlsb", "w", zipfile.ZIP_DEFLATED) as archive:
    for part, content in parts.items():
        archive.writestr(part, content)

for path in sorted(here.glob("*.*s*")):
    print(path.name, path.stat().st_size)
