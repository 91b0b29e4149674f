//! Why a path is refused: who says so, or what stands there, and what a caller should know about it.

use crate::quote::Quoted;

/// Who refuses a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// It lies outside the roots, or leaves them, or is hidden.
    Outside {
        /// The roots, as a person wrote them.
        roots: String,
    },
    /// The same, for a path that starts at the top of a repository and a root below that.
    AboveRoot {
        /// The roots, as a person wrote them.
        roots: String,
        /// The root, from the top on.
        below: String,
    },
    /// The root that it lies in is not where it was.
    RootReplaced {
        /// The root.
        root: String,
    },
    /// It lies in a `.git` folder.
    GitFolder,
    /// The client's sandbox forbids writing there.
    ClientSandbox,
    /// The editor that the file is open in, or its person.
    Editor {
        /// What it says.
        message: String,
    },
    /// The operating system.
    System,
    /// The operating system, about the folder of the file.
    Folder,
    /// The file belongs to somebody else, and replacing it would change its owner.
    ForeignOwner,
    /// The file is a mount point of its own and cannot be replaced.
    MountPoint,
}

impl Denial {
    /// What a caller should know about it.
    pub(super) fn hint(&self) -> Option<String> {
        let hint = match self {
            Denial::Outside { roots } => format!("Only files in these folders can be used: {roots}"),
            Denial::AboveRoot { roots, below } => format!("With commit, relative paths start at the top of the repository; those of the root start with {below}/. Only files in these folders can be used: {roots}"),
            Denial::RootReplaced { root } => format!("The folder {} was moved, removed or replaced since recto was started; it has to be started again.", Quoted(root)),
            Denial::GitFolder => "Nothing is written inside .git; start recto with --allow-git-writes to change that.".into(),
            Denial::ClientSandbox => "The client's sandbox does not allow it.".into(),
            Denial::Editor { message } if message.is_empty() => "The editor refused it.".into(),
            Denial::Editor { message } => format!("The editor says: {}", Quoted(message)),
            Denial::System => return None,
            Denial::ForeignOwner => "The file belongs to another user or group, and replacing it would change that.".into(),
            Denial::Folder => "Its folder cannot be written, which is how a file is replaced.".into(),
            Denial::MountPoint => "The file is a mount point of its own and cannot be replaced.".into(),
        };
        Some(hint)
    }
}

/// What stands where a regular file is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// A folder.
    Folder,
    /// A folder, for a caller who looks around and can list it.
    ListedFolder {
        /// Whether it is one at a commit.
        is_at_commit: bool,
    },
    /// Something that is no file, with its article: `a FIFO`.
    Special(&'static str),
    /// Anything else.
    Other,
}

impl Instead {
    /// What a caller should do about it.
    pub(super) fn hint(self, path: &str) -> Option<String> {
        let is_at_commit = match self {
            Instead::Folder => return Some("It is a folder.".into()),
            Instead::ListedFolder { is_at_commit } => is_at_commit,
            Instead::Special(what) => return Some(format!("It is {what}.")),
            Instead::Other => return None,
        };
        let commit = if is_at_commit { " and the same commit" } else { "" };
        let pattern = everything_beneath(path);
        Some(format!("It is a folder: ListFiles with pattern {pattern}{commit} lists its files."))
    }
}

/// How a path is written that starts at `/`, for one that does not.
pub(super) fn absolute_hint(path: &str, root: Option<&str>) -> String {
    let the_root = root.map(|root| format!(" The root is {}.", Quoted(root))).unwrap_or_default();
    if let Some(rest) = path.strip_prefix("file://") {
        // Whatever is escaped in an address is not in a path.
        return match rest.starts_with('/') && !rest.contains('%') {
            true => format!("Leave file:// off: {}", Quoted(rest)),
            false => "Write it as a path that starts at /.".into(),
        };
    }
    if path.starts_with('~') {
        return format!("~ is not expanded; write the home folder out.{the_root}");
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    match root {
        Some(root) if !path.is_empty() && !path.split('/').any(|part| part == "..") => {
            let whole = format!("{}/{path}", root.trim_end_matches('/'));
            format!("Start the path at /: {}", Quoted(&whole))
        }
        _ => format!("Start the path at /.{the_root}"),
    }
}

/// The pattern for all files beneath a folder.
fn everything_beneath(folder: &str) -> String {
    let mut pattern = String::new();
    for c in folder.trim_end_matches('/').chars() {
        if matches!(c, '*' | '?' | '[' | '{' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "/**"
}
