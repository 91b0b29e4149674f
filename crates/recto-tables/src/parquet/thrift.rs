//! The part of the compact Thrift protocol that Parquet's structures use.
//!
//! The library has a parser too, but it trusts sizes and depths: see [`footer`](super::footer) and
//! [`pages`](super::pages).

/// The deepest structure. Parquet defines none that are deeper.
const MAX_DEPTH: usize = 16;

/// The bytes do not follow the protocol, or end too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// The result of reading a value.
pub type Result<T> = std::result::Result<T, Malformed>;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireType {
    /// A boolean; the header of a field contains its value.
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

/// Reads values in sequence.
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, at: 0 }
    }

    /// Returns how many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Reads the fields of a structure. `visit` gets the number and type of each, and reads or
    /// skips it.
    pub fn fields(
        &mut self,
        mut visit: impl FnMut(&mut Self, i16, WireType) -> Result<()>,
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
            let kind = WireType::parse(header & 0x0f)?;
            visit(self, id, kind)?;
        }
    }

    /// Reads the start of a list: the type of its elements and their claimed number.
    pub fn list(&mut self) -> Result<(WireType, u64)> {
        let header = self.byte()?;
        // Some writers give an empty list no type.
        if header == 0 {
            return Ok((WireType::Byte, 0));
        }
        let n_elements = match header >> 4 {
            15 => self.varint()?,
            n_elements => u64::from(n_elements),
        };
        Ok((WireType::parse(header & 0x0f)?, n_elements))
    }

    /// Skips a value and returns its bytes.
    pub fn raw(&mut self, kind: WireType) -> Result<&'a [u8]> {
        let start = self.at;
        self.skip(kind)?;
        Ok(&self.bytes[start..self.at])
    }

    /// Reads an integer of any size.
    pub fn integer(&mut self) -> Result<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// Skips a value.
    pub fn skip(&mut self, kind: WireType) -> Result<()> {
        self.skip_at(kind, MAX_DEPTH)
    }

    fn skip_at(&mut self, kind: WireType, depth: usize) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        match kind {
            WireType::Boolean(_) => Ok(()),
            WireType::Byte => self.advance(1),
            WireType::Integer => self.varint().map(|_| ()),
            WireType::Double => self.advance(8),
            WireType::Uuid => self.advance(16),
            WireType::Binary => {
                let n_bytes = self.varint()?;
                self.advance(n_bytes)
            }
            WireType::List => {
                let (kind, n_elements) = self.list()?;
                (0..n_elements).try_for_each(|_| self.skip_element(kind, depth))
            }
            WireType::Map => {
                let n_entries = self.varint()?;
                if n_entries == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                let (key, value) = (WireType::parse(kinds >> 4)?, WireType::parse(kinds & 0x0f)?);
                (0..n_entries).try_for_each(|_| {
                    self.skip_element(key, depth)?;
                    self.skip_element(value, depth)
                })
            }
            WireType::Struct => self.fields(|input, _, kind| input.skip_at(kind, depth)),
        }
    }

    /// Skips an element. Outside a structure, a boolean takes a byte.
    fn skip_element(&mut self, kind: WireType, depth: usize) -> Result<()> {
        match kind {
            WireType::Boolean(_) => self.advance(1),
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

impl WireType {
    /// Returns the type's code in the header of a field.
    pub fn code(self) -> u8 {
        match self {
            WireType::Boolean(true) => 1,
            WireType::Boolean(false) => 2,
            WireType::Byte => 3,
            WireType::Integer => 5,
            WireType::Double => 7,
            WireType::Binary => 8,
            WireType::List => 9,
            WireType::Map => 11,
            WireType::Struct => 12,
            WireType::Uuid => 13,
        }
    }

    fn parse(code: u8) -> Result<WireType> {
        match code {
            1 => Ok(WireType::Boolean(true)),
            2 => Ok(WireType::Boolean(false)),
            3 => Ok(WireType::Byte),
            4..=6 => Ok(WireType::Integer),
            7 => Ok(WireType::Double),
            8 => Ok(WireType::Binary),
            9 | 10 => Ok(WireType::List),
            11 => Ok(WireType::Map),
            12 => Ok(WireType::Struct),
            13 => Ok(WireType::Uuid),
            _ => Err(Malformed),
        }
    }
}

/// Writes the header of a field, in the form that does not depend on the field before it.
pub fn write_field(output: &mut Vec<u8>, id: i16, kind: WireType) {
    output.push(kind.code());
    write_integer(output, id.into());
}

/// Writes the header of a list of structures.
pub fn write_list(output: &mut Vec<u8>, n_elements: u64) {
    output.push(0xfc);
    write_varint(output, n_elements);
}

/// Writes an integer.
pub fn write_integer(output: &mut Vec<u8>, value: i64) {
    write_varint(output, ((value << 1) ^ (value >> 63)) as u64);
}

/// Writes a size.
pub fn write_varint(output: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        output.push(value as u8 | 0x80);
        value >>= 7;
    }
    output.push(value as u8);
}
