//! Limits of the stores that a caller can reach. The `recto` crate documents the effect of each.

use std::sync::OnceLock;
use std::time::Duration;

/// Memory of all calls of a process for files, tables and listings.
pub const MEMORY: usize = 256 << 20;
/// How long a call waits for memory while no other call gets any.
pub const MEMORY_WAIT: Duration = Duration::from_secs(5);

/// Length of a path below a root, in bytes.
pub const PATH: usize = 16 << 10;
/// Symbolic links followed in one path; the kernel's limit.
pub const LINKS: usize = 40;

/// Size of a file that is read whole; a larger one is read in pages.
pub const WHOLE_FILE: u64 = 16 << 20;

/// Directory entries that one walk inspects.
pub const WALK_ENTRIES: u64 = 5_000_000;
/// How long one walk runs.
pub const WALK_TIME: Duration = Duration::from_secs(20);
/// Directory entries that are inspected to suggest a path for one that does not exist.
pub const NEARBY_ENTRIES: u64 = 20_000;
/// How long that takes, once it has inspected a thousand entries.
pub const NEARBY_TIME: Duration = Duration::from_millis(8);
/// How many levels of directories a walk descends.
pub const WALK_DEPTH: usize = 256;
/// Paths that a walk keeps.
pub const WALK_KEPT: usize = 200_000;
/// Bytes of `.gitignore` rules in effect in one directory.
pub const IGNORE_RULES: usize = 128 << 10;

/// Length of a glob, in bytes.
pub const GLOB: usize = 4096;
/// Patterns that the braces of a glob expand to.
pub const GLOB_ALTERNATIVES: usize = 256;
/// Length of those patterns together, in bytes.
pub const GLOB_EXPANDED: usize = 16 << 10;
/// Components of a glob.
pub const GLOB_PARTS: usize = 63;

/// Size of a file that a change reads whole; of a larger one it reads an excerpt, if that is enough.
pub const WHOLE_CHANGE: u64 = 64 << 20;
/// Size of an excerpt, and so the largest distance between the strings of one call in such a file.
pub const EXCERPT: u64 = 16 << 20;
/// Size of a file that can be removed.
pub const REMOVED_FILE: u64 = 1 << 30;
/// How long a write waits for the directory's lock without progress: the time starts again when the
/// queue in this process moves, and once more when another process holds the lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);
/// Size of a leftover of a killed process that a write removes.
pub const LEFTOVER_BYTES: u64 = 256 << 20;

/// Files that one transaction changes.
pub const TRANSACTION_FILES: usize = 256;
/// Directories in which one transaction changes files.
pub const TRANSACTION_DIRS: usize = 64;
/// Bytes of all files of a transaction, before or after it, whichever is more.
pub const TRANSACTION_BYTES: u64 = 64 << 20;

/// Length of a revision's name, in bytes.
pub const REVISION: usize = 1024;
/// Size of a git object, such as a file at a commit.
pub const GIT_OBJECT: u64 = 64 << 20;
/// Size of all pack indexes of a repository together.
pub const GIT_PACK_INDEXES: u64 = 2 << 30;
/// Tree entries that one walk of a commit inspects.
pub const GIT_WALK_ENTRIES: u64 = 2_000_000;
/// How long one walk of a commit runs.
pub const GIT_WALK_TIME: Duration = Duration::from_secs(10);
/// How long one call on the history of a repository works.
pub const HISTORY_TIME: Duration = Duration::from_secs(10);
/// Length of a path in a git tree, in bytes.
pub const GIT_PATH: usize = 4096;

/// Size of a text that is exchanged with an editor.
pub const EDITOR_TEXT: usize = 16 << 20;
/// Size of a file whose change is previewed.
pub const PREVIEWED_FILE: u64 = 16 << 20;

/// Returns how many threads a walk or a search may use: the processors available at the first call.
pub fn n_threads() -> usize {
    static N_THREADS: OnceLock<usize> = OnceLock::new();
    *N_THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
