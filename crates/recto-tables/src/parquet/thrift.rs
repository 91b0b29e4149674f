//! The compact Thrift protocol, as far as Parquet's own structures need it.
//!
//! It is read here and not only by the library, because the library takes sizes and depths on
//! trust: see [`footer`](super::footer) and [`pages`](super::pages).

/// A structure deeper than this is nothing that Parquet defines.
const MAX_DEPTH: usize = 16;

/// The bytes do not follow the protocol, or end too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// What an answer here is.
pub type Result<T> = std::result::Result<T, Malformed>;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A boolean; a field holds its value in its header.
    Boolean(bool),
    /// One byte.
    Byte,
    /// 16 to 64 bits.
    Integer,
    /// Eight bytes.
    Double,
    /// Text or bytes.
    Binary,
    /// Lists and sets.
    List,
    /// Keys and values.
    Map,
    /// Fields.
    Struct,
    /// Sixteen bytes.
    Uuid,
}

/// Reads values one after another.
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, at: 0 }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Reads the fields of a structure: `visit` gets the number and type of each, and reads or
    /// skips it.
    pub fn fields(
        &mut self,
        mut visit: impl FnMut(&mut Self, i16, Kind) -> Result<()>,
    ) -> Result<()> {
        let mut id = 0_i16;
        loop {
            let header = self.byte()?;
            if header & 0x0f == 0 {
                return Ok(());
            }
            match header >> 4 {
                0 => id = i16::try_from(self.integer()?).map_err(|_| Malformed)?,
                delta => id = id.checked_add(i16::from(delta)).ok_or(Malformed)?,
            }
            let kind = Kind::parse(header & 0x0f)?;
            visit(self, id, kind)?;
        }
    }

    /// Reads the start of a list: the type of its elements and how many it claims to have.
    pub fn list(&mut self) -> Result<(Kind, u64)> {
        let header = self.byte()?;
        // Some writers give an empty list no type.
        if header == 0 {
            return Ok((Kind::Byte, 0));
        }
        let n_elements = match header >> 4 {
            15 => self.varint()?,
            n_elements => u64::from(n_elements),
        };
        Ok((Kind::parse(header & 0x0f)?, n_elements))
    }

    /// Reads an integer of any size.
    pub fn integer(&mut self) -> Result<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Reads past a value.
    pub fn skip(&mut self, kind: Kind) -> Result<()> {
        self.skip_at(kind, MAX_DEPTH)
    }

    fn skip_at(&mut self, kind: Kind, depth: usize) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        match kind {
            Kind::Boolean(_) => Ok(()),
            Kind::Byte => self.advance(1),
            Kind::Integer => self.varint().map(|_| ()),
            Kind::Double => self.advance(8),
            Kind::Uuid => self.advance(16),
            Kind::Binary => {
                let n_bytes = self.varint()?;
                self.advance(n_bytes)
            }
            Kind::List => {
                let (kind, n_elements) = self.list()?;
                (0..n_elements).try_for_each(|_| self.skip_element(kind, depth))
            }
            Kind::Map => {
                let n_entries = self.varint()?;
                if n_entries == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                let (key, value) = (Kind::parse(kinds >> 4)?, Kind::parse(kinds & 0x0f)?);
                (0..n_entries).try_for_each(|_| {
                    self.skip_element(key, depth)?;
                    self.skip_element(value, depth)
                })
            }
            Kind::Struct => self.fields(|input, _, kind| input.skip_at(kind, depth)),
        }
    }

    /// Outside of a structure, a boolean is a byte of its own.
    fn skip_element(&mut self, kind: Kind, depth: usize) -> Result<()> {
        match kind {
            Kind::Boolean(_) => self.advance(1),
            kind => self.skip_at(kind, depth),
        }
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
        self.at += 1;
        Ok(byte)
    }

    fn advance(&mut self, n_bytes: u64) -> Result<()> {
        let n_left = self.bytes.len() - self.at;
        let n_bytes = usize::try_from(n_bytes).ok().filter(|it| *it <= n_left).ok_or(Malformed)?;
        self.at += n_bytes;
        Ok(())
    }
}

impl Kind {
    fn parse(code: u8) -> Result<Kind> {
        match code {
            1 => Ok(Kind::Boolean(true)),
            2 => Ok(Kind::Boolean(false)),
            3 => Ok(Kind::Byte),
            4..=6 => Ok(Kind::Integer),
            7 => Ok(Kind::Double),
            8 => Ok(Kind::Binary),
            9 | 10 => Ok(Kind::List),
            11 => Ok(Kind::Map),
            12 => Ok(Kind::Struct),
            13 => Ok(Kind::Uuid),
            _ => Err(Malformed),
        }
    }
}

/// Writes an integer as the protocol has it.
pub fn write_integer(output: &mut Vec<u8>, value: i64) {
    write_varint(output, ((value << 1) ^ (value >> 63)) as u64);
}

/// Writes a size as the protocol has it.
pub fn write_varint(output: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        output.push(value as u8 | 0x80);
        value >>= 7;
    }
    output.push(value as u8);
}
