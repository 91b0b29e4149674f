//! The inputs that are kept for each target. Regressions are files with a name in
//! `corpus/<target>/`. Inputs that libFuzzer merged are in one archive, `corpus/<target>.inputs`: a
//! zlib stream of inputs, each after its length as a little-endian `u32`.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// The size of an archive before compression, lengths not included.
const MAX_BYTES: usize = 80_000;

/// Returns the regressions of a target and then its merged inputs.
pub fn inputs(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let folder = archive(target).with_extension("");
    let mut inputs = if folder.is_dir() { files(&folder)? } else { Vec::new() };
    inputs.extend(unpack(&fs::read(archive(target))?)?);
    Ok(inputs)
}

/// Returns the path of a target's archive.
pub fn archive(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.inputs"))
}

/// Returns the contents of the files in a directory.
pub fn files(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    fs::read_dir(folder)?.map(|entry| fs::read(entry?.path())).collect()
}

/// Makes an archive of the shortest inputs that fit. The order of the inputs does not matter.
pub fn pack(mut inputs: Vec<Vec<u8>>) -> io::Result<Vec<u8>> {
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    inputs.dedup();
    let mut archive = ZlibEncoder::new(Vec::new(), Compression::best());
    let mut n_bytes = 0;
    for input in inputs {
        n_bytes += input.len();
        if n_bytes > MAX_BYTES {
            break;
        }
        archive.write_all(&(input.len() as u32).to_le_bytes())?;
        archive.write_all(&input)?;
    }
    archive.finish()
}

/// Returns the inputs in an archive.
pub fn unpack(archive: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(archive).read_to_end(&mut bytes)?;
    let mut rest = bytes.as_slice();
    let mut inputs = Vec::new();
    while !rest.is_empty() {
        let mut length = [0; 4];
        rest.read_exact(&mut length)?;
        let mut input = vec![0; u32::from_le_bytes(length) as usize];
        rest.read_exact(&mut input)?;
        inputs.push(input);
    }
    Ok(inputs)
}
