//! Calls that need much memory, alone and sixteen at once, with small reads beside them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use recto_dev::process::megabytes;
use recto_dev::servers::{Server, ServerKind};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

const GOAL: &str = "≤ 256 MB; reads: median < 100 ms, slowest < 1 s";

pub const TRIAL: Trial = Trial {
    name: "memory",
    rows: &[
        ("memory of one / 16 calls: `file_remove` of 1 GiB with a wrong hash", GOAL),
        ("– `write_text_file` over 1 GiB, dry run", GOAL),
        ("– `edit_text_file` in 1 GiB without text", GOAL),
        ("– `text_append` to 1 GiB without text", GOAL),
        ("– `ReadAsTable`, 29 KB csv.gz, two lines of 15 million commas", GOAL),
        ("– `ReadAsTable`, 8 KB Parquet, one value of 240 MB", GOAL),
        ("– `ReadAsTable`, 4 KB ODS with repeated cells", GOAL),
        ("– `ReadAsTable`, 240 KB xlsx with two million sheets", GOAL),
        ("– `ListFiles`, 256 alternatives, 400,000 directories (40,000 in the short form)", GOAL),
        ("– `edit_text_file` in 64 MiB of text", "≤ 384 MB; reads: median < 100 ms, slowest < 1 s"),
        (
            "40 writes wait for a lock of another program: reads beside them",
            "median < 100 ms, slowest < 1 s",
        ),
    ],
    run,
};

/// How long the calls of one case may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// A value of 240 MB in a page compressed with zstd, written by pyarrow 24.
const PARQUET: &[u8] = include_bytes!("memory/value.parquet");

/// A tool and its arguments.
type Call = (&'static str, Value);

fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    if server.kind != ServerKind::Recto {
        return Ok(vec![Cell::unjudged("not tried")]);
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    fs::write(root.join("small.txt"), "a small file\n".repeat(100))?;
    let sparse = root.join("sparse.bin");
    File::create(&sparse)?.set_len(1 << 30)?;
    let (path, hash) = (&sparse, "000000000000");
    let mut cases: Vec<(Vec<Call>, f64)> = vec![
        (vec![("file_remove", json!({"path": path, "hash": hash}))], 256.0),
        (vec![("write_text_file", json!({"path": path, "content": "x", "dry_run": true}))], 256.0),
        (
            vec![("edit_text_file", json!({"path": path, "old_string": "a", "new_string": "b"}))],
            256.0,
        ),
        (vec![("text_append", json!({"path": path, "hash": hash, "content": "x"}))], 256.0),
    ];
    for table in tables(root)? {
        cases.push((vec![("ReadAsTable", json!({"file_path": table}))], 256.0));
    }
    let n_dirs = effort.rounds(40_000, 400_000);
    for n in 0..n_dirs {
        fs::create_dir_all(root.join(format!("dirs/{n}")))?;
    }
    let alternatives: Vec<String> = (0..256).map(|n| format!("a{n:02x}")).collect();
    let pattern = format!("dirs/**/{{{}}}/x", alternatives.join(","));
    cases.push((vec![("ListFiles", json!({"pattern": pattern}))], 256.0));
    cases.push((large_edits(root)?, 384.0));
    let mut cells = Vec::new();
    for (calls, max_megabytes) in cases {
        cells.push(case(server, root, &calls, max_megabytes)?);
    }
    cells.push(locked(server, root)?);
    Ok(cells)
}

/// Writes hostile tables.
fn tables(root: &Path) -> Result<[PathBuf; 4]> {
    let [csv, parquet, ods, xlsx] =
        ["commas.csv.gz", "value.parquet", "repeated.ods", "sheets.xlsx"].map(|it| root.join(it));
    let mut gzip = GzEncoder::new(File::create(&csv)?, Compression::best());
    let line = format!("{}\n", ",".repeat(15_000_000));
    gzip.write_all(line.repeat(2).as_bytes())?;
    gzip.finish()?;
    fs::write(&parquet, PARQUET)?;
    let cell = format!(
        r#"<table:table-cell table:number-columns-repeated="16384"><text:p>{}</text:p></table:table-cell>"#,
        "x".repeat(1000)
    );
    let row = format!(
        r#"<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-row>"#
    );
    let content = format!(r#"<table:table table:name="a">{}</table:table>"#, row.repeat(1000));
    let mime = "application/vnd.oasis.opendocument.spreadsheet";
    archive(&ods, &[("mimetype", mime), ("content.xml", &content)])?;
    const SHEETS: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const DOCUMENT: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let relation = |kind: &str, target: &str| {
        format!(
            r#"<Relationships xmlns="{PACKAGE}"><Relationship Id="rId1" Type="{DOCUMENT}/{kind}" Target="{target}"/></Relationships>"#
        )
    };
    let sheets = r#"<sheet name="a" sheetId="1" r:id="rId1"/>"#.repeat(2_000_000);
    let workbook = format!(
        r#"<workbook xmlns="{SHEETS}" xmlns:r="{DOCUMENT}"><sheets>{sheets}</sheets></workbook>"#
    );
    archive(
        &xlsx,
        &[
            ("_rels/.rels", &relation("officeDocument", "xl/workbook.xml")),
            ("xl/_rels/workbook.xml.rels", &relation("worksheet", "worksheets/sheet1.xml")),
            ("xl/workbook.xml", &workbook),
            (
                "xl/worksheets/sheet1.xml",
                &format!(r#"<worksheet xmlns="{SHEETS}"><sheetData/></worksheet>"#),
            ),
        ],
    )?;
    Ok([csv, parquet, ods, xlsx])
}

fn archive(path: &Path, parts: &[(&str, &str)]) -> Result<()> {
    let mut archive = zip::ZipWriter::new(File::create(path)?);
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default())?;
        archive.write_all(content.as_bytes())?;
    }
    archive.finish()?;
    Ok(())
}

/// Writes files of 64 MiB in directories of their own, so that no edit waits for a lock.
fn large_edits(root: &Path) -> Result<Vec<Call>> {
    let mut calls = Vec::new();
    for n in 0..4 {
        let path = root.join(format!("large{n}/file.txt"));
        fs::create_dir(root.join(format!("large{n}")))?;
        let line = format!("{}\n", "x".repeat(99));
        let mut text = line.repeat((64 << 20) / line.len() - 1);
        text.push_str("only once\n");
        fs::write(&path, text)?;
        let edit = json!({"path": path, "old_string": "only once", "new_string": "only twice",
            "dry_run": true});
        calls.push(("edit_text_file", edit));
    }
    Ok(calls)
}

/// Makes one call, then sixteen at once.
fn case(server: &Server, root: &Path, calls: &[Call], max_megabytes: f64) -> Result<Cell> {
    let one = measure(server, root, calls, 1)?;
    let many = measure(server, root, calls, 16)?;
    let is_met = one.megabytes.max(many.megabytes) <= max_megabytes && many.are_reads_quick();
    let text = format!("{:.0} / {:.0} MB; {}", one.megabytes, many.megabytes, many.reads());
    Ok(Cell::new(is_met, text))
}

/// Lets writes wait for a lock that another program has.
fn locked(server: &Server, root: &Path) -> Result<Cell> {
    let folder = root.join("locked");
    fs::create_dir(&folder)?;
    let lock = File::open(&folder)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let write = json!({"path": folder.join("file.txt"), "content": "x"});
    let measured = measure(server, root, &[("write_text_file", write)], 40)?;
    Ok(Cell::new(measured.are_reads_quick(), measured.reads()))
}

struct Measured {
    /// The peak.
    megabytes: f64,
    /// How long each small read took, sorted.
    times: Vec<Duration>,
}

impl Measured {
    fn median(&self) -> Duration {
        self.times[self.times.len() / 2]
    }

    fn slowest(&self) -> Duration {
        self.times[self.times.len() - 1]
    }

    fn are_reads_quick(&self) -> bool {
        self.median() < Duration::from_millis(100) && self.slowest() < Duration::from_secs(1)
    }

    fn reads(&self) -> String {
        let [median, slowest] = [self.median(), self.slowest()].map(|it| it.as_secs_f64() * 1e3);
        format!("median {median:.1} ms, slowest {slowest:.0} ms")
    }
}

/// Sends `n_calls` calls, and reads a small file until all are answered.
fn measure(server: &Server, root: &Path, calls: &[Call], n_calls: usize) -> Result<Measured> {
    let mut session = Session::open(server, root)?;
    let client = &mut session.client;
    let mut open = Vec::new();
    for (tool, arguments) in calls.iter().cycle().take(n_calls) {
        let params = json!({"name": tool, "arguments": arguments});
        let (id, line) = client.prepare("tools/call", params);
        client.send(&line)?;
        open.push(id);
    }
    let deadline = Instant::now() + PATIENCE;
    let read = json!({"name": "read_text_file", "arguments": {"path": root.join("small.txt")}});
    let mut times = Vec::new();
    while !open.is_empty() {
        let (id, line) = client.prepare("tools/call", read.clone());
        let sent = Instant::now();
        client.send(&line)?;
        loop {
            client.receive(Some(deadline))?;
            let answer: Value = serde_json::from_slice(client.line())?;
            open.retain(|open| answer["id"] != *open);
            if answer["id"] == id {
                times.push(sent.elapsed());
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    times.sort_unstable();
    Ok(Measured { megabytes: megabytes(client.process_id(), "VmHWM")?, times })
}
