//! The first rows of a workbook: Excel's formats and OpenDocument.
//!
//! The first visible sheet that is not empty is shown unless another is asked for; all are named. Formulas are shown as
//! the values stored in the file; without one, as empty.

pub(crate) mod archive;
mod cell;
mod grid;
mod ods;
mod repair;
pub(crate) mod xls;

use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use calamine::{Data, DataRef, Reader, SheetType, SheetVisible};
use calamine::{Xls, XlsError, Xlsb, XlsbError, Xlsx, XlsxError};

use crate::Request;
use crate::budget::cut;
use crate::error::{Error, Result};
use crate::select;
use crate::source::Source;
use crate::table::Table;

use archive::{Bytes, Failure, WorkbookKind};
use cell::SheetCell;
use grid::Grid;

/// The most characters of a note that names sheets.
const MAX_NAMES: usize = 400;

/// The sheets of a workbook.
struct Workbook {
    sheets: Vec<Sheet>,
    /// The sheet that is shown, unless all are hidden or empty.
    shown: Option<(usize, Grid)>,
}

struct Sheet {
    name: String,
    is_visible: bool,
}

/// Returns the first rows of a workbook.
pub fn preview(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Table> {
    // The library panics on some malformed files.
    let read = catch_unwind(AssertUnwindSafe(|| read(source, request)));
    let workbook = read.unwrap_or_else(|_| {
        let cause = "it is damaged in a way that its reader does not expect".into();
        Err(Error::Broken { cause })
    })?;
    let note = note(&workbook);
    let grid = workbook.shown.map_or_else(|| Grid::new(request), |(_, grid)| grid);
    grid.check_memory()?;
    let mut table = grid.into_table(request);
    table.notes.extend(note);
    Ok(table)
}

fn read(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Workbook> {
    let (mut bytes, failure) = archive::open(source)?;
    let mut magic = Vec::new();
    let head = bytes.by_ref().take(8).read_to_end(&mut magic);
    head.map_err(|error| failure.explain(&error))?;
    if magic == xls::MAGIC {
        return read_xls(bytes, &failure, request);
    }
    let n_bytes = bytes.get_ref().size();
    match read_archive(archive::reopen(&bytes), &failure, request) {
        Err(Error::Broken { cause }) => {
            let repaired = repair::repair(bytes, n_bytes, &failure, request.max_memory);
            let repaired = match repaired {
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                repaired => repaired.ok().flatten(),
            };
            let Some(repaired) = repaired else { return Err(Error::Broken { cause }) };
            let (bytes, failure) = archive::open(Arc::new(repaired))?;
            read_archive(bytes, &failure, request)
        }
        outcome => outcome,
    }
}

fn read_archive(bytes: Bytes, failure: &Failure, request: &Request<'_>) -> Result<Workbook> {
    match archive::check(archive::reopen(&bytes), failure, request.max_memory)? {
        WorkbookKind::Ods => ods::read(bytes, failure, request),
        WorkbookKind::Xlsx => read_xlsx(bytes, failure, request),
        WorkbookKind::Xlsb => read_xlsb(bytes, failure, request),
    }
}

fn read_xlsx(bytes: Bytes, failure: &Failure, request: &Request<'_>) -> Result<Workbook> {
    let explain = |error: XlsxError| failure.explain(&error);
    let mut workbook = Xlsx::new(bytes).map_err(explain)?;
    let sheets = workbook.sheets_metadata().to_vec();
    Workbook::read(&sheets, request, |name| {
        let mut cells = workbook.worksheet_cells_reader(name).map_err(explain)?;
        let read = read_cells(request, || {
            let cell = cells.next_cell_with_formula_metadata().map_err(explain)?;
            Ok(cell.map(|cell| (cell.pos, with_formula(&cell.value, cell.formula.is_some()))))
        });
        let Err(Error::Broken { .. }) = read else { return read };
        drop(cells);
        // Values can be read although a formula is damaged.
        let mut cells = workbook.worksheet_cells_reader(name).map_err(explain)?;
        read_cells(request, || cells.next_cell().map(positioned).map_err(explain))
    })
}

/// Converts a cell that may have a formula. A program that computes nothing stores no value for it.
fn with_formula(value: &DataRef<'_>, has_formula: bool) -> Option<SheetCell> {
    match value {
        DataRef::Empty if has_formula => Some(SheetCell::NotComputed),
        value => SheetCell::from_excel(value),
    }
}

/// A position, and the cell there unless it is empty.
type Positioned = ((u32, u32), Option<SheetCell>);

fn positioned(cell: Option<calamine::Cell<DataRef<'_>>>) -> Option<Positioned> {
    cell.map(|cell| (cell.get_position(), SheetCell::from_excel(cell.get_value())))
}

fn read_xlsb(bytes: Bytes, failure: &Failure, request: &Request<'_>) -> Result<Workbook> {
    let explain = |error: XlsbError| failure.explain(&error);
    let mut workbook = Xlsb::new(bytes).map_err(explain)?;
    let sheets = workbook.sheets_metadata().to_vec();
    Workbook::read(&sheets, request, |name| {
        let mut cells = workbook.worksheet_cells_reader(name).map_err(explain)?;
        read_cells(request, || cells.next_cell().map(positioned).map_err(explain))
    })
}

/// Reads cells of a sheet until the grid is full.
fn read_cells(
    request: &Request<'_>,
    mut next_cell: impl FnMut() -> Result<Option<Positioned>>,
) -> Result<Grid> {
    let mut grid = Grid::new(request);
    while let Some(((row, column), cell)) = next_cell()? {
        if !cell.is_none_or(|cell| grid.push(row, column, cell)) {
            break;
        }
    }
    Ok(grid)
}

fn read_xls(bytes: Bytes, failure: &Failure, request: &Request<'_>) -> Result<Workbook> {
    let mut grid = Grid::new(request);
    let prepared = xls::prepare(bytes, failure, grid.max_rows(), request)?;
    let explain = |error: XlsError| failure.explain(&error);
    let mut workbook: Xls<_> = Xls::new(Cursor::new(prepared.file)).map_err(explain)?;
    let sheets = workbook.sheets_metadata().to_vec();
    if let Some(sheet) = request.sheet.filter(|it| sheets.iter().all(|sheet| sheet.name != **it)) {
        return Err(no_such_sheet(sheet, &Workbook::new(&sheets, None)));
    }
    let Some((index, sheet)) = prepared.shown.and_then(|index| Some((index, sheets.get(index)?)))
    else {
        return Ok(Workbook::new(&sheets, None));
    };
    let range = workbook.worksheet_range(&sheet.name).map_err(explain)?;
    let (first_row, first_column) = range.start().unwrap_or_default();
    for (row, column, data) in range.used_cells() {
        let row = first_row + row as u32;
        let row = prepared.rows.get(row as usize).map_or(row, |row| u32::from(*row));
        let column = first_column + column as u32;
        let cell = SheetCell::from_excel(&borrowed(data));
        if !cell.is_none_or(|cell| grid.push(row, column, cell)) {
            break;
        }
    }
    if prepared.has_more {
        grid.set_has_more();
    }
    Ok(Workbook::new(&sheets, Some((index, grid))))
}

fn borrowed(data: &Data) -> DataRef<'_> {
    match data {
        Data::Empty => DataRef::Empty,
        Data::Int(number) => DataRef::Int(*number),
        Data::Float(number) => DataRef::Float(*number),
        Data::String(text) => DataRef::SharedString(text),
        Data::Bool(value) => DataRef::Bool(*value),
        Data::DateTime(moment) => DataRef::DateTime(*moment),
        Data::DateTimeIso(text) => DataRef::DateTimeIso(text.clone()),
        Data::DurationIso(text) => DataRef::DurationIso(text.clone()),
        Data::Error(error) => DataRef::Error(error.clone()),
    }
}

impl Workbook {
    /// Reads the visible sheets until one is not empty.
    fn read(
        sheets: &[calamine::Sheet],
        request: &Request<'_>,
        mut read: impl FnMut(&str) -> Result<Grid>,
    ) -> Result<Workbook> {
        if let Some(sheet) = request.sheet {
            let is_wanted =
                |it: &calamine::Sheet| it.name == sheet && it.typ == SheetType::WorkSheet;
            let index = sheets.iter().position(is_wanted);
            let index = index.ok_or_else(|| no_such_sheet(sheet, &Workbook::new(sheets, None)))?;
            return Ok(Workbook::new(sheets, Some((index, read(sheet)?))));
        }
        for (index, sheet) in sheets.iter().enumerate() {
            let is_candidate =
                sheet.visible == SheetVisible::Visible && sheet.typ == SheetType::WorkSheet;
            let grid = if is_candidate { read(&sheet.name)? } else { continue };
            if !grid.is_empty() {
                return Ok(Workbook::new(sheets, Some((index, grid))));
            }
        }
        Ok(Workbook::new(sheets, None))
    }

    fn new(sheets: &[calamine::Sheet], shown: Option<(usize, Grid)>) -> Workbook {
        let sheet = |sheet: &calamine::Sheet| Sheet {
            name: sheet.name.clone(),
            is_visible: sheet.visible == SheetVisible::Visible,
        };
        Workbook { sheets: sheets.iter().map(sheet).collect(), shown }
    }
}

fn no_such_sheet(sheet: &str, workbook: &Workbook) -> Error {
    let known = select::list(workbook.sheets.iter().map(|sheet| sheet.name.as_str()));
    Error::NoSuchSheet { sheet: sheet.into(), known }
}

/// Names the sheets, if there are others than the one shown.
fn note(workbook: &Workbook) -> Option<String> {
    let names = workbook.sheets.iter().map(|sheet| match sheet.is_visible {
        true => sheet.name.clone(),
        false => format!("{} (hidden)", sheet.name),
    });
    let names = cut(&names.collect::<Vec<_>>().join(", "), MAX_NAMES);
    let n_sheets = workbook.sheets.len();
    match &workbook.shown {
        None if n_sheets == 1 => Some(format!("The sheet {names} is empty or hidden.")),
        None => Some(format!("All {n_sheets} sheets are empty or hidden: {names}.")),
        Some(_) if n_sheets == 1 => None,
        Some((index, _)) => {
            let shown = &workbook.sheets[*index].name;
            Some(format!("This is sheet {shown} of {n_sheets}: {names}."))
        }
    }
}

#[cfg(test)]
mod tests;
