//! Makes an Excel 97 workbook safe to read.
//!
//! The library follows endless chains of sectors, allocates for as many cells as a sheet claims,
//! and allocates every cell between the outermost ones, in all sheets. So this module extracts the
//! stream with the sheets, removes all cells except those in the rows that are shown, and puts the
//! stream into a new file.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};

use super::archive::{Bytes, Failure};
use crate::Request;
use crate::budget::check_memory;
use crate::error::{Error, Result};

/// The first bytes of such a file.
pub const MAGIC: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// The most bytes of a file, of which several copies exist for a moment.
pub const MAX_SOURCE: u64 = 32 << 20;

/// How often its bytes exist at most.
const COPIES: u64 = 4;

/// The most cells between the outermost ones.
const MAX_AREA: u64 = 2 << 20;

/// The memory of such a place.
const CELL_BYTES: u64 = 40;

/// The most sheets.
const MAX_SHEETS: usize = 1_000;

const END_OF_CHAIN: u32 = 0xffff_fffe;
const FAT_SECTOR: u32 = 0xffff_fffd;
const FREE_SECTOR: u32 = 0xffff_ffff;

/// A file that is safe to read.
pub struct Prepared {
    /// The file.
    pub file: Vec<u8>,
    /// The sheet with cells: the first visible one that has any.
    pub shown: Option<usize>,
    /// Whether it had more rows.
    pub has_more: bool,
    /// The numbers that the rows had, if they were numbered anew because they lie far apart.
    pub rows: Vec<u16>,
}

/// Keeps the first rows with cells of a sheet: the named one, or the first visible one that has any.
pub fn prepare(
    mut bytes: Bytes,
    failure: &Failure,
    max_rows: usize,
    request: &Request<'_>,
) -> Result<Prepared> {
    check_memory(bytes.get_ref().size() * COPIES, request.max_memory)?;
    let mut file = Vec::new();
    bytes.seek(SeekFrom::Start(0)).map_err(|error| failure.explain(&error))?;
    let read = bytes.take(MAX_SOURCE + 1).read_to_end(&mut file);
    read.map_err(|error| failure.explain(&error))?;
    if file.len() as u64 > MAX_SOURCE {
        let cause = format!("it has more than {} MiB", MAX_SOURCE >> 20);
        return Err(Error::TooLarge { cause });
    }
    let mut stream = Compound::parse(&file).ok_or_else(damaged)?.workbook()?;
    drop(file);
    let (shown, has_more, rows) = match keep_rows(&mut stream, max_rows, request)? {
        Some((shown, kept)) => (Some(shown), kept.has_more, kept.numbers),
        None => (None, false, Vec::new()),
    };
    Ok(Prepared { file: wrap(stream), shown, has_more, rows })
}

fn damaged() -> Error {
    Error::Broken { cause: "it is damaged: its sectors do not fit together".into() }
}

/// A compound file: streams in chains of sectors.
struct Compound<'a> {
    file: &'a [u8],
    sector_size: usize,
    next: Vec<u32>,
    directory: Vec<u8>,
    mini_start: u32,
}

impl<'a> Compound<'a> {
    fn parse(file: &'a [u8]) -> Option<Compound<'a>> {
        let sector_size = match u16_at(file, 30)? {
            9 => 512,
            12 => 4096,
            _ => return None,
        };
        let mut compound = Compound {
            file,
            sector_size,
            next: Vec::new(),
            directory: Vec::new(),
            mini_start: u32_at(file, 60)?,
        };
        // The header lists the first sectors of the allocation table; a chain lists the others.
        let mut listed: Vec<u32> = (0..109).filter_map(|it| u32_at(file, 76 + 4 * it)).collect();
        let mut at = u32_at(file, 68)?;
        for _ in 0..file.len() / sector_size {
            let Some(sector) = compound.sector(at) else { break };
            let (more, next) = sector.split_at(sector_size - 4);
            listed.extend(more.chunks_exact(4).filter_map(|it| u32_at(it, 0)));
            at = u32_at(next, 0)?;
        }
        for id in listed {
            let sector = compound.sector(id).unwrap_or_default();
            compound.next.extend(sector.chunks_exact(4).filter_map(|it| u32_at(it, 0)));
            if compound.next.len() > file.len() {
                return None;
            }
        }
        compound.directory = compound.chain(u32_at(file, 48)?, usize::MAX)?;
        Some(compound)
    }

    /// Returns the stream with the sheets.
    fn workbook(&self) -> Result<Vec<u8>> {
        if self.find("EncryptedPackage").is_some() {
            return Err(Error::Broken { cause: "it is encrypted".into() });
        }
        let entry = self.find("Workbook").or_else(|| self.find("Book"));
        let entry = entry.ok_or_else(|| Error::Broken { cause: "it has no workbook".into() })?;
        self.stream(entry).ok_or_else(damaged)
    }

    fn stream(&self, entry: &[u8]) -> Option<Vec<u8>> {
        const MINI_CUTOFF: usize = 4096;
        const MINI_SIZE: usize = 64;
        let (start, size) = (u32_at(entry, 116)?, u32_at(entry, 120)? as usize);
        if size >= MINI_CUTOFF {
            return self.chain(start, size);
        }
        // Small streams are in small sectors, which together are the stream of the first entry.
        let root = self.directory.get(..128)?;
        let sectors = self.chain(u32_at(root, 116)?, usize::MAX)?;
        let next = self.chain(self.mini_start, usize::MAX)?;
        let mut stream = Vec::new();
        let mut id = start;
        while id < FAT_SECTOR && stream.len() < size {
            let at = (id as usize).checked_mul(MINI_SIZE)?;
            stream.extend_from_slice(sectors.get(at..)?.get(..MINI_SIZE)?);
            id = u32_at(&next, id as usize * 4)?;
        }
        stream.truncate(size);
        Some(stream)
    }

    fn find(&self, name: &str) -> Option<&[u8]> {
        self.directory.chunks_exact(128).find(|entry| {
            let units = entry[..64].chunks_exact(2).map(|it| u16::from_le_bytes([it[0], it[1]]));
            let units = units.take_while(|unit| *unit != 0);
            char::decode_utf16(units)
                .map(|it| it.unwrap_or('\u{fffd}').to_ascii_lowercase())
                .eq(name.chars().map(|it| it.to_ascii_lowercase()))
        })
    }

    /// Returns the bytes of a chain, up to `size`.
    fn chain(&self, start: u32, size: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut id = start;
        while id < FAT_SECTOR && bytes.len() < size {
            // A chain longer than the file is a cycle.
            if bytes.len() > self.file.len() {
                return None;
            }
            bytes.extend_from_slice(self.sector(id)?);
            id = *self.next.get(id as usize)?;
        }
        bytes.truncate(size);
        Some(bytes)
    }

    /// Returns a sector; the last one may be incomplete.
    fn sector(&self, id: u32) -> Option<&'a [u8]> {
        let start = (id as usize).checked_add(1)?.checked_mul(self.sector_size)?;
        let rest = self.file.get(start..).filter(|rest| !rest.is_empty())?;
        Some(&rest[..rest.len().min(self.sector_size)])
    }
}

const BOF: u16 = 0x0809;
const EOF: u16 = 0x000a;
const BOUND_SHEET: u16 = 0x0085;
const DIMENSIONS: u16 = 0x0200;
const STRING: u16 = 0x0207;
/// A type that no record has, for removed records.
const NOTHING: u16 = 0xffff;

/// Removes all cells except the first rows of the sheet that is shown. Returns that sheet's index
/// and what was kept.
fn keep_rows(
    stream: &mut [u8],
    max_rows: usize,
    request: &Request<'_>,
) -> Result<Option<(usize, Kept)>> {
    let wanted = request.sheet;
    let mut sheets = Vec::new();
    for (kind, at, n_bytes) in records(stream, 0) {
        let record = &stream[at..at + n_bytes];
        match kind {
            BOUND_SHEET if n_bytes >= 6 => {
                let is_visible = record[4] & 0x3f == 0 && record[5] == 0;
                let is_wanted = wanted.map_or(is_visible, |wanted| is_called(record, wanted));
                sheets.push((u32_at(record, 0).unwrap_or(0) as usize, is_wanted));
            }
            EOF => break,
            _ => {}
        }
    }
    if sheets.len() > MAX_SHEETS {
        return Err(Error::TooLarge { cause: format!("it has more than {MAX_SHEETS} sheets") });
    }
    let mut shown = None;
    // Sheets are consecutive; if they are not, scanning them could take forever.
    let mut n_left = stream.len().saturating_mul(2);
    for (index, (start, is_wanted)) in sheets.into_iter().enumerate() {
        let n_kept = if is_wanted && shown.is_none() { max_rows } else { 0 };
        let mut sheet = keep_rows_of_sheet(stream, start, n_kept, &mut n_left)?;
        check_memory(sheet.area.min(MAX_AREA) * CELL_BYTES, request.max_memory)?;
        if sheet.area > MAX_AREA {
            sheet.numbers = number_anew(stream, start, &sheet.rows);
            let area = sheet.area / sheet.height * sheet.rows.len() as u64;
            if area > MAX_AREA {
                let cause = format!("its cells lie too far apart, over {area} places");
                return Err(Error::TooLarge { cause });
            }
        }
        if sheet.area > 0 {
            shown = Some((index, sheet));
        }
    }
    Ok(shown)
}

/// Returns whether a sheet has that name, whose characters have one or two bytes. Excel 5 stores no
/// byte that says which.
fn is_called(record: &[u8], wanted: &str) -> bool {
    let text = |start: usize| record.get(start..).unwrap_or_default();
    let n_chars = record.get(6).copied().map_or(0, usize::from);
    let narrow = |start: usize| {
        let text = text(start).iter().take(n_chars).map(|byte| char::from(*byte));
        text.filter(|c| *c != '\0').eq(wanted.chars())
    };
    let wide = || {
        let units =
            text(8).chunks_exact(2).take(n_chars).map(|it| u16::from_le_bytes([it[0], it[1]]));
        units.eq(wanted.encode_utf16())
    };
    match record.get(7) {
        Some(0) => narrow(8),
        Some(1) => wide(),
        _ => narrow(7),
    }
}

/// Numbers the kept rows of a sheet without gaps, because the library allocates every cell between
/// the outermost ones. Returns the numbers that they had.
fn number_anew(stream: &mut [u8], start: usize, rows: &BTreeSet<u16>) -> Vec<u16> {
    let numbers: Vec<u16> = rows.iter().copied().collect();
    let mut depth = 0_usize;
    let all: Vec<(u16, usize, usize)> = records(stream, start).collect();
    for (kind, at, n_bytes) in all {
        match kind {
            BOF => depth += 1,
            EOF if depth <= 1 => break,
            EOF => depth -= 1,
            _ if depth == 1 && is_cell(kind) && n_bytes >= 6 => {
                let row = u16_at(stream, at).unwrap_or(0);
                let number = numbers.binary_search(&row).unwrap_or(0);
                stream[at..at + 2].copy_from_slice(&(number as u16).to_le_bytes());
            }
            _ => {}
        }
    }
    numbers
}

struct Kept {
    /// The number of cells between the outermost ones that are kept.
    area: u64,
    /// The number of rows between the outermost ones.
    height: u64,
    has_more: bool,
    rows: BTreeSet<u16>,
    /// The rows, if they were numbered anew.
    numbers: Vec<u16>,
}

fn keep_rows_of_sheet(
    stream: &mut [u8],
    start: usize,
    max_rows: usize,
    n_left: &mut usize,
) -> Result<Kept> {
    let all: Vec<(u16, usize, usize)> = records(stream, start).collect();
    let mut rows = BTreeSet::new();
    let mut columns: Option<(u16, u16)> = None;
    let mut has_more = false;
    let mut depth = 0_usize;
    let mut is_last_kept = false;
    for (kind, at, n_bytes) in all {
        *n_left = n_left.checked_sub(n_bytes + 4).ok_or_else(damaged)?;
        let record = &stream[at..at + n_bytes];
        let is_out = match kind {
            BOF => {
                depth += 1;
                false
            }
            EOF if depth <= 1 => break,
            EOF => {
                depth -= 1;
                false
            }
            // Charts inside a sheet have their own cells, which the library skips.
            _ if depth > 1 => false,
            DIMENSIONS => true,
            STRING => !is_last_kept,
            _ if is_cell(kind) && n_bytes >= 6 => {
                let (row, first) = (u16_at(record, 0), u16_at(record, 2));
                let (row, first) = (row.unwrap_or(0), first.unwrap_or(0));
                let last = if kind == 0x00bd { u16_at(record, n_bytes - 2) } else { None };
                let is_kept = rows.contains(&row) || rows.len() < max_rows;
                if is_kept {
                    rows.insert(row);
                    let (low, high) = columns.unwrap_or((first, first));
                    columns = Some((low.min(first), high.max(last.unwrap_or(first)).max(first)));
                } else {
                    has_more = true;
                }
                is_last_kept = is_kept;
                !is_kept
            }
            _ => false,
        };
        if is_out {
            stream[at - 4..at - 2].copy_from_slice(&NOTHING.to_le_bytes());
        }
    }
    let height = rows.last().zip(rows.first()).map(|(last, first)| u64::from(last - first) + 1);
    let width = columns.map(|(low, high)| u64::from(high - low) + 1);
    let height = height.unwrap_or(0);
    let area = height * width.unwrap_or(0);
    Ok(Kept { area, height, has_more, rows, numbers: Vec::new() })
}

/// Returns whether a record is a formula, number, text, boolean or error; all start with row and
/// column.
fn is_cell(kind: u16) -> bool {
    matches!(kind, 0x0006 | 0x00bd | 0x00d6 | 0x00fd | 0x0203..=0x0205 | 0x027e)
}

/// Returns type, position and length of each record from `start` on.
fn records(stream: &[u8], start: usize) -> impl Iterator<Item = (u16, usize, usize)> + '_ {
    let mut at = start;
    std::iter::from_fn(move || {
        let kind = u16_at(stream, at)?;
        let n_bytes = usize::from(u16_at(stream, at.checked_add(2)?)?);
        let start = at + 4;
        stream.get(start..start + n_bytes)?;
        at = start + n_bytes;
        Some((kind, start, n_bytes))
    })
}

/// Puts a stream into a compound file, in consecutive large sectors.
fn wrap(mut stream: Vec<u8>) -> Vec<u8> {
    const SIZE: usize = 4096;
    const PER_SECTOR: usize = SIZE / 4;
    // A short stream would have to be in small sectors.
    let n_bytes = stream.len().max(SIZE);
    let n_data = n_bytes.div_ceil(SIZE);
    stream.resize(n_data * SIZE, 0);
    // One sector for the directory; the table also describes its own sectors.
    let n_table = (n_data + 1).div_ceil(PER_SECTOR - 1);
    let (table, directory) = (0..n_table as u32, n_table as u32);
    let data = directory + 1;

    let mut file = MAGIC.to_vec();
    file.resize(SIZE, 0);
    let put = |to: &mut [u8], at: usize, value: u32| {
        to[at..at + 4].copy_from_slice(&value.to_le_bytes());
    };
    file[26..34].copy_from_slice(&[3, 0, 0xfe, 0xff, 12, 0, 6, 0]);
    put(&mut file, 44, n_table as u32);
    put(&mut file, 48, directory);
    put(&mut file, 56, SIZE as u32);
    put(&mut file, 60, END_OF_CHAIN);
    put(&mut file, 68, END_OF_CHAIN);
    for index in 0..109 {
        let id = table.clone().nth(index).unwrap_or(FREE_SECTOR);
        put(&mut file, 76 + 4 * index, id);
    }

    let mut next = vec![FAT_SECTOR; n_table];
    next.push(END_OF_CHAIN);
    next.extend((data + 1..).take(n_data - 1));
    next.push(END_OF_CHAIN);
    next.resize(n_table * PER_SECTOR, FREE_SECTOR);
    file.extend(next.iter().flat_map(|id| id.to_le_bytes()));

    let mut entries = vec![0; SIZE];
    for (index, (name, kind, start, size)) in
        [("Root Entry", 5, 0, 0), ("Workbook", 2, data, n_bytes as u32)].into_iter().enumerate()
    {
        let entry = &mut entries[index * 128..][..128];
        for (at, unit) in name.encode_utf16().enumerate() {
            entry[2 * at..2 * at + 2].copy_from_slice(&unit.to_le_bytes());
        }
        entry[66] = kind;
        put(entry, 116, start);
        put(entry, 120, size);
    }
    file.append(&mut entries);
    file.append(&mut stream);
    file
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|it| u16::from_le_bytes(*it))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|it| u32::from_le_bytes(*it))
}
