//! The operations that are counted, and their files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Result;
use crate::files::{KB, MB, N_MARKS, settle, text, with_marks};
use crate::rounds::{toggled, toggled_edits};

/// A call that is counted.
pub struct Operation {
    pub name: &'static str,
    pub tool: &'static str,
    /// The number of calls that the difference is divided by: enough to hide differences between
    /// two startups.
    pub n_calls: usize,
    /// Whether the journal records the call.
    pub is_recorded: bool,
    /// The arguments of a round, from 0.
    pub arguments: fn(&Files, usize) -> Value,
}

/// All operations.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "read_2kb",
        tool: "read_text_file",
        n_calls: 100,
        is_recorded: false,
        arguments: |files, _| json!({"path": files.root().join("2kb.txt")}),
    },
    Operation {
        name: "read_1mb",
        tool: "read_text_file",
        n_calls: 2,
        is_recorded: false,
        arguments: |files, _| json!({"path": files.root().join("1mb.txt")}),
    },
    Operation {
        name: "next_page_of_24mb",
        tool: "ReadLines",
        n_calls: 100,
        is_recorded: false,
        arguments: |_, round| {
            let line = 400_000 + 20 * round;
            json!({"file_path": "24mb.txt", "lines": format!("{line}-{}", line + 19)})
        },
    },
    Operation {
        name: "edit_1_in_1mb",
        tool: "edit_text_file",
        n_calls: 8,
        is_recorded: false,
        arguments: |files, round| {
            let (old, new) = toggled(N_MARKS / 2, round);
            json!({"path": files.edited(), "old_string": old, "new_string": new})
        },
    },
    Operation {
        name: "edit_100_in_1mb",
        tool: "multi_edit_text_file",
        n_calls: 2,
        is_recorded: false,
        arguments: |files, round| json!({"path": files.edited(), "edits": toggled_edits(N_MARKS, round)}),
    },
    Operation {
        name: "write_1mb",
        tool: "write_text_file",
        n_calls: 2,
        is_recorded: false,
        arguments: |files, round| {
            let content = text(1000 + round as u64, MB);
            json!({"path": files.root().join("written.txt"), "content": content})
        },
    },
    Operation {
        name: "recorded_edit_100_in_1mb",
        tool: "multi_edit_text_file",
        n_calls: 2,
        is_recorded: true,
        arguments: |files, round| json!({"path": files.edited(), "edits": toggled_edits(N_MARKS, round)}),
    },
    Operation {
        name: "list_2000_files",
        tool: "ListFiles",
        n_calls: 10,
        is_recorded: false,
        arguments: |_, _| json!({"pattern": "tree/**/*.rs"}),
    },
    Operation {
        name: "preview_of_csv",
        tool: "ReadAsTable",
        n_calls: 10,
        is_recorded: false,
        arguments: |_, _| json!({"file_path": "table.csv", "limit": 100}),
    },
];

/// A directory with the files, and next to it one for valgrind's output.
pub struct Files {
    folder: TempDir,
    marked: String,
}

impl Files {
    pub fn create() -> Result<Files> {
        // The name has a fixed length, because paths are part of requests and answers.
        let folder = TempDir::with_prefix_in("recto-", "/tmp")?;
        let files = Files { folder, marked: with_marks(&text(4, MB)) };
        let root = files.root();
        fs::create_dir(&root)?;
        fs::write(root.join("2kb.txt"), text(1, 2 * KB))?;
        fs::write(root.join("1mb.txt"), text(2, MB))?;
        let log: String = (0..24).map(|seed| text(seed, MB)).collect();
        fs::write(root.join("24mb.txt"), log)?;
        // Few enough directories for one thread.
        for index in 0..2000 {
            let place = root.join(format!("tree/{}", index / 200));
            fs::create_dir_all(&place)?;
            let ending = ["rs", "md", "toml", "txt"][index % 4];
            fs::write(place.join(format!("{index}.{ending}")), "")?;
        }
        let row = |id: usize| {
            let (day, is_open) = (id % 28 + 1, id.is_multiple_of(2));
            format!(
                "{id},\"name, {id}\",{}.{:02},2026-02-{day:02},{is_open}\n",
                id % 1000,
                id % 100
            )
        };
        let rows: String = (0..20_000).map(row).collect();
        fs::write(root.join("table.csv"), format!("id,name,price,day,is_open\n{rows}"))?;
        settle();
        Ok(files)
    }

    /// Restores what calls change.
    pub fn reset(&self) -> Result<()> {
        fs::write(self.edited(), &self.marked)?;
        Ok(fs::write(self.root().join("written.txt"), text(999, MB))?)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The served directory.
    pub fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    pub fn edited(&self) -> PathBuf {
        self.root().join("edited.txt")
    }

    pub fn remove(self) -> Result<()> {
        Ok(self.folder.close()?)
    }
}
