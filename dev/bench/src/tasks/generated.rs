//! Files that are generated, with the same bytes in every run.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use recto_dev::random::Random;

use crate::Result;

/// The size of the log in bytes.
const LOG_BYTES: usize = 200_000_000;

/// The request of the log that fails, and the number of its first line.
const FAILED_REQUEST: &str = "req=7f3a9c20";
const FAILED_AT: usize = 1_300_000;

/// Writes a log in which one request fails, and logged its token before.
pub fn write_log(path: &Path) -> Result<()> {
    let mut random = Random::new(200);
    let mut log = BufWriter::new(fs::File::create(path)?);
    let (mut line, mut n_bytes) = (String::new(), 0);
    for index in 0_usize.. {
        let (seconds, request) = (index / 50, random.below(1 << 30));
        line.clear();
        write!(line, "2026-11-{:02}T", 1 + seconds / 86_400)?;
        write!(line, "{:02}:{:02}:{:02} ", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)?;
        match index.wrapping_sub(FAILED_AT) {
            0 => writeln!(line, "INFO  {FAILED_REQUEST} auth user=4711 token=u7Qx.93kd.Zz01 ok"),
            7 => writeln!(line, "INFO  {FAILED_REQUEST} PUT /v1/blobs/88121 bytes=5242880"),
            12 => writeln!(line, "ERROR {FAILED_REQUEST} checksum mismatch on /v1/blobs/88121"),
            _ => writeln!(
                line,
                "INFO  req={request:08x} GET /v1/blobs/{} status=200 bytes={} cache=hit region=eu-1",
                random.below(100_000),
                random.below(10_000_000),
            ),
        }?;
        log.write_all(line.as_bytes())?;
        n_bytes += line.len();
        if n_bytes >= LOG_BYTES {
            break;
        }
    }
    Ok(log.flush()?)
}

/// Returns a table as spreadsheets in Germany export it: windows-1252, semicolons, decimal commas,
/// `\r\n`.
pub fn csv() -> Vec<u8> {
    let mut random = Random::new(9);
    let mut csv = "Artikel;Bezeichnung;Größe;Preis (€);Geändert\r\n".to_string();
    for index in 0..2000 {
        let name = ["Schraube", "Dübel", "Unterlegscheibe", "Schlüssel"][random.below(4)];
        let (number, size) = (10_000 + 7 * index, 2 + random.below(40));
        let (euros, cents, day) = (random.below(90), random.below(100), 1 + random.below(28));
        csv += &format!("{number};{name};{size},5 mm;{euros},{cents:02};{day:02}.03.2026\r\n");
    }
    // The only characters beyond Latin-1 in it are euro signs.
    csv.chars().map(|c| if c == '€' { 0x80 } else { u8::try_from(c).expect("Latin-1") }).collect()
}

/// Returns a script of 600 KB in one line.
pub fn minified() -> String {
    let mut random = Random::new(600);
    let mut half = |n_bytes| {
        let mut half = String::new();
        while half.len() < n_bytes {
            let (name, from, to) = (random.below(100_000), random.below(26), random.below(900));
            let from = char::from(b'a' + from as u8);
            half += &format!("function f{name}({from}){{return {from}.g{to}({name})}}");
        }
        half
    };
    let setting = r#"const uploader={endpoint:"/api/upload",maxRetries:3,chunk:65536};"#;
    format!("{}{setting}{}\n", half(350_000), half(250_000))
}
