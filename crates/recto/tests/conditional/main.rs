//! Tests that need a feature which not every machine has: root, device nodes, a FUSE mount,
//! Landlock, access lists, other file systems.
//!
//! Each test names its requirement, which is printed before the test name. If the requirement is
//! not met, the test is reported as ignored. A test with a `_long` name takes half a minute or more
//! and only runs with `--ignored`.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../support/acp_agent.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod acp_agent;
#[path = "../support/acp_editor.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod acp_editor;
#[path = "../support/client.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod client;
#[path = "../support/confinement.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod confinement;
#[path = "../suite/fidelity.rs"]
#[allow(dead_code, unused_imports, reason = "the suite uses the rest")]
mod fidelity;
#[path = "../support/running.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod running;
#[path = "../support/sandbox_fixture.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod sandbox_fixture;
#[path = "../support/server.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod server;
#[path = "../suite/landlock.rs"]
#[allow(dead_code, unused_imports, reason = "the suite uses the rest")]
mod start;
#[path = "../support/test_dir.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod test_dir;

mod devices;
mod file_systems;
mod hanging;
mod history;
mod landlock;
mod letter_case;
mod ownership;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use recto::landlock::Enforcement;

/// The requirement of a test.
#[derive(Clone, Copy)]
enum Need {
    AccessLists,
    Attributes,
    Btrfs,
    Clock,
    Devices,
    Flags,
    Fuse,
    Histories,
    Landlock,
    LandlockForNetwork,
    LandlockForSignals,
    Quota,
    Root,
    Xfs,
}

impl Need {
    /// Returns the name of the requirement, and whether it is met.
    fn probe(self) -> (&'static str, bool) {
        match self {
            Need::AccessLists => ("needs access lists", ownership::can_have_access_lists()),
            Need::Attributes => ("needs user attributes", ownership::can_have_attributes()),
            Need::Btrfs => ("needs root and mkfs.btrfs", file_systems::can_mount_btrfs()),
            Need::Clock => ("needs libfaketime", file_systems::can_fake_the_clock()),
            Need::Devices => ("needs device nodes", devices::can_be_made()),
            Need::Flags => ("needs inode flags", ownership::can_have_flags()),
            Need::Fuse => ("needs a FUSE mount", hanging::can_mount()),
            Need::Histories => ("needs git directories in RECTO_HISTORIES", history::is_given()),
            Need::Landlock => {
                let is_met =
                    !matches!(landlock::status(), Enforcement::Missing | Enforcement::Disabled);
                ("needs Landlock", is_met)
            }
            Need::LandlockForNetwork => {
                let status = landlock::status();
                let is_met =
                    matches!(status, Enforcement::Full { .. } | Enforcement::Partial { abi: 4.. });
                ("needs Landlock ABI 4", is_met)
            }
            Need::LandlockForSignals => ("needs all of Landlock", landlock::status().is_full()),
            Need::Quota => ("needs root and btrfs quotas", file_systems::can_have_a_quota()),
            Need::Root => ("needs root", rustix::process::geteuid().is_root()),
            Need::Xfs => ("needs root and mkfs.xfs", file_systems::can_mount_xfs()),
        }
    }
}

/// A requirement, the name of a test, and the test.
type Test = (Need, &'static str, fn());

macro_rules! tests {
    ($($need:ident: $module:ident::$test:ident,)*) => {
        [$((Need::$need, concat!(stringify!($module), "::", stringify!($test)), $module::$test)),*]
    };
}

const TESTS: [Test; 26] = tests![
    AccessLists: ownership::an_edit_does_not_apply_the_default_access_list_of_the_directory,
    Attributes: ownership::an_edit_keeps_attributes,
    Btrfs: file_systems::changes_on_btrfs_are_complete_and_a_full_disk_keeps_the_old_file,
    Clock: file_systems::a_clock_that_jumps_changes_no_result,
    Devices: devices::devices_are_rejected_without_blocking,
    Devices: devices::a_device_named_like_a_leftover_does_not_block_a_write,
    Flags: ownership::an_edit_reports_dropped_inode_flags,
    Flags: ownership::an_append_only_directory_keeps_no_temporary_file,
    Fuse: hanging::a_hanging_call_can_be_cancelled,
    Fuse: letter_case::denied_paths_are_hidden_under_every_spelling,
    Fuse: hanging::hanging_calls_are_bounded_and_the_server_keeps_working,
    Fuse: hanging::calls_that_hang_for_long_free_their_slots,
    Histories: history::the_history_of_real_repositories_matches_git,
    Landlock: landlock::files_outside_are_neither_read_nor_written,
    Landlock: landlock::the_steps_of_a_write_are_permitted,
    LandlockForNetwork: landlock::network_connections_are_rejected,
    LandlockForSignals: landlock::signals_to_other_processes_are_rejected,
    LandlockForSignals: landlock::serves_without_landlock_if_the_kernel_does_not_enforce_it,
    Quota: file_systems::a_write_beyond_the_quota_is_rejected_and_keeps_the_old_file,
    Root: ownership::an_edit_reports_dropped_capabilities,
    Root: ownership::a_file_of_another_owner_is_not_replaced,
    Root: ownership::an_edit_keeps_the_owner,
    Root: ownership::undo_restores_the_owner_access_list_and_attributes_of_a_removed_file,
    Root: ownership::a_directory_of_another_user_is_not_cleaned_up,
    Root: ownership::a_connection_from_another_user_is_rejected,
    Xfs: file_systems::changes_on_xfs_are_complete_and_a_full_disk_keeps_the_old_file,
];

/// The tests that take half a minute or more.
const LONG: [&str; 1] = ["hanging::calls_that_hang_for_long_free_their_slots"];

fn main() -> ExitCode {
    // The tests start this program again as their helper process.
    if acp_agent::plays_if_asked() {
        return ExitCode::SUCCESS;
    }
    if let Some(socket) = std::env::var_os(ownership::KNOCK) {
        ownership::knock(&socket);
        return ExitCode::SUCCESS;
    }
    let trial = |(need, name, test): Test| {
        let (words, is_met) = need.probe();
        let is_long = LONG.contains(&name);
        let kind = if is_long { format!("long, {words}") } else { words.into() };
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_kind(kind).with_ignored_flag(is_long || !is_met)
    };
    let trials = TESTS.into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
