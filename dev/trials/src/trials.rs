//! The list of trials. Each is one file: what it does to a server, and the goal.

mod crash;
mod fidelity;
mod fifo;
mod flood;
mod foreign;
mod full_disk;
mod huge_line;
mod huge_numbers;
mod huge_request;
mod journal;
mod kills;
mod load;
mod lost_updates;
mod memory;
mod power;
mod swap;
mod transactions;
mod unread;

use recto_dev::servers::Server;

use crate::cell::Cell;
use crate::{Effort, Result};

/// One trial.
pub struct Trial {
    pub name: &'static str,
    /// Its rows in the table: what is tried, and the goal.
    pub rows: &'static [(&'static str, &'static str)],
    /// Tries one server. Returns a cell for each row; if fewer, the last one applies to the rest.
    pub run: fn(Effort, &Server) -> Result<Vec<Cell>>,
}

/// All trials, in the order of the table.
pub const ALL: &[Trial] = &[
    crash::REPLACE,
    crash::CREATE,
    kills::TRIAL,
    transactions::TRIAL,
    full_disk::TRIAL,
    power::EXT4,
    power::XFS,
    journal::CALLS,
    journal::KILLS,
    journal::POWER,
    journal::DAMAGE,
    lost_updates::TRIAL,
    foreign::APPENDER,
    foreign::EDITOR,
    swap::TRIAL,
    fifo::TRIAL,
    huge_numbers::TRIAL,
    huge_line::TRIAL,
    huge_request::TRIAL,
    unread::TRIAL,
    flood::TRIAL,
    memory::TRIAL,
    fidelity::TRIAL,
    load::TRIAL,
];
