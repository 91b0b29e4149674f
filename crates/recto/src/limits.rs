//! All limits that a caller can reach, with what happens beyond each and the test that reaches it.
//! `docs/limits.md` is generated from this list. Internal sizes, such as those of buffers, are defined
//! where they are used.

mod amount;

pub use amount::Amount;

use std::time::Duration;

/// A limit.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// What is limited.
    pub what: &'static str,
    /// The value.
    pub amount: Amount,
    /// What happens beyond it.
    pub beyond: &'static str,
    /// The test that reaches it, or why there is none.
    pub test: Reached,
}

/// Whether a test reaches a limit.
#[derive(Debug, Clone, Copy)]
pub enum Reached {
    /// The name of the test.
    By(&'static str),
    /// Why there is no test.
    Not(&'static str),
}

macro_rules! limits {
    ($(
        #[doc = $what:literal]
        $name:ident: $kind:ident $type:ty = $value:expr, $beyond:literal, $test:expr;
    )*) => {
        $(#[doc = $what] pub const $name: $type = $value;)*

        /// All limits.
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

    /// Length of a request.
    REQUEST_LINE: bytes usize = 16 << 20,
        "-32600 with the request's id; the line is skipped without buffering it",
        By("a_request_that_is_too_long_is_rejected_with_its_id");
    /// JSON values in a request.
    REQUEST_VALUES: count usize = 250_000,
        "-32600 with the request's id, before the request is parsed",
        By("a_request_with_too_many_values_is_rejected_before_it_is_parsed");
    /// Pending requests.
    REQUESTS_IN_FLIGHT: count usize = 1024,
        "input is not read until one is answered",
        By("the_next_request_waits_until_one_is_answered");
    /// Estimated memory of pending requests.
    REQUEST_BYTES_IN_FLIGHT: bytes usize = 32 << 20,
        "input is not read until one is answered; a larger request runs alone",
        By("a_large_request_waits_until_it_is_alone");
    /// Concurrent calls; fewer if `--max-answer-bytes` is large. A quarter of them is reserved for `read_text_file` and `text_read`.
    RUNNING_CALLS: count usize = 16,
        "further calls wait",
        By("no_more_calls_run_than_answers_have_room");
    /// Estimated memory of answers that the client has not read.
    UNREAD_ANSWER_BYTES: bytes usize = 64 << 20,
        "fewer calls run concurrently",
        By("unread_answers_take_little_memory_and_are_not_lost");
    /// Threads for calls, including calls that hang in a file system.
    CALL_THREADS: count usize = 64,
        "-32017 until one returns",
        By("hanging_calls_are_bounded_and_the_server_keeps_working");
    /// Time after which a running call no longer counts as concurrent, for half of the threads. A call that waits for a lock or for memory does not count at all.
    LONG_CALL: time Duration = Duration::from_secs(2),
        "another call may start",
        By("calls_that_hang_for_long_free_their_slots");
    /// Time after which a running call is logged and does not count in any case.
    SLOW_CALL: time Duration = Duration::from_secs(30),
        "another call may start",
        Not("takes half a minute");
    /// Memory of all calls for files, tables and listings.
    MEMORY: bytes usize = recto_store::limits::MEMORY,
        "a call that needs more is rejected with -32019; a call that needs more than is left waits",
        By("large_edits_of_large_files_run_one_at_a_time");
    /// Time that a call waits for memory while no other call gets any.
    MEMORY_WAIT: time Duration = recto_store::limits::MEMORY_WAIT,
        "-32017", By("memory_is_returned_when_the_call_ends");
    /// Time for a cancelled call to end.
    AFTER_CANCELLATION: time Duration = Duration::from_secs(2),
        "the call is abandoned",
        By("a_hanging_call_can_be_cancelled");
    /// Time for calls to finish after the end of input.
    AFTER_END_OF_INPUT: time Duration = Duration::from_secs(1),
        "the server exits; a write that is being committed is completed",
        By("a_call_in_flight_does_not_delay_the_exit_at_end_of_input");

    /// Files that one client is subscribed to.
    SUBSCRIPTIONS: count usize = 64,
        "further ones are rejected or left out", By("subscriptions_are_bounded");
    /// Files that all clients of a process are subscribed to. Each is checked once a second.
    SUBSCRIPTIONS_OF_ALL: count usize = 256,
        "further ones are rejected", Not("the same mechanism as for requests in flight");

    // HTTP.

    /// Connections over HTTP.
    HTTP_CONNECTIONS: count usize = 512,
        "the oldest one without a request is closed; if all have one, further ones wait",
        By("idle_connections_do_not_lock_out_clients");
    /// Line and headers of an HTTP request; up to twice as much may be accepted.
    HTTP_HEADER: bytes usize = 64 << 10,
        "431, and the connection is closed", By("headers_that_are_too_long_are_rejected");
    /// Time for the headers of an HTTP request, and for which a connection may be idle.
    HTTP_HEADER_TIME: time Duration = Duration::from_secs(10),
        "the connection is closed", By("half_sent_headers_end_the_connection");
    /// Body of an HTTP request.
    HTTP_BODY: bytes usize = REQUEST_LINE,
        "413", By("a_body_that_is_too_large_or_has_too_many_values_is_rejected");
    /// Time for the body of an HTTP request, and for which it waits for space.
    HTTP_BODY_TIME: time Duration = Duration::from_secs(30),
        "408, or 503 if there is no space", By("a_body_that_does_not_arrive_is_given_up");
    /// Bodies up to this size do not wait for space.
    HTTP_SMALL_BODY: bytes usize = 64 << 10,
        "the body waits until it and other large ones fit", By("large_bodies_wait_for_each_other_and_small_ones_do_not");
    /// Larger bodies of requests in flight.
    HTTP_BODIES_IN_FLIGHT: bytes usize = 64 << 20,
        "the body is not read until there is space", By("large_bodies_wait_for_each_other_and_small_ones_do_not");
    /// JSON values of HTTP requests in flight that have more than 256.
    HTTP_VALUES_IN_FLIGHT: count usize = 2 * REQUEST_VALUES,
        "the request is not parsed until there is space", Not("a unit test covers the same mechanism for bytes");
    /// HTTP requests in flight.
    HTTP_REQUESTS: count usize = 1024,
        "further ones wait, and after 30 s get 503", By("requests_in_flight_are_bounded");
    /// Time for which a client of HTTP takes nothing of an answer.
    HTTP_WRITE_TIME: time Duration = Duration::from_secs(30),
        "the connection is closed", By("a_client_that_takes_nothing_is_given_up");
    /// Answers over HTTP that clients have not taken, without those in the kernel's buffers.
    HTTP_UNREAD_BYTES: bytes usize = UNREAD_ANSWER_BYTES,
        "the connections whose answers have waited longest are closed",
        By("the_answers_that_waited_longest_are_given_up");
    /// Events of an open event stream that the client has not taken.
    HTTP_UNREAD_EVENTS: count usize = 256,
        "the stream is closed", By("unread_events_do_not_delay_a_session_and_end_the_stream");
    /// Open event streams, of GET and of `subscriptions/listen`.
    HTTP_STREAMS: count usize = 256,
        "503", By("event_streams_are_bounded");
    /// Open event streams of one token.
    HTTP_STREAMS_OF_TOKEN: count usize = HTTP_STREAMS / 2,
        "503", By("event_streams_are_bounded");
    /// Sessions over HTTP.
    HTTP_SESSIONS: count usize = 1024,
        "the longest idle one is closed; its client gets 404 and begins a new one",
        By("sessions_are_bounded_in_number_and_memory");
    /// Time for which a session that has made no call may be idle.
    HTTP_SESSION_UNUSED: time Duration = Duration::from_secs(60),
        "the session is closed", Not("tests do not wait for a minute");
    /// Time for which another session may be idle.
    HTTP_SESSION_IDLE: time Duration = Duration::from_secs(30 * 60),
        "the session is closed", Not("tests do not wait for half an hour");
    /// Time for HTTP requests to finish after SIGTERM.
    AFTER_HTTP_STOP: time Duration = Duration::from_secs(5),
        "the server exits; a write that is being committed is completed",
        Not("a call that takes longer would have to hang");

    // The review page.

    /// Connections of review pages.
    REVIEW_CONNECTIONS: count usize = 64,
        "further ones wait until one is closed", Not("the same mechanism as for HTTP");
    /// Body of a request of a review page.
    REVIEW_BODY: bytes usize = 1 << 20,
        "413", By("a_large_request_is_rejected");
    /// Time without a review page.
    REVIEW_IDLE: time Duration = Duration::from_secs(30 * 60),
        "`recto review` ends", Not("tests do not wait for half an hour");

    /// Length of an array that is given as JSON in a string.
    JSON_ARGUMENT: bytes usize = recto_tools::limits::JSON_ARGUMENT,
        "-32600: the argument must be an array",
        By("json_in_a_string_is_parsed_up_to_its_limit");

    /// Files whose last version, returned or written, a session knows.
    SEEN_FILES: count usize = recto_tools::limits::SEEN_FILES,
        "the one seen first is forgotten; `write_text_file` without `expected_hash` overwrites it",
        By("the_file_that_was_seen_first_is_forgotten_first");
    /// Returned versions that a process can tell from constructed content with the same hash.
    RETURNED_VERSIONS: count usize = recto_tools::limits::RETURNED_VERSIONS,
        "the one returned first is forgotten; only its hash is compared",
        By("the_version_that_was_returned_first_is_forgotten_first");

    // Paths.

    /// Length of a path below a root.
    PATH: bytes usize = recto_store::limits::PATH,
        "-32600", By("a_path_of_a_megabyte_is_rejected_in_time_under_deny_patterns");
    /// Symbolic links followed in one path (the kernel's limit).
    LINKS: count usize = recto_store::limits::LINKS,
        "-32003", By("at_most_forty_links_are_followed");

    /// Directory entries inspected to suggest a path for one that does not exist.
    NEARBY_ENTRIES: count u64 = recto_store::limits::NEARBY_ENTRIES,
        "the hint has fewer suggestions", By("suggestions_come_from_a_bounded_number_of_entries");
    /// Duration of that, once a thousand entries were inspected.
    NEARBY_TIME: time Duration = recto_store::limits::NEARBY_TIME,
        "the hint has fewer suggestions", Not("depends on the speed of the disk");

    // Reading.

    /// Text of an answer, and separately its structured content as JSON, unless set by `--max-answer-bytes`.
    ANSWER_BYTES: bytes usize = 40_000,
        "the answer ends after a complete line or entry and says how to continue",
        By("a_read_returns_up_to_its_limit_and_names_the_next_page");
    /// Minimum of `--max-answer-bytes`.
    LEAST_ANSWER_BYTES: bytes usize = 1 << 10,
        "recto does not start", By("the_limits_of_an_answer_size_are_checked");
    /// Maximum of `--max-answer-bytes`.
    MOST_ANSWER_BYTES: bytes usize = 16 << 20,
        "recto does not start", By("the_limits_of_an_answer_size_are_checked");
    /// Size up to which a file is read whole; larger files are read in parts.
    WHOLE_FILE: bytes u64 = recto_store::limits::WHOLE_FILE,
        "no visible difference",
        By("large_files_are_read_by_ranges_and_matches");
    /// Length of a line returned by `ReadLines`.
    LINE: bytes usize = recto_tools::limits::LINE,
        "the line is truncated and marked", By("a_line_of_twenty_mebibytes_is_truncated_and_found");
    /// Length of a line returned by `ReadLines` for several files, or around a match.
    LINE_OF_MANY: bytes usize = recto_tools::limits::LINE_OF_MANY,
        "the line is truncated and marked", By("long_lines_are_truncated_earlier_in_a_search");
    /// Lines returned for several files.
    ROWS_OF_MANY: count usize = recto_tools::limits::ROWS_OF_MANY,
        "`truncated`; the first lines are returned", By("search_results_are_bounded_and_start_with_the_first_hit");
    /// Matching lines searched for in one file.
    HITS: count usize = recto_tools::limits::HITS,
        "the first lines are returned, and `next` says where to continue", By("hits_per_file_are_limited");
    /// Length of the text or regular expression to search for.
    NEEDLE: bytes usize = recto_text::search::MAX_NEEDLE,
        "-32600", By("the_length_of_a_search_text_is_limited");
    /// Size of a compiled regular expression.
    COMPILED_REGEX: bytes usize = recto_text::search::MAX_COMPILED,
        "-32600", By("the_size_of_a_regular_expression_is_limited");
    /// Part of a line that a regular expression can match; less for a complex one.
    REGEX_LINE: bytes usize = recto_text::search::MAX_REGEX_LINE,
        "the rest of the line is not searched, and the answer says so",
        By("a_complex_regular_expression_is_matched_to_the_start_of_a_long_line");
    /// Files searched by one call.
    SEARCHED_FILES: count usize = recto_tools::limits::SEARCHED_FILES,
        "`truncated`", Not("would need 200,000 files");
    /// Duration of a search.
    SEARCH_TIME: time Duration = recto_tools::limits::SEARCH_TIME,
        "`truncated`, and the answer says that the search stopped", Not("tests do not depend on time");

    // Listing.

    /// Entries that one directory walk visits.
    WALK_ENTRIES: count u64 = recto_store::limits::WALK_ENTRIES,
        "`truncated`, and the answer says that the walk stopped", Not("would need five million files");
    /// Files that an overview counts.
    COUNTED_FILES: count usize = recto_tools::limits::COUNTED_FILES,
        "`truncated`, and the answer says how many are counted", Not("would need 200,000 files");
    /// Duration of one directory walk.
    WALK_TIME: time Duration = recto_store::limits::WALK_TIME,
        "`truncated`, and the answer says that the walk stopped", Not("tests do not depend on time");
    /// Depth of a directory walk.
    WALK_DEPTH: count usize = recto_store::limits::WALK_DEPTH,
        "deeper entries are not listed, and the answer says so",
        By("three_hundred_nested_directories_are_listed_or_reported");
    /// Paths that a directory walk keeps.
    WALK_KEPT: count usize = recto_store::limits::WALK_KEPT,
        "`truncated`", Not("would need 200,000 files");
    /// Total size of `.gitignore` rules.
    IGNORE_RULES: bytes usize = recto_store::limits::IGNORE_RULES,
        "further rules are ignored", By("many_ignore_rules_take_little_time_and_memory");

    // Patterns.

    /// Length of a glob.
    GLOB: bytes usize = recto_store::limits::GLOB,
        "-32600", By("the_length_of_a_pattern_is_limited");
    /// Alternatives that the braces of a glob expand to.
    GLOB_ALTERNATIVES: count usize = recto_store::limits::GLOB_ALTERNATIVES,
        "-32600", By("the_number_of_brace_alternatives_is_limited");
    /// Total length of these alternatives.
    GLOB_EXPANDED: bytes usize = recto_store::limits::GLOB_EXPANDED,
        "-32600", By("the_number_of_brace_alternatives_is_limited");
    /// Components of a glob.
    GLOB_PARTS: count usize = recto_store::limits::GLOB_PARTS,
        "-32600", By("the_number_of_pattern_components_is_limited");

    // Writing.

    /// Rejected edits of one call that are described.
    REJECTED_EDITS: count usize = recto_text::Error::MAX_DESCRIBED,
        "further ones are counted", By("rejected_edits_are_tried_and_counted_while_there_is_time");
    /// Time to report further rejected edits after the first.
    FAILURES_TIME: time Duration = recto_tools::limits::FAILURES_TIME,
        "later edits are not tried, and the hint says how many",
        By("rejected_edits_are_tried_and_counted_while_there_is_time");

    /// Places of one string that `replace_all` replaces.
    REPLACED_PLACES: count usize = recto_text::plan::MAX_REPLACED,
        "-32019; nothing is changed", By("a_string_with_too_many_places_is_not_replaced");

    /// Size up to which a file is edited in memory; of a larger file only the affected lines are loaded.
    WHOLE_CHANGE: bytes u64 = recto_store::limits::WHOLE_CHANGE,
        "-32019 if all of it is needed: to overwrite it, in an encoding other than UTF-8, or with CRLF and lines of megabytes",
        By("a_large_file_is_edited_without_loading_it");
    /// Distance between the strings of one call in such a file.
    EXCERPT: bytes u64 = recto_store::limits::EXCERPT,
        "-32019", By("edits_too_far_apart_need_separate_calls");
    /// Size of a file that is removed.
    REMOVED_FILE: bytes u64 = recto_store::limits::REMOVED_FILE,
        "-32019", By("a_file_larger_than_a_gibibyte_is_not_removed");
    /// Time that a write waits for the lock of the directory.
    LOCK_WAIT: time Duration = recto_store::limits::LOCK_WAIT,
        "-32017", By("a_directory_that_stays_locked_is_reported_as_busy");
    /// Length of a line in a diff, in characters.
    DIFF_LINE: count usize = recto_text::diff::MAX_LINE_CHARS,
        "an excerpt is shown, and `diff_shortened`", By("a_long_line_is_shown_as_an_excerpt_around_the_change");
    /// Size of a file left behind by a killed process that a write removes automatically.
    LEFTOVER_BYTES: bytes u64 = recto_store::limits::LEFTOVER_BYTES,
        "the file stays until it is removed by hand",
        By("a_huge_file_named_like_a_leftover_does_not_delay_a_write");
    /// Files that one call of `changes_apply` changes.
    TRANSACTION_FILES: count usize = recto_store::limits::TRANSACTION_FILES,
        "-32019; nothing is changed", By("limits_of_a_transaction_are_reported");
    /// Directories in which one call of `changes_apply` changes files.
    TRANSACTION_DIRS: count usize = recto_store::limits::TRANSACTION_DIRS,
        "-32019; nothing is changed", By("limits_of_a_transaction_are_reported");
    /// Bytes of the files that one call of `changes_apply` reads or writes.
    TRANSACTION_BYTES: bytes u64 = recto_store::limits::TRANSACTION_BYTES,
        "-32019; nothing is changed", By("limits_of_a_transaction_are_reported");

    // Git.

    /// Length of a revision's name.
    REVISION: bytes usize = recto_store::limits::REVISION,
        "-32001", By("an_invalid_revision_gets_a_helpful_error");
    /// Size of a git object, such as a file at a revision.
    GIT_OBJECT: bytes u64 = recto_store::limits::GIT_OBJECT,
        "-32019, before the object is decompressed", By("a_file_over_the_limit_is_rejected_by_its_header");
    /// Size of all pack indexes of a git repository together.
    GIT_PACK_INDEXES: bytes u64 = recto_store::limits::GIT_PACK_INDEXES,
        "the repository is treated as damaged", By("a_huge_pack_index_is_not_read");
    /// Entries that one walk of a git tree visits.
    GIT_WALK_ENTRIES: count u64 = recto_store::limits::GIT_WALK_ENTRIES,
        "`truncated`", By("an_endless_tree_is_listed_up_to_the_budget");
    /// Duration of one walk of a git tree.
    GIT_WALK_TIME: time Duration = recto_store::limits::GIT_WALK_TIME,
        "`truncated`", By("an_endless_tree_is_listed_up_to_the_budget");
    /// Duration of one call on the history of a repository.
    HISTORY_TIME: time Duration = recto_store::limits::HISTORY_TIME,
        "the list ends, with a continuation; a comparison or blame is rejected and suggests to ask for less",
        By("a_list_that_runs_out_of_time_continues_where_it_stopped");
    /// Length of a path in a git tree.
    GIT_PATH: bytes usize = recto_store::limits::GIT_PATH,
        "the repository is treated as damaged", By("a_long_history_is_walked_and_a_deep_tree_is_rejected");

    // Tables.

    /// Columns of a table.
    TABLE_COLUMNS: count usize = recto_tables::limits::COLUMNS,
        "the first columns are shown, and the answer says so", By("shows_so_many_columns_and_no_more");
    /// Characters of a value in a table; fewer if it has many columns.
    TABLE_CELL: count usize = recto_tables::limits::CELL_CHARS,
        "the value is truncated and marked", By("cuts_long_values_and_says_by_how_much");
    /// Characters of a column name.
    TABLE_NAME: count usize = recto_tables::limits::NAME_CHARS,
        "the name is truncated and marked", By("cuts_a_long_name_and_says_by_how_much");
    /// Decompressed size of a compressed file.
    TABLE_INFLATED: bytes u64 = recto_tables::limits::INFLATED,
        "the table ends there", By("a_bomb_ends_at_the_limit_in_bounded_time");
    /// Nesting depth of JSON.
    TABLE_JSON_DEPTH: count usize = recto_tables::limits::JSON_DEPTH,
        "the file is rejected", By("refuses_what_is_too_deep_or_too_large");
    /// Size of one JSON value.
    TABLE_JSON_VALUE: bytes usize = recto_tables::limits::JSON_VALUE,
        "the file is rejected", By("refuses_what_is_too_deep_or_too_large");
    /// Length of one record of CSV or other delimited text.
    TABLE_RECORD: bytes usize = recto_tables::limits::RECORD,
        "the file is rejected if this is its first record; a later record is truncated",
        By("a_record_has_a_longest_length");
    /// Size of a workbook: `.xlsx`, `.xlsb`, `.ods`.
    TABLE_WORKBOOK: bytes u64 = recto_tables::limits::WORKBOOK,
        "the file is rejected", By("a_workbook_has_a_largest_size");
    /// Size of a workbook in the old format, `.xls`.
    TABLE_XLS: bytes u64 = recto_tables::limits::XLS,
        "the file is rejected", By("a_workbook_has_a_largest_size");
    /// Size of a Parquet page, compressed or not.
    TABLE_PARQUET_PAGE: bytes u64 = recto_tables::limits::PARQUET_PAGE,
        "the file is rejected", By("what_would_end_the_process_is_refused");
    /// Entries of a Parquet dictionary.
    TABLE_PARQUET_DICTIONARY: count u64 = recto_tables::limits::PARQUET_DICTIONARY,
        "the file is rejected", By("what_would_end_the_process_is_refused");
    /// Size of a Parquet file's metadata.
    TABLE_PARQUET_METADATA: bytes u64 = recto_tables::limits::PARQUET_METADATA,
        "the file is rejected", By("what_would_end_the_process_is_refused");
    /// Columns of a Parquet file, including nested ones.
    TABLE_PARQUET_COLUMNS: count u64 = recto_tables::limits::PARQUET_COLUMNS,
        "the file is rejected", By("what_would_end_the_process_is_refused");
    /// Size of the schema of an SQLite database.
    TABLE_SQLITE_SCHEMA: bytes usize = recto_tables::limits::SQLITE_SCHEMA,
        "the file is rejected", By("a_schema_has_a_largest_size");
    /// Size of a row of an SQLite database.
    TABLE_SQLITE_ROW: bytes usize = recto_tables::limits::SQLITE_ROW,
        "the values after it are not shown, and the answer says so", By("a_long_row_is_read_in_part");

    // Editors.

    /// Size of a file that is read or written through an editor.
    EDITOR_TEXT: bytes usize = recto_store::limits::EDITOR_TEXT,
        "the file on disk is used, and the answer says so",
        By("large_files_and_bytes_stay_on_the_disk");
    /// Size of a file whose change is shown in a permission request.
    PREVIEWED_FILE: bytes u64 = recto_store::limits::PREVIEWED_FILE,
        "only the call's arguments are shown",
        By("a_permission_request_for_a_large_file_omits_its_content");
    /// Messages in a batch that the ACP relay inspects.
    BATCH_MESSAGES: count usize = crate::acp::relay::peek::MAX_BATCH,
        "the batch is passed on unchanged; so is a batch inside a batch",
        By("a_batch_of_many_messages_is_not_split");

    // The journal.

    /// Content of one file that the journal keeps.
    JOURNAL_CONTENT: bytes usize = recto_journal::keeping::MAX_CONTENT,
        "the change is listed; it can be undone unless it created or removed the file",
        Not("16 MiB are compressed and written for every case");
    /// Size of a file whose changes are undone or shown for review.
    UNDONE_FILE: bytes u64 = recto_store::limits::TRANSACTION_BYTES,
        "the undo is rejected; `recto review` names the file",
        By("a_file_that_is_too_large_to_undo_is_not_read");
    /// Time that a recorded change is kept.
    JOURNAL_AGE: time Duration = recto_journal::keeping::MAX_AGE,
        "the change is removed from the journal",
        By("old_changes_are_removed_and_later_ones_can_still_be_undone");
    /// Size of all recorded changes below one root.
    JOURNAL_ROOT_BYTES: bytes u64 = recto_journal::keeping::MAX_ROOT_BYTES,
        "the oldest are removed",
        By("old_changes_are_removed_and_later_ones_can_still_be_undone");
    /// Size of all recorded changes.
    JOURNAL_BYTES: bytes u64 = recto_journal::keeping::MAX_BYTES,
        "the oldest of the largest root are removed",
        Not("2 GiB would have to be recorded");
    /// Size of the recorded changes of a file that are read to undo one of them: it and all later ones.
    JOURNAL_UNDO_BYTES: bytes usize = recto_journal::reader::MAX_UNDO_BYTES,
        "the undo is rejected",
        By("an_undo_reads_only_the_changes_that_it_needs_up_to_a_limit");
    /// Time that a change waits for another process's record.
    JOURNAL_LOCK: time Duration = recto_journal::state_dir::LOCK_WAIT,
        "the change is made, with a note that it is not recorded",
        Not("it would make the tests slow");
}

/// Returns the number of concurrent calls whose answers fit into [`UNREAD_ANSWER_BYTES`].
pub fn running_calls(max_answer_bytes: usize) -> usize {
    /// How often an answer's text exists in memory before it is written: as text, as structured
    /// content, and as the JSON of both.
    const COPIES: usize = 4;
    (UNREAD_ANSWER_BYTES / (COPIES * max_answer_bytes)).clamp(4, RUNNING_CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_calls_run_than_answers_have_room() {
        assert_eq!(running_calls(1), RUNNING_CALLS);
        assert_eq!(running_calls(ANSWER_BYTES), RUNNING_CALLS);
        assert_eq!(running_calls(2 << 20), 8);
        assert_eq!(running_calls(MOST_ANSWER_BYTES), 4);
    }
}
