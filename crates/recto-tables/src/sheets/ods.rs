//! Reads OpenDocument sheets as a stream, up to the rows that are shown.
//!
//! The workbook library loads all sheets, with a cell for every repetition that a file claims: a
//! hundred bytes can mean 16,384 cells, and a row of them a million rows.

use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::ops::Range;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader as XmlReader, XmlVersion};
use zip::ZipArchive;

use super::archive::{Bytes, Failure, MAX_PARTS, MAX_PIECE, Pieces, text_too_long};
use super::cell::SheetCell;
use super::grid::Grid;
use super::{Sheet, Workbook, no_such_sheet};
use crate::Request;
use crate::error::{Error, Result};

/// The most bytes that are inflated to find the first rows.
const MAX_INFLATED: u64 = 512 << 20;

/// The most columns of a sheet.
const MAX_COLUMN: u32 = 16_384;

/// The most repeated rows that are shown one by one. More would only fill the answer.
const MAX_REPEATED: u32 = 1_000;

/// Reads the first visible sheet that is not empty, and the names of all sheets.
pub fn read(bytes: Bytes, failure: &Failure, request: &Request<'_>) -> Result<Workbook> {
    let mut archive = ZipArchive::new(bytes).map_err(|error| failure.explain(&error))?;
    let content = archive.by_name("content.xml").map_err(|error| failure.explain(&error))?;
    let pieces = Pieces::new(content, MAX_INFLATED);
    let mut reader = XmlReader::from_reader(BufReader::new(pieces));
    reader.config_mut().check_end_names = false;
    reader.config_mut().expand_empty_elements = true;
    let mut content = SheetStream { reader, failure, buffer: Vec::new() };
    let mut workbook = Workbook { sheets: Vec::new(), shown: None };
    match content.read(request, &mut workbook) {
        // After the sheet that is shown, only names are missing.
        Err(Error::TooLarge { .. }) if workbook.shown.is_some() => {
            workbook.sheets.push(Sheet { name: "…".into(), is_visible: true });
        }
        outcome => outcome?,
    }
    if let Some(sheet) = request.sheet.filter(|_| workbook.shown.is_none()) {
        return Err(no_such_sheet(sheet, &workbook));
    }
    Ok(workbook)
}

struct SheetStream<'a, R: Read> {
    reader: XmlReader<BufReader<Pieces<R>>>,
    failure: &'a Failure,
    buffer: Vec<u8>,
}

/// The relevant part of an event, without borrowing from the reader.
enum Token {
    Start(Tag),
    End(String),
    Text(String),
    Eof,
}

/// A start tag, with its relevant attributes.
#[derive(Default)]
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn get(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn n_repeated(&self, key: &str) -> u32 {
        self.get(key).and_then(|it| it.parse().ok()).unwrap_or(1).max(1)
    }
}

impl<R: Read> SheetStream<'_, R> {
    fn read(&mut self, request: &Request<'_>, workbook: &mut Workbook) -> Result<()> {
        let mut hidden = HashSet::new();
        let mut style = String::new();
        loop {
            let tag = match self.next()? {
                Token::Start(tag) => tag,
                Token::Eof => return Ok(()),
                _ => continue,
            };
            match tag.name.as_str() {
                "style:style" => style = tag.get("style:name").unwrap_or_default().into(),
                "style:table-properties" if tag.get("table:display") == Some("false") => {
                    hidden.insert(style.clone());
                    check_count(hidden.len(), "hidden styles")?;
                }
                "table:table" => {
                    let name = tag.get("table:name").unwrap_or_default().to_owned();
                    let style = tag.get("table:style-name").unwrap_or_default();
                    let is_visible = !hidden.contains(style);
                    let is_wanted = request.sheet.map_or(is_visible, |it| it == name);
                    let index = workbook.sheets.len();
                    workbook.sheets.push(Sheet { name, is_visible });
                    check_count(index, "sheets")?;
                    if is_wanted && workbook.shown.is_none() {
                        let mut grid = Grid::new(request);
                        let is_at_end = self.read_sheet(&mut grid)?;
                        if !grid.is_empty() || request.sheet.is_some() {
                            workbook.shown = Some((index, grid));
                        }
                        if is_at_end {
                            continue;
                        }
                    }
                    self.skip_sheet()?;
                }
                _ => {}
            }
        }
    }

    /// Reads rows until there are enough. Returns whether that was the end of the sheet.
    fn read_sheet(&mut self, grid: &mut Grid) -> Result<bool> {
        let mut row = 0_u32;
        loop {
            match self.next()? {
                Token::Start(tag) if tag.name == "table:table" => self.skip_sheet()?,
                Token::End(name) if name == "table:table" => return Ok(true),
                Token::Start(tag) if tag.name == "table:table-row" => {
                    let n_rows = tag.n_repeated("table:number-rows-repeated");
                    let cells = self.read_row(grid.max_cell())?;
                    if !push_row(grid, row, n_rows, &cells) {
                        return Ok(false);
                    }
                    row = row.saturating_add(n_rows);
                }
                Token::Eof => return Err(self.ends_early()),
                _ => {}
            }
        }
    }

    /// Skips to the end of a sheet. Cells can contain other sheets.
    fn skip_sheet(&mut self) -> Result<()> {
        let mut depth = 1;
        while depth > 0 {
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer);
            match event.map_err(|error| explain(&error, self.failure))? {
                Event::Start(tag) if tag.name().as_ref() == "table:table" => depth += 1,
                Event::End(tag) if tag.name().as_ref() == "table:table" => depth -= 1,
                Event::Eof => return Err(self.ends_early()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads to the end of a row. Returns the cells that are not empty, each with its columns.
    fn read_row(&mut self, max_cell: usize) -> Result<Vec<(Range<u32>, SheetCell)>> {
        let mut cells = Vec::new();
        let mut column = 0_u32;
        loop {
            match self.next()? {
                Token::Start(tag) if is_cell(&tag.name) => {
                    let n_columns = tag.n_repeated("table:number-columns-repeated");
                    let cell = self.read_cell(&tag)?;
                    let end = column.saturating_add(n_columns).min(MAX_COLUMN);
                    let cell = cell.filter(|_| column < end);
                    cells.extend(cell.map(|cell| (column..end, cell.cut(max_cell))));
                    column = end;
                }
                Token::End(name) if name == "table:table-row" => return Ok(cells),
                Token::Eof => return Err(self.ends_early()),
                _ => {}
            }
        }
    }

    /// Reads to the end of a cell.
    fn read_cell(&mut self, tag: &Tag) -> Result<Option<SheetCell>> {
        let text = self.read_text()?;
        let value = tag.get("office:value").and_then(|it| it.parse().ok());
        // LibreOffice stores errors as texts or zeros, and shows which error it is.
        let is_error = tag.get("calcext:value-type") == Some("error");
        let cell = match tag.get("office:value-type").unwrap_or_default() {
            "float" | "percentage" | "currency" if !is_error => value.map(SheetCell::Number),
            "boolean" => tag.get("office:boolean-value").map(|it| SheetCell::Boolean(it == "true")),
            "date" => tag.get("office:date-value").map(SheetCell::from_iso),
            "time" => tag.get("office:time-value").map(SheetCell::from_iso_duration),
            "string" if !is_error => {
                tag.get("office:string-value").map(|it| SheetCell::Text(it.into()))
            }
            _ => None,
        };
        let is_computed =
            tag.get("table:formula").is_none() || tag.get("office:value-type").is_some();
        Ok(cell.or_else(|| match text.is_empty() {
            true => (!is_computed).then_some(SheetCell::NotComputed),
            false => Some(SheetCell::Text(text)),
        }))
    }

    /// Reads the text that a cell shows, to its end: paragraphs, without notes and drawings.
    fn read_text(&mut self) -> Result<String> {
        let mut text = String::new();
        let mut n_paragraphs = 0;
        let mut n_hidden = 0;
        loop {
            if text.len() > MAX_PIECE {
                return Err(text_too_long());
            }
            match self.next()? {
                Token::Start(tag) => match tag.name.as_str() {
                    name if is_aside(name) => n_hidden += 1,
                    _ if n_hidden > 0 => {}
                    "text:p" => {
                        n_paragraphs += 1;
                        text += if n_paragraphs > 1 { "\n" } else { "" };
                    }
                    "text:s" => {
                        let n_spaces = tag.n_repeated("text:c").min(1_000);
                        text += &" ".repeat(n_spaces as usize);
                    }
                    "text:tab" => text.push('\t'),
                    "text:line-break" => text.push('\n'),
                    _ => {}
                },
                Token::Text(more) if n_hidden == 0 && n_paragraphs > 0 => text += &more,
                Token::End(name) if is_aside(&name) => n_hidden -= 1,
                Token::End(name) if is_cell(&name) && n_hidden == 0 => return Ok(text),
                Token::Eof => return Err(self.ends_early()),
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Token> {
        self.buffer.clear();
        let event = self.reader.read_event_into(&mut self.buffer);
        let token = match event.map_err(|error| explain(&error, self.failure))? {
            Event::Start(tag) => Token::Start(read_tag(&tag)),
            Event::End(tag) => Token::End(tag.name().as_ref().into()),
            Event::Text(text) => Token::Text(text.xml10_content().into_owned()),
            Event::CData(text) => Token::Text(text.xml10_content().into_owned()),
            Event::GeneralRef(entity) => {
                let character = entity.resolve_char_ref().ok().flatten().map(String::from);
                let named = || quick_xml::escape::resolve_xml_entity(&entity).map(String::from);
                Token::Text(character.or_else(named).unwrap_or_default())
            }
            Event::Eof => Token::Eof,
            _ => Token::Text(String::new()),
        };
        Ok(token)
    }

    fn ends_early(&self) -> Error {
        self.failure.explain(&"its content ends too early")
    }
}

fn check_count(n: usize, of_what: &str) -> Result<()> {
    if n < MAX_PARTS {
        return Ok(());
    }
    Err(Error::TooLarge { cause: format!("it has more than {MAX_PARTS} {of_what}") })
}

fn push_row(grid: &mut Grid, row: u32, n_rows: u32, cells: &[(Range<u32>, SheetCell)]) -> bool {
    if cells.is_empty() {
        return true;
    }
    for row in row..row.saturating_add(n_rows.min(MAX_REPEATED)) {
        for (columns, cell) in cells {
            if !columns.clone().all(|column| grid.push(row, column, cell.clone())) {
                return false;
            }
        }
    }
    if n_rows > MAX_REPEATED {
        grid.set_has_more();
    }
    true
}

/// Returns whether an element is a cell. Covered cells have values that are not visible, so they
/// count as empty.
fn is_cell(name: &str) -> bool {
    name == "table:table-cell" || name == "table:covered-table-cell"
}

fn is_aside(name: &str) -> bool {
    name == "office:annotation" || name == "draw:frame" || name == "table:shapes"
}

fn read_tag(tag: &BytesStart<'_>) -> Tag {
    let name: String = tag.name().as_ref().into();
    let mut attributes = Vec::new();
    for attribute in tag.attributes().with_checks(false).flatten() {
        if let Ok(value) = attribute.normalized_value(XmlVersion::Implicit1_0) {
            attributes.push((attribute.key.as_ref().into(), value.into_owned()));
        }
    }
    Tag { name, attributes }
}

/// Converts a library error. Errors of this crate come out unchanged.
fn explain(error: &quick_xml::Error, failure: &Failure) -> Error {
    if let quick_xml::Error::Io(io) = error
        && let Some(ours) = io.get_ref().and_then(|it| it.downcast_ref::<Error>())
    {
        return ours.clone();
    }
    failure.explain(error)
}
