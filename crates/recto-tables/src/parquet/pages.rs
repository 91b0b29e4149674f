//! Reads the pages of a column chunk for the library's decoders, which trust their input.
//!
//! The library's own page reader inflates gzip pages without limit, allocates for any number of
//! values that a page claims, and stops at a page without values. So pages are read, inflated and
//! checked here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ColumnChunkMetaData;

use super::footer::{broken, read_exact, read_into};
use super::header::{Header, Version};
use super::leaf::ReadExtent;
use super::{codec, delta};
use crate::budget::check_memory;
use crate::error::{Error, Result};
use crate::source::Source;

/// The most bytes of a page, compressed or not.
pub const MAX_PAGE: u64 = 256 << 20;

/// The bytes of a large page that are inflated at first.
const START_BYTES: u64 = 4 << 20;

/// The most bytes of a page header, which may contain minimum and maximum values.
const MAX_HEADER: u64 = 1 << 20;

/// Old writers did not count the header of the dictionary as part of the column, so the last page may
/// end this far behind it.
const MAX_DICTIONARY_HEADER: u64 = 100;

/// The size of the first read, for the header and the bytes after it.
const N_FIRST_READ: u64 = 8 << 10;

/// About the memory of an entry of a dictionary besides its bytes.
const DICTIONARY_ENTRY: u64 = 40;

/// The most entries of a dictionary. Each takes up to 40 bytes in memory and 4 in the file.
pub const MAX_DICTIONARY: u64 = 3 << 20;

/// The most values of a page whose encoding makes the library allocate for all of them.
const MAX_DELTA_VALUES: u64 = 1 << 22;

/// The pages of a column chunk, up to the first one beyond the limits.
pub struct Pages {
    source: Arc<dyn Source>,
    offset: u64,
    end: u64,
    /// Where the last page may end.
    last_end: u64,
    /// Bytes that were read, and their offset. They include the last header.
    window: Vec<u8>,
    window_at: u64,
    codec: Compression,
    physical_type: Type,
    type_length: u64,
    max_def_level: i16,
    max_rep_level: i16,
    /// The remaining number of values in lists.
    n_in_lists: u64,
    /// Set once only the start of a page was inflated, if that is permitted.
    is_shortened: Option<Arc<AtomicBool>>,
    /// The memory of the dictionary, once it was read.
    n_dictionary_bytes: Option<u64>,
    max_memory: u64,
    /// Set once values were left out, so that the last record may be incomplete.
    is_cut: Arc<AtomicBool>,
}

impl Pages {
    /// Returns the pages of a column chunk, and a flag that is set when values are left out. That
    /// happens after `n_in_lists` values if the column has lists.
    ///
    /// With `may_shorten`, only the start of a large page is inflated. If that turns out to be too
    /// little, decoding fails, and `is_shortened` is set.
    pub fn new(
        source: Arc<dyn Source>,
        chunk: &ColumnChunkMetaData,
        extent: ReadExtent,
        may_shorten: Option<Arc<AtomicBool>>,
    ) -> Result<(Pages, Arc<AtomicBool>)> {
        if chunk.file_path().is_some_and(|path| !path.is_empty()) {
            return Err(broken("its rows are in other files"));
        }
        // Some writers store 0 as the offset of a missing dictionary.
        let data = chunk.data_page_offset();
        let dictionary = chunk.dictionary_page_offset().filter(|it| *it > 0 && *it < data);
        let start = u64::try_from(dictionary.unwrap_or(data)).ok();
        let n_bytes = u64::try_from(chunk.compressed_size()).ok();
        let end = start.zip(n_bytes).and_then(|(start, n_bytes)| start.checked_add(n_bytes));
        let (offset, end) = match start.zip(end) {
            Some((start, end)) if end <= source.size() => (start, end),
            _ => return Err(broken("its metadata points behind its end; it may be cut off")),
        };
        let size = source.size();
        let column = chunk.column_descr();
        let is_cut = Arc::new(AtomicBool::new(false));
        let pages = Pages {
            source,
            offset,
            end,
            last_end: end.saturating_add(MAX_DICTIONARY_HEADER).min(size),
            window: Vec::new(),
            window_at: offset,
            codec: chunk.compression(),
            physical_type: column.physical_type(),
            type_length: u64::try_from(column.type_length()).unwrap_or(0),
            max_def_level: column.max_def_level(),
            max_rep_level: column.max_rep_level(),
            n_in_lists: extent.n_in_lists,
            is_shortened: may_shorten,
            n_dictionary_bytes: None,
            max_memory: extent.max_memory,
            is_cut: is_cut.clone(),
        };
        Ok((pages, is_cut))
    }

    fn next_page(&mut self) -> Result<Option<Page>> {
        while self.offset < self.end {
            let header = self.read_header()?;
            let n_bytes = header.n_compressed;
            let start = self.offset + header.n_bytes;
            if n_bytes > self.last_end.saturating_sub(start) {
                return Err(broken("a page is longer than its column"));
            }
            if n_bytes > MAX_PAGE || header.n_inflated > MAX_PAGE {
                let cause = format!("a page has more than {} MiB", MAX_PAGE >> 20);
                return Err(Error::TooLarge { cause });
            }
            self.offset = start + n_bytes;
            // The library takes a page without values for the end of the column.
            let is_empty = header.n_values == 0;
            if matches!(header.version, Version::Other) || is_empty && !header.is_dictionary() {
                continue;
            }
            let is_short = self.may_shorten(&header);
            let n_read = if is_short { n_bytes.min(START_BYTES * 2) } else { n_bytes };
            self.check_memory(&header, n_read, is_short)?;
            let body = self.read_body(start, n_read)?;
            let Some(n_values) = self.n_values_kept(&header) else { break };
            return self.decode(&header, n_values, body, is_short).map(Some);
        }
        Ok(None)
    }

    /// Checks the memory of a page, as it is stored and inflated, and of the dictionary.
    fn check_memory(&self, header: &Header, n_read: u64, is_short: bool) -> Result<()> {
        if header.is_dictionary() && header.n_values > MAX_DICTIONARY {
            let cause = format!("a dictionary has more than {MAX_DICTIONARY} entries");
            return Err(Error::TooLarge { cause });
        }
        let n_inflated = if is_short { START_BYTES } else { header.n_inflated };
        let n_page = n_read + n_inflated;
        let n_page = match header.version {
            Version::Dictionary => n_page + header.n_values * DICTIONARY_ENTRY,
            _ => n_page,
        };
        check_memory(n_page + self.n_dictionary_bytes.unwrap_or(0), self.max_memory)
    }

    fn read_header(&mut self) -> Result<Header> {
        let n_left = self.last_end - self.offset;
        let mut n_bytes = N_FIRST_READ.min(self.end - self.offset);
        loop {
            let known = self.offset.checked_sub(self.window_at).map(|start| start as usize);
            let window = known.and_then(|start| self.window.get(start..)).unwrap_or_default();
            match Header::parse(window) {
                Ok(header) => return Ok(header),
                Err(_) if (window.len() as u64) < n_bytes => {
                    self.window = read_exact(&*self.source, self.offset, n_bytes)?;
                    self.window_at = self.offset;
                }
                Err(_) if n_bytes < MAX_HEADER.min(n_left) => {
                    n_bytes = (n_bytes * 4).min(MAX_HEADER).min(n_left);
                }
                Err(_) => return Err(broken("the header of a page is damaged")),
            }
        }
    }

    /// Reads a page whose header has just been read.
    fn read_body(&self, start: u64, n_bytes: u64) -> Result<Vec<u8>> {
        let known = &self.window[(start - self.window_at) as usize..];
        let known = &known[..known.len().min(n_bytes as usize)];
        let mut body = vec![0; n_bytes as usize];
        let (head, rest) = body.split_at_mut(known.len());
        head.copy_from_slice(known);
        read_into(&*self.source, start + known.len() as u64, rest)?;
        Ok(body)
    }

    /// Returns whether only the start of a page is inflated, and records it. Other encodings than
    /// these have to be decoded whole.
    fn may_shorten(&self, header: &Header) -> bool {
        let is_serial = matches!(
            header.encoding,
            Encoding::PLAIN | Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
        );
        let is_known = self.codec != Compression::LZO;
        let is_large = header.n_inflated > START_BYTES * 2 && !header.is_dictionary();
        let Some(is_shortened) = &self.is_shortened else { return false };
        let is_short = is_serial && is_known && is_large;
        is_shortened.fetch_or(is_short, Ordering::Relaxed);
        is_short
    }

    fn decode(
        &mut self,
        header: &Header,
        num_values: u32,
        body: Vec<u8>,
        is_short: bool,
    ) -> Result<Page> {
        let buf = Bytes::from(self.inflate(header, body, is_short)?);
        let encoding = header.encoding;
        let statistics = None;
        match header.version {
            Version::Dictionary => {
                self.check_dictionary(header, &buf)?;
                let n_entries = header.n_values * DICTIONARY_ENTRY;
                self.n_dictionary_bytes = Some(buf.len() as u64 + n_entries);
                Ok(Page::DictionaryPage { buf, num_values, encoding, is_sorted: false })
            }
            Version::One { def_level_encoding, rep_level_encoding } => {
                let values_at = self.values_at(header, &buf)?;
                self.check_values(header, &buf[values_at..])?;
                Ok(Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding,
                    rep_level_encoding,
                    statistics,
                })
            }
            Version::Two { n_nulls, n_rows, n_def_bytes, n_rep_bytes, is_compressed } => {
                self.check_values(header, &buf[(n_def_bytes + n_rep_bytes) as usize..])?;
                // The number of nulls among the kept values is unknown.
                let is_whole = u64::from(num_values) == header.n_values;
                Ok(Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls: if is_whole { n_nulls } else { 0 },
                    num_rows: n_rows,
                    def_levels_byte_len: n_def_bytes,
                    rep_levels_byte_len: n_rep_bytes,
                    is_compressed,
                    statistics,
                })
            }
            Version::Other => Err(broken("a page is of an unknown kind")),
        }
    }

    fn inflate(&self, header: &Header, body: Vec<u8>, is_short: bool) -> Result<Vec<u8>> {
        let n_inflated = header.n_inflated as usize;
        let n_levels = match header.version {
            Version::Two { n_def_bytes, n_rep_bytes, .. } => (n_def_bytes + n_rep_bytes) as usize,
            _ => 0,
        };
        if n_levels > body.len() || n_levels > n_inflated {
            return Err(broken("the levels of a page are longer than the page"));
        }
        let is_compressed = !matches!(header.version, Version::Two { is_compressed: false, .. });
        if self.codec == Compression::UNCOMPRESSED || !is_compressed {
            return Ok(body);
        }
        // In version 2, levels come before the values and are not compressed. If all values are
        // null, there is nothing to inflate.
        let (levels, values) = body.split_at(n_levels);
        if is_short {
            let start = codec::inflate_start(self.codec, values, START_BYTES as usize);
            return Ok([levels, &start.unwrap_or_default()].concat());
        }
        if levels.is_empty() && n_inflated > 0 {
            return codec::inflate(self.codec, values, n_inflated);
        }
        let mut inflated = levels.to_vec();
        if n_inflated > n_levels {
            inflated.append(&mut codec::inflate(self.codec, values, n_inflated - n_levels)?);
        }
        Ok(inflated)
    }

    fn check_dictionary(&self, header: &Header, buf: &[u8]) -> Result<()> {
        let n_least = match self.physical_type {
            Type::BOOLEAN => return Err(broken("booleans have no dictionary")),
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => self.type_length.max(1),
        };
        if self.n_dictionary_bytes.is_some() {
            return Err(broken("a column has two dictionaries"));
        }
        if header.n_values * n_least > buf.len() as u64 {
            return Err(broken("a dictionary is shorter than it says"));
        }
        Ok(())
    }

    /// Returns where the values start in a page of version 1, after the levels.
    fn values_at(&self, header: &Header, buf: &[u8]) -> Result<usize> {
        let Version::One { def_level_encoding, rep_level_encoding } = header.version else {
            return Ok(0);
        };
        let mut at = 0;
        for (max_level, encoding) in
            [(self.max_rep_level, rep_level_encoding), (self.max_def_level, def_level_encoding)]
        {
            if max_level == 0 {
                continue;
            }
            let n_bytes = match (encoding, buf[at..].first_chunk()) {
                (Encoding::RLE, Some(n_bytes)) => 4 + u64::from(u32::from_le_bytes(*n_bytes)),
                (Encoding::RLE, None) => u64::MAX,
                // The only other encoding packs levels into as few bits as needed.
                _ => {
                    let n_bits = u64::from(16 - (max_level as u16).leading_zeros());
                    (header.n_values * n_bits).div_ceil(8)
                }
            };
            if n_bytes > (buf.len() - at) as u64 {
                return Err(broken("the levels of a page are longer than the page"));
            }
            at += n_bytes as usize;
        }
        Ok(at)
    }

    fn check_values(&self, header: &Header, values: &[u8]) -> Result<()> {
        let n_values = header.n_values as usize;
        let is_plausible = match header.encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                self.n_dictionary_bytes.is_some()
            }
            // Its sizes are not checked here, and no writer uses it by default.
            Encoding::ALP => return Err(broken("it is encoded with ALP, which is not known here")),
            Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY
                if header.n_values > MAX_DELTA_VALUES =>
            {
                let cause = format!("a page has more than {MAX_DELTA_VALUES} values");
                return Err(Error::TooLarge { cause });
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => delta::are_lengths_plausible(values, n_values),
            Encoding::DELTA_BYTE_ARRAY => match delta::n_bytes_of_texts(values, n_values) {
                Some(n_bytes) if n_bytes > MAX_PAGE => {
                    let cause = format!("a page has more than {} MiB of texts", MAX_PAGE >> 20);
                    return Err(Error::TooLarge { cause });
                }
                n_bytes => n_bytes.is_some(),
            },
            _ => true,
        };
        if is_plausible { Ok(()) } else { Err(broken("the values of a page are damaged")) }
    }

    /// Returns how many values of a page are read; `None` if the column ends before it. In lists,
    /// the number of rows does not bound them.
    fn n_values_kept(&mut self, header: &Header) -> Option<u32> {
        let (n_values, n_room) = (header.n_values, self.n_in_lists);
        if self.max_rep_level == 0 || header.is_dictionary() {
            return Some(n_values as u32);
        }
        self.n_in_lists = n_room.saturating_sub(n_values);
        if n_values <= n_room {
            return Some(n_values as u32);
        }
        self.is_cut.store(true, Ordering::Relaxed);
        self.offset = self.end;
        // Decoders of these layouts read a fixed number of bytes, so the count cannot be lowered.
        let needs_whole_page = self.physical_type == Type::FIXED_LEN_BYTE_ARRAY
            || matches!(header.version, Version::One { def_level_encoding, rep_level_encoding }
                if def_level_encoding != Encoding::RLE || rep_level_encoding != Encoding::RLE);
        (n_room > 0 && !needs_whole_page).then_some(n_room as u32)
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        self.next_page().map_err(|error| ParquetError::External(Box::new(error)))
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        if self.offset >= self.end {
            return Ok(true);
        }
        // In version 1 a record may continue in the next page.
        Ok(self.read_header().is_ok_and(|it| matches!(it.version, Version::Two { .. })))
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        Err(ParquetError::NYI("pages are not skipped".into()))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        Err(ParquetError::NYI("pages are not skipped".into()))
    }
}

impl Iterator for Pages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
