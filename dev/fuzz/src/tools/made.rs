//! Makes calls that are nearly valid from bytes. Each byte is one decision, so a fuzzer that
//! changes a byte changes one thing.

use std::path::{Path, PathBuf};

use recto_store::memory::Node;
use recto_text::{Digest, Document, line};
use recto_tools::tools::{self, Param, ParamKind};
use serde_json::{Map, Value, json};

use super::{Files, ROOT, World};

/// The files of every case.
pub fn files() -> Files {
    let utf16: Vec<u8> =
        "\u{feff}eins\r\nzwei\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let many: String = (1..=120).map(|n| format!("line {n} of many\n")).collect();
    let files: [(&str, &[u8]); 16] = [
        ("a.txt", b"one\ntwo\nthree\ntwo\n"),
        ("crlf.txt", b"one\r\ntwo\r\n\r\nthree\r\n"),
        ("mixed.txt", b"a\r\nb\nc\rd\n\ne"),
        ("empty.txt", b""),
        ("one", b"x"),
        ("latin.txt", b"d\xe9j\xe0 vu, caf\xe9 cr\xe8me\n"),
        ("utf16.txt", &utf16),
        ("bom.txt", b"\xef\xbb\xbfa\nb\n"),
        ("binary.bin", b"\x00\x01\xff\xfe\x00"),
        ("wide.txt", "ä漢😀\n\u{2028}\u{85}\n\tb\t\n".as_bytes()),
        ("many.txt", many.as_bytes()),
        ("t/data.csv", b"id,name,when\n1,a,2024-01-02\n2,\"b,c\",\n"),
        ("t/data.json", b"[{\"a\":1},{\"a\":null,\"b\":[1]}]"),
        ("t/data.parquet", b"PAR1\x00\x00"),
        ("sub/deep/x.rs", b"fn main() {\n    println!(\"hi\");\n}\n"),
        (".hidden/.gitignore", b"*.o\n!keep.o\n"),
    ];
    let file =
        |(path, bytes): (&str, &[u8])| (Path::new(ROOT).join(path), Node::File(bytes.to_vec()));
    files.into_iter().map(file).collect()
}

const PATHS: &[&str] = &[
    "",
    "/",
    ".",
    "..",
    "/test",
    "/test/",
    "/test/../etc",
    "/test/none",
    "/test/none/none",
    "/test/a.txt/x",
    "/test/sub",
    "/test/sub/../a.txt",
    "/test/new.txt",
    "/test/n/e/w",
    "a.txt",
    "sub/deep/x.rs",
    "**",
    "**/*.txt",
    "*.{txt,csv}",
    "/test/**/d*",
    "[",
    "t/%",
    "%.txt",
    "/test/.git/config",
    "/test/\0",
    "/test/a\nb",
    "~/x",
    "file:///test/a.txt",
];

const TEXTS: &[&str] = &[
    "",
    "\n",
    "\r\n",
    "\r",
    "a",
    "x",
    "two",
    "two\n",
    "\u{feff}",
    "\0",
    "ä",
    "😀",
    "line 7",
    "\t",
    "1,2\n3,4\n",
    "漢\r\n字",
    "one\ntwo",
    "one\r\ntwo\r\n",
    "  one",
    "\\n",
];

const SPECS: &[&str] = &[
    "1",
    "-3",
    "2-",
    "+1",
    "+2-",
    "1-2,4",
    "5 +/-2",
    "3 -1+1",
    "1...9",
    "0",
    "9999",
    "",
    "1-",
    "1- from 3",
    "18446744073709551616",
    "2-1",
    "x",
    "HEAD",
    "HEAD~1",
    "@{1}",
];

const NUMBERS: &[i64] =
    &[0, 1, 2, 3, 4, 5, -1, -2, -4, 100, 121, 1 << 31, 1 << 53, i64::MAX, i64::MIN, -100];

/// Bytes as decisions; after the last byte, every decision is the first option.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn of<T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::from(self.next()) % items.len()]
    }

    fn bytes(&mut self) -> &'a [u8] {
        let n_bytes = usize::from(self.next() % 32).min(self.0.len());
        let (taken, rest) = self.0.split_at(n_bytes);
        self.0 = rest;
        taken
    }
}

/// Makes the calls of one input, one after another on the same files.
pub fn check(input: &[u8]) {
    let mut choices = Choices(input);
    let mut world = World::new(files());
    for _ in 0..4 {
        let tool = tools::ALL[usize::from(choices.next()) % tools::ALL.len()];
        let mut maker = Maker::new(&mut choices, world.files());
        let arguments = maker.object(tool.params);
        world.call(tool, arguments);
        if choices.0.is_empty() {
            break;
        }
    }
}

struct Maker<'a, 'b> {
    choices: &'b mut Choices<'a>,
    /// The file that most calls use.
    path: PathBuf,
    bytes: Vec<u8>,
}

impl<'a, 'b> Maker<'a, 'b> {
    fn new(choices: &'b mut Choices<'a>, files: Files) -> Maker<'a, 'b> {
        let index = usize::from(choices.next()) % files.len().max(1);
        match files.into_iter().nth(index) {
            Some((path, Node::File(bytes))) => Maker { choices, path, bytes },
            _ => Maker { choices, path: ROOT.into(), bytes: Vec::new() },
        }
    }

    fn object(&mut self, params: &'static [Param]) -> Map<String, Value> {
        let mut object = Map::new();
        for param in params {
            let choice = self.choices.next();
            let is_there = if param.is_required { choice != 255 } else { choice % 3 == 1 };
            if is_there {
                object.insert(param.name.into(), self.value(param, choice));
            }
        }
        if self.choices.next() == 255 {
            object.insert(self.text(), json!(1));
        }
        object
    }

    fn value(&mut self, param: &'static Param, choice: u8) -> Value {
        if choice > 240 {
            return self.anything(0);
        }
        match param.kind {
            ParamKind::String | ParamKind::NumberOrString | ParamKind::Text => match param.name {
                "path" | "file_path" | "pattern" => self.path().into(),
                "lines" | "commit" => (*self.choices.of(SPECS)).into(),
                _ => self.text().into(),
            },
            ParamKind::Integer { .. } => (*self.choices.of(NUMBERS)).into(),
            ParamKind::Boolean => (self.choices.next() % 2 == 1).into(),
            ParamKind::Hash => match self.choices.next() {
                0 => "0123456789ab".into(),
                255 => self.text().into(),
                _ => Digest::of(&self.bytes).to_string().into(),
            },
            ParamKind::Word(words) => words[usize::from(self.choices.next()) % words.len()].into(),
            ParamKind::Strings => json!(["id", "name"]),
            ParamKind::Lines => json!([self.choices.of(NUMBERS), self.choices.of(NUMBERS)]),
            ParamKind::Objects(members) => {
                let n_items = self.choices.next() % 5;
                (0..n_items).map(|_| Value::from(self.object(members))).collect()
            }
        }
    }

    fn path(&mut self) -> String {
        match self.choices.next() {
            0..200 => self.path.display().to_string(),
            200..250 => self.choices.of(PATHS).to_string(),
            _ => self.text(),
        }
    }

    /// Returns text: a piece of the file, a typical one, or anything.
    fn text(&mut self) -> String {
        match self.choices.next() {
            choice @ 0..128 => {
                let document = Document::parse(self.bytes.clone());
                let text = document.as_ref().map_or("", Document::text);
                let lines: Vec<&str> = line::lines(text).collect();
                let first = usize::from(choice % 32).min(lines.len());
                let last = (first + usize::from(choice / 32)).min(lines.len());
                let piece = lines[first..last].concat();
                match self.choices.next() % 4 {
                    0 => piece,
                    1 => line::without_ending(&piece).into(),
                    2 => piece.replace("\r\n", "\n"),
                    _ => piece.chars().skip(1).collect(),
                }
            }
            128..224 => self.choices.of(TEXTS).to_string(),
            _ => String::from_utf8_lossy(self.choices.bytes()).into_owned(),
        }
    }

    fn anything(&mut self, depth: usize) -> Value {
        match self.choices.next() % if depth < 4 { 9 } else { 7 } {
            0 => Value::Null,
            1 => true.into(),
            2 => (*self.choices.of(NUMBERS)).into(),
            3 => 1.5.into(),
            4 => u64::MAX.into(),
            5 => self.text().into(),
            6 => self.choices.of(NUMBERS).to_string().into(),
            7 => (0..self.choices.next() % 4).map(|_| self.anything(depth + 1)).collect(),
            _ => json!({self.text(): self.anything(depth + 1)}),
        }
    }
}
