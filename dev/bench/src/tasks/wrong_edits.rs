//! Seventeen edits of one file whose old texts are remembered wrongly.

/// The file.
pub const DEFS: &str = "ripgrep/crates/core/flags/defs.rs";

/// An edit.
pub struct WrongEdit {
    /// What the agent takes for the text of the file.
    pub remembered: &'static str,
    /// The text of the file.
    pub right: &'static str,
    /// The new text.
    pub new: &'static str,
}

const fn edit(remembered: &'static str, right: &'static str, new: &'static str) -> WrongEdit {
    WrongEdit { remembered, right, new }
}

/// The edits.
pub const WRONG_EDITS: &[WrongEdit; 17] = &[
    edit(
        r#"r"Search case sensitively by default.""#,
        r#"r"Search case sensitively (default).""#,
        r#"r"Searches case sensitively (default).""#,
    ),
    edit(
        r#"r"Set the separator for context chunks.""#,
        r#"r"Set the separator for contextual chunks.""#,
        r#"r"Sets the separator for contextual chunks.""#,
    ),
    edit(
        r#"r"Show the count of matching lines for each file.""#,
        r#"r"Show count of matching lines for each file.""#,
        r#"r"Shows the count of matching lines for each file.""#,
    ),
    edit(
        r#"r"Use CRLF line terminators (for Windows).""#,
        r#"r"Use CRLF line terminators (nice for Windows).""#,
        r#"r"Uses CRLF line terminators (nice for Windows).""#,
    ),
    edit(
        r#"r"Specify the encoding of files to search.""#,
        r#"r"Specify the text encoding of files to search.""#,
        r#"r"Specifies the text encoding of files to search.""#,
    ),
    edit(
        r#"r"Specify the regex engine to use.""#,
        r#"r"Specify which regex engine to use.""#,
        r#"r"Specifies which regex engine to use.""#,
    ),
    edit(
        r#"r"Search for patterns in the given file.""#,
        r#"r"Search for patterns from the given file.""#,
        r#"r"Searches for patterns from the given file.""#,
    ),
    edit(
        r#"r"Print each file that will be searched.""#,
        r#"r"Print each file that would be searched.""#,
        r#"r"Prints each file that would be searched.""#,
    ),
    edit(
        r#"r"Print the paths with one match or more.""#,
        r#"r"Print the paths with at least one match.""#,
        r#"r"Prints the paths with at least one match.""#,
    ),
    edit(
        r#"r"Treat the patterns as literals.""#,
        r#"r"Treat all patterns as literals.""#,
        r#"r"Treats all patterns as literals.""#,
    ),
    edit(
        r#"r"Generate man pages and shell completion scripts.""#,
        r#"r"Generate man pages and completion scripts.""#,
        r#"r"Generates man pages and completion scripts.""#,
    ),
    edit(
        r#"r"Process glob patterns case insensitively.""#,
        r#"r"Process all glob patterns case insensitively.""#,
        r#"r"Processes all glob patterns case insensitively.""#,
    ),
    edit(
        r#"r"Print matches grouped by file.""#,
        r#"r"Print matches grouped by each file.""#,
        r#"r"Prints matches grouped by each file.""#,
    ),
    edit(
        r#"r"Run a program to get the system's hostname.""#,
        r#"r"Run a program to get this system's hostname.""#,
        r#"r"Runs a program to get this system's hostname.""#,
    ),
    edit(
        r#"r"Omit lines that are longer than this limit.""#,
        r#"r"Omit lines longer than this limit.""#,
        r#"r"Omits lines longer than this limit.""#,
    ),
    edit(
        r#"r"Ignore files that are larger than NUM in size.""#,
        r#"r"Ignore files larger than NUM in size.""#,
        r#"r"Ignores files larger than NUM in size.""#,
    ),
    edit(
        r#"r"Search with memory maps where possible.""#,
        r#"r"Search with memory maps when possible.""#,
        r#"r"Searches with memory maps when possible.""#,
    ),
];
