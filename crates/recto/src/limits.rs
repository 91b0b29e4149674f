//! The bounds that a caller can run into, in one place, with what happens beyond it and the test
//! that goes there. `docs/limits.md` is made of it. Sizes of buffers and the like stay where they are
//! used.

use std::time::Duration;

/// A bound.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// What is bounded.
    pub what: &'static str,
    /// By how much.
    pub amount: Amount,
    /// What a caller sees beyond it.
    pub beyond: &'static str,
    /// A test that goes there, or why none does.
    pub test: Reached,
}

/// How much.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Things.
    Count(u64),
    /// Time.
    Time(Duration),
}

/// Whether a test goes to a bound.
#[derive(Debug, Clone, Copy)]
pub enum Reached {
    /// The test of this name does.
    By(&'static str),
    /// None does, for this reason.
    Not(&'static str),
}

macro_rules! limits {
    ($(
        #[doc = $what:literal]
        $name:ident: $kind:ident $type:ty = $value:expr, $beyond:literal, $test:expr;
    )*) => {
        $(#[doc = $what] pub const $name: $type = $value;)*

        /// All of them.
        pub const ALL: &[Limit] = &[$(Limit {
            name: stringify!($name),
            what: $what,
            amount: limits!(@$kind $name),
            beyond: $beyond,
            test: $test,
        }),*];
    };
    (@bytes $name:ident) => { Amount::Bytes($name as u64) };
    (@count $name:ident) => { Amount::Count($name as u64) };
    (@time $name:ident) => { Amount::Time($name) };
}

use Reached::{By, Not};

limits! {
    // Requests.

    /// A request's line.
    REQUEST_LINE: bytes usize = 16 << 20,
        "-32600 with the request's id; the line is skipped, never held",
        By("a_request_that_is_too_long_is_rejected_with_its_id");
    /// Values in a request: numbers, texts, names, lists.
    REQUEST_VALUES: count usize = 250_000,
        "-32600 with the request's id, before anything is parsed",
        By("a_request_with_too_many_values_is_rejected_before_it_is_parsed");
    /// Requests that wait for an answer.
    REQUESTS_IN_FLIGHT: count usize = 1024,
        "nothing more is read until one is answered",
        By("the_next_request_waits_until_one_is_answered");
    /// Memory of requests that wait for an answer, estimated.
    REQUEST_BYTES_IN_FLIGHT: bytes usize = 32 << 20,
        "nothing more is read until one is answered, unless it is alone",
        By("a_large_request_waits_until_it_is_alone");
    /// Calls that run at once; fewer where `--max-read-bytes` is large.
    RUNNING_CALLS: count usize = 16,
        "the next one waits",
        By("no_more_calls_run_than_answers_have_room");
    /// Memory of answers that nobody reads, estimated.
    ANSWER_BYTES: bytes usize = 64 << 20,
        "fewer calls run at once",
        By("unread_answers_take_little_memory_and_are_not_lost");
    /// Threads that calls run on, with those that hang in a file system.
    CALL_THREADS: count usize = 64,
        "-32017 until one comes back",
        By("hanging_calls_are_bounded_and_the_server_keeps_working");
    /// How long a call may run before it is logged and makes way for the next.
    SLOW_CALL: time Duration = Duration::from_secs(30),
        "another call may run beside it",
        By("calls_that_hang_for_long_free_their_slots");
    /// How long a call that was taken back may take to end.
    AFTER_CANCELLATION: time Duration = Duration::from_secs(2),
        "it is given up; nobody waits for its answer",
        By("a_hanging_call_can_be_cancelled");
    /// How long calls may go on when the input has ended.
    AFTER_END_OF_INPUT: time Duration = Duration::from_secs(1),
        "the server ends; a write in its commit is carried out",
        By("a_call_in_flight_does_not_delay_the_exit_at_end_of_input");

    // Paths.

    /// A path below a root.
    PATH: bytes usize = recto_store::limits::PATH,
        "-32600", By("a_path_of_a_megabyte_is_rejected_in_time_under_deny_patterns");
    /// Links that are followed in one path, as many as the kernel follows.
    LINKS: count usize = recto_store::limits::LINKS,
        "-32003", By("at_most_forty_links_are_followed");

    // Reading.

    /// Text in the answer of one read, unless `--max-read-bytes` says otherwise.
    READ_BYTES: bytes usize = 1 << 20,
        "the answer is cut at a line end and says how to go on",
        By("a_read_returns_up_to_its_limit_and_names_the_next_page");
    /// What `--max-read-bytes` can be.
    MOST_READ_BYTES: bytes usize = 16 << 20,
        "the program does not start", By("a_read_limit_above_16_mebibytes_is_rejected");
    /// A file that is read whole; a larger one is read in pieces.
    WHOLE_FILE: bytes u64 = recto_store::limits::WHOLE_FILE,
        "nothing that a caller sees",
        By("large_files_are_read_by_ranges_and_matches");
    /// A line in an answer of `ReadLines`.
    LINE: bytes usize = recto_tools::limits::LINE,
        "the line is cut and says so", By("a_line_of_twenty_mebibytes_is_truncated_and_found");
    /// A line in an answer of `ReadLines` about many files.
    LINE_OF_MANY: bytes usize = recto_tools::limits::LINE_OF_MANY,
        "the line is cut and says so", By("lines_are_truncated_earlier_in_a_search_of_many_files");
    /// Lines in an answer about many files.
    ROWS_OF_MANY: count usize = recto_tools::limits::ROWS_OF_MANY,
        "`truncated`, with the first ones", By("search_results_are_bounded_and_start_with_the_first_hit");
    /// Text in an answer about many files.
    BYTES_OF_MANY: bytes usize = recto_tools::limits::BYTES_OF_MANY,
        "`truncated`, with the first ones", By("search_results_are_bounded_and_start_with_the_first_hit");
    /// Matching lines that are looked for in one file.
    HITS: count usize = recto_tools::limits::HITS,
        "the first ones, and `next` says where to go on", By("hits_per_file_are_limited");
    /// The text to look for.
    NEEDLE: bytes usize = recto_text::search::MAX_NEEDLE,
        "-32600", By("the_length_of_a_search_text_is_limited");
    /// Files that are searched by one call.
    SEARCHED_FILES: count usize = recto_tools::limits::SEARCHED_FILES,
        "`truncated`", Not("it takes 200,000 files");
    /// How long a search of many files goes on.
    SEARCH_TIME: time Duration = recto_tools::limits::SEARCH_TIME,
        "`truncated`", Not("time is not asserted");

    // Listing.

    /// Names that one walk looks at.
    WALK_ENTRIES: count u64 = recto_store::limits::WALK_ENTRIES,
        "`truncated`, and the answer says that it stopped", Not("it takes five million files");
    /// How long one walk goes on.
    WALK_TIME: time Duration = recto_store::limits::WALK_TIME,
        "`truncated`, and the answer says that it stopped", Not("time is not asserted");
    /// Folders in folders that a walk goes down.
    WALK_DEPTH: count usize = recto_store::limits::WALK_DEPTH,
        "what lies deeper is not listed, and the answer says so",
        By("three_hundred_nested_directories_are_listed_or_reported");
    /// Paths that a walk keeps.
    WALK_KEPT: count usize = recto_store::limits::WALK_KEPT,
        "`truncated`", Not("it takes 200,000 files");
    /// Rules of `.gitignore` files that are followed, in bytes.
    IGNORE_RULES: bytes usize = recto_store::limits::IGNORE_RULES,
        "the rest of the rules is left out", By("many_ignore_rules_take_little_time_and_memory");

    // Patterns.

    /// A glob.
    GLOB: bytes usize = recto_store::limits::GLOB,
        "-32600", By("the_length_of_a_pattern_is_limited");
    /// Patterns that the braces of a glob stand for.
    GLOB_ALTERNATIVES: count usize = recto_store::limits::GLOB_ALTERNATIVES,
        "-32600", By("the_number_of_brace_alternatives_is_limited");
    /// Those patterns together.
    GLOB_EXPANDED: bytes usize = recto_store::limits::GLOB_EXPANDED,
        "-32600", By("the_number_of_brace_alternatives_is_limited");
    /// Names and stars between the slashes of a glob.
    GLOB_PARTS: count usize = recto_store::limits::GLOB_PARTS,
        "-32600", By("the_number_of_pattern_components_is_limited");

    // Writing.

    /// A file that a change holds in memory; of a larger one it holds the lines in question.
    WHOLE_CHANGE: bytes u64 = recto_store::limits::WHOLE_CHANGE,
        "nothing that a caller sees", By("a_large_file_is_edited_without_loading_it");
    /// How far apart the strings of one call may stand in such a file.
    EXCERPT: bytes u64 = recto_store::limits::EXCERPT,
        "-32019", By("edits_too_far_apart_need_separate_calls");
    /// A file that has to be held all the same: to be removed or overwritten, in another encoding, or with CRLF and lines of megabytes.
    CHANGED_FILE: bytes u64 = recto_store::limits::CHANGED_FILE,
        "-32019", By("a_file_larger_than_a_gibibyte_is_not_edited");
    /// How long a write waits while others change the folder.
    LOCK_WAIT: time Duration = recto_store::limits::LOCK_WAIT,
        "-32017", By("a_directory_that_stays_locked_is_reported_as_busy");
    /// The diff in an answer.
    DIFF_BYTES: bytes usize = recto_text::diff::MAX_DIFF_BYTES,
        "it is left out", By("a_diff_beyond_the_limit_is_left_out");
    /// What a killed process left behind and is cleaned up in passing.
    LEFTOVER_BYTES: bytes u64 = recto_store::limits::LEFTOVER_BYTES,
        "it stays until somebody removes it",
        By("a_huge_file_named_like_a_leftover_does_not_delay_a_write");

    // Git.

    /// A revision's name.
    REVISION: bytes usize = recto_store::limits::REVISION,
        "-32001", By("an_invalid_revision_gets_a_helpful_error");
    /// An object, as a file at a revision.
    GIT_OBJECT: bytes u64 = recto_store::limits::GIT_OBJECT,
        "-32019, before anything is inflated", By("a_file_over_the_limit_is_rejected_by_its_header");
    /// Names that one walk of a tree looks at.
    GIT_WALK_ENTRIES: count u64 = recto_store::limits::GIT_WALK_ENTRIES,
        "`truncated`", By("an_endless_tree_is_listed_up_to_the_budget");
    /// How long one walk of a tree goes on.
    GIT_WALK_TIME: time Duration = recto_store::limits::GIT_WALK_TIME,
        "`truncated`", By("an_endless_tree_is_listed_up_to_the_budget");
    /// A path in a tree.
    GIT_PATH: bytes usize = recto_store::limits::GIT_PATH,
        "the repository counts as damaged", By("a_long_history_is_walked_and_a_deep_tree_is_rejected");

    // Tables.

    /// Columns of a table.
    TABLE_COLUMNS: count usize = recto_tables::limits::COLUMNS,
        "the first ones are shown, and the answer says so", By("shows_so_many_columns_and_no_more");
    /// Characters of a value in a table; fewer where it has very many columns.
    TABLE_CELL: count usize = recto_tables::limits::CELL_CHARS,
        "the value is cut and says so", By("cuts_long_values_and_says_by_how_much");
    /// Characters of a column's name.
    TABLE_NAME: count usize = recto_tables::limits::NAME_CHARS,
        "the name is cut and says so", By("cuts_a_long_name_and_says_by_how_much");
    /// What a compressed file may inflate to.
    TABLE_INFLATED: bytes u64 = recto_tables::limits::INFLATED,
        "the table ends there", By("a_bomb_ends_at_the_limit_in_bounded_time");
    /// Values in values of JSON.
    TABLE_JSON_DEPTH: count usize = recto_tables::limits::JSON_DEPTH,
        "the file is refused", By("refuses_what_is_too_deep_or_too_large");
    /// One value of JSON.
    TABLE_JSON_VALUE: bytes usize = recto_tables::limits::JSON_VALUE,
        "the file is refused", By("refuses_what_is_too_deep_or_too_large");
    /// One record of CSV and its relatives.
    TABLE_RECORD: bytes usize = recto_tables::limits::RECORD,
        "the file is refused if it begins so; further on the record ends there",
        By("a_record_has_a_longest_length");
    /// A workbook: `.xlsx`, `.xlsb`, `.ods`.
    TABLE_WORKBOOK: bytes u64 = recto_tables::limits::WORKBOOK,
        "the file is refused", By("a_workbook_has_a_largest_size");
    /// A workbook in the old format, `.xls`.
    TABLE_XLS: bytes u64 = recto_tables::limits::XLS,
        "the file is refused", By("a_workbook_has_a_largest_size");
    /// A page of Parquet, compressed or not.
    TABLE_PARQUET_PAGE: bytes u64 = recto_tables::limits::PARQUET_PAGE,
        "the file is refused", By("what_would_end_the_process_is_refused");
    /// Entries of a dictionary of Parquet.
    TABLE_PARQUET_DICTIONARY: count u64 = recto_tables::limits::PARQUET_DICTIONARY,
        "the file is refused", By("what_would_end_the_process_is_refused");
    /// The metadata of a Parquet file.
    TABLE_PARQUET_METADATA: bytes u64 = recto_tables::limits::PARQUET_METADATA,
        "the file is refused", By("what_would_end_the_process_is_refused");
    /// Columns of a Parquet file, with those inside others.
    TABLE_PARQUET_COLUMNS: count u64 = recto_tables::limits::PARQUET_COLUMNS,
        "the file is refused", By("what_would_end_the_process_is_refused");

    // Editors.

    /// A text that passes through an editor.
    EDITOR_TEXT: bytes usize = recto_store::limits::EDITOR_TEXT,
        "the file on the disk is used, and the answer says so",
        By("large_files_and_bytes_stay_on_the_disk");
    /// A file whose change is shown before it is allowed.
    PREVIEWED_FILE: bytes u64 = recto_store::limits::PREVIEWED_FILE,
        "what the call says is shown, without what the file holds",
        By("a_permission_request_for_a_large_file_omits_its_content");
}

/// How many calls run at once, so that their answers fit into [`ANSWER_BYTES`].
pub fn running_calls(max_read_bytes: usize) -> usize {
    /// How many times an answer's text stands in memory before it is written: as text, as
    /// structured content, and as the JSON of both.
    const COPIES: usize = 4;
    let max_answer = max_read_bytes.max(DIFF_BYTES / 4);
    (ANSWER_BYTES / (COPIES * max_answer)).clamp(4, RUNNING_CALLS)
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Amount::Bytes(n) if n >= 1 << 30 && n % (1 << 30) == 0 => write!(f, "{} GiB", n >> 30),
            Amount::Bytes(n) if n >= 1 << 20 && n % (1 << 20) == 0 => write!(f, "{} MiB", n >> 20),
            Amount::Bytes(n) if n >= 1 << 10 && n % (1 << 10) == 0 => write!(f, "{} KiB", n >> 10),
            Amount::Bytes(n) => write!(f, "{n} bytes"),
            Amount::Count(n) => {
                let digits = n.to_string();
                for (index, digit) in digits.chars().enumerate() {
                    if index > 0 && (digits.len() - index).is_multiple_of(3) {
                        f.write_str(",")?;
                    }
                    write!(f, "{digit}")?;
                }
                Ok(())
            }
            Amount::Time(time) => write!(f, "{} s", time.as_secs_f32()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_calls_run_than_answers_have_room() {
        assert_eq!(running_calls(1), RUNNING_CALLS);
        assert_eq!(running_calls(READ_BYTES), RUNNING_CALLS);
        assert_eq!(running_calls(2 << 20), 8);
        assert_eq!(running_calls(MOST_READ_BYTES), 4);
    }

    #[test]
    fn amounts_are_written_for_people() {
        for (amount, expected) in [
            (Amount::Bytes(1 << 30), "1 GiB"),
            (Amount::Bytes(3 << 20), "3 MiB"),
            (Amount::Bytes(1000), "1000 bytes"),
            (Amount::Count(5_000_000), "5,000,000"),
            (Amount::Count(40), "40"),
            (Amount::Time(Duration::from_millis(1500)), "1.5 s"),
        ] {
            assert_eq!(amount.to_string(), expected);
        }
    }
}
