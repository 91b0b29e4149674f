//! Compares recto with other servers: the same work, in turns, so that noise affects all of them. A
//! server that is not installed is a column of dashes, and a wrong answer counts as a failure and
//! has no time.

mod calls;
mod material;
mod results;
mod session;
mod work;
mod yardsticks;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use recto_dev::client::Client;
use recto_dev::servers::Server;

use material::{Material, N_NEXT};
use results::{Measurements, N_COLUMNS, N_SERVERS, Row, Sizes};
use session::Session;
use work::{N_LINES, Work};
use yardsticks::Yardstick;

use crate::files::{MB, settle, text};
use crate::goals::{self, Goal};
use crate::rounds::Sample;
use crate::{Result, machine};

/// Rounds before the first that counts.
const N_WARM_UP: usize = 2;

/// The version of mcp-text-editor that is measured.
const TEXT_EDITOR: &str = "1.0.2";

/// Creates the files, measures, and prints the tables.
pub fn run(recto: &Path, beside: Option<PathBuf>, is_quick: bool) -> Result<()> {
    let material = Material::create()?;
    println!("{}\n", machine::describe(&material.root)?);
    let mut peers = Peers::start(recto, beside, &material, is_quick)?;
    settle();
    let mut rows = vec![peers.starts()?];
    rows.extend(peers.reads()?);
    rows.extend(peers.pages()?);
    rows.extend(peers.changes()?);
    rows.push(peers.list()?);
    let sizes = peers.sizes()?;
    results::print(&peers.servers, &rows, &sizes);
    peers.stop()?;
    material.remove()
}

/// The installed servers, and their results so far.
struct Peers<'a> {
    material: &'a Material,
    servers: [Server; N_SERVERS],
    /// One session for all rows that do not need a fresh one.
    sessions: Vec<Option<Session>>,
    /// In MB.
    peaks: [f64; N_SERVERS],
    echo: Client,
    is_quick: bool,
}

/// What to measure in a row.
struct Plan {
    what: &'static str,
    goal: Goal,
    n_rounds: usize,
    yardstick: Yardstick,
}

impl<'a> Peers<'a> {
    fn start(
        recto: &Path,
        beside: Option<PathBuf>,
        material: &'a Material,
        is_quick: bool,
    ) -> Result<Peers<'a>> {
        let mut servers = Server::all(recto, TEXT_EDITOR);
        if let Some(beside) = beside {
            servers[1] = Server::recto("the other recto", &beside);
        }
        for server in servers.iter().filter(|server| !server.is_installed()) {
            eprintln!("{} is not installed; dev/support/install-peers does that", server.name);
        }
        let echo = Client::start(&mut Command::new("cat"))?;
        let mut peers = Peers {
            material,
            servers,
            sessions: Vec::new(),
            peaks: Default::default(),
            echo,
            is_quick,
        };
        for index in 0..N_SERVERS {
            let session = peers.open(index)?.map(|(session, _)| session);
            peers.sessions.push(session);
        }
        Ok(peers)
    }

    fn stop(self) -> Result<()> {
        self.sessions.into_iter().flatten().try_for_each(Session::close)?;
        self.echo.stop()
    }

    /// Opens another session with a server, if it is installed.
    fn open(&self, index: usize) -> Result<Option<(Session, Sample)>> {
        let server = &self.servers[index];
        if !server.is_installed() {
            return Ok(None);
        }
        let opened = Session::open(server, &self.material.root);
        opened.map(Some).map_err(|error| format!("{}: {error}", server.name).into())
    }

    /// Returns how long one contender may take for one row.
    fn budget(&self) -> Duration {
        Duration::from_secs(if self.is_quick { 1 } else { 5 })
    }

    fn n_rounds(&self, n_rounds: usize) -> usize {
        if self.is_quick { n_rounds.div_ceil(10) } else { n_rounds }
    }

    /// Measures a row: in each round, every contender that has not failed and has time left.
    fn measure(
        &mut self,
        plan: Plan,
        mut one: impl FnMut(&mut Peers<'a>, usize, usize) -> Result<Sample>,
    ) -> Result<Row> {
        eprintln!("{}", plan.what);
        let mut cells = self.cells();
        for round in 0..N_WARM_UP + self.n_rounds(plan.n_rounds) {
            for (column, cell) in cells.iter_mut().enumerate() {
                let Some(cell) = cell else { continue };
                if cell.failure.is_some() || cell.spent > self.budget() {
                    continue;
                }
                let sample = match column == N_SERVERS {
                    true => plan.yardstick.measure(&self.material.root, &mut self.echo, round),
                    false => one(self, column, round),
                };
                cell.add(sample, round < N_WARM_UP);
            }
        }
        self.note_peaks()?;
        Ok(Row { what: plan.what, goal: plan.goal, yardstick: plan.yardstick.name(), cells })
    }

    fn cells(&self) -> [Option<Measurements>; N_COLUMNS] {
        std::array::from_fn(|column| {
            let server = self.servers.get(column);
            server.is_none_or(Server::is_installed).then(Measurements::default)
        })
    }

    /// Does work in the long-lived session; restarts a server that has ended.
    fn work(&mut self, index: usize, work: &Work<'_>) -> Result<Sample> {
        let session = self.sessions[index].as_mut().ok_or("it is not running")?;
        let result = session.work(work);
        if result.is_err() && session.tools().is_err() {
            self.sessions[index] = self.open(index)?.map(|(session, _)| session);
        }
        result
    }

    fn note_peaks(&mut self) -> Result<()> {
        for (peak, session) in self.peaks.iter_mut().zip(&self.sessions) {
            if let Some(session) = session {
                *peak = session.megabytes("VmHWM")?.max(*peak);
            }
        }
        Ok(())
    }

    fn starts(&mut self) -> Result<Row> {
        let plan = Plan {
            what: "start to initialize",
            goal: goals::START,
            n_rounds: 50,
            yardstick: Yardstick::Start,
        };
        self.measure(plan, |peers, index, _| {
            let (session, sample) = peers.open(index)?.ok_or("it is not installed")?;
            session.close()?;
            Ok(sample)
        })
    }

    fn reads(&mut self) -> Result<[Row; 2]> {
        let material = self.material;
        let small = Plan {
            what: "read 2 KB",
            goal: goals::READ_2_KB,
            n_rounds: 500,
            yardstick: Yardstick::Echo,
        };
        let path = material.root.join("2kb.txt");
        let small = self.measure(small, |peers, index, _| {
            peers.work(index, &Work::Read { path: &path, content: &material.small })
        })?;
        let large = Plan {
            what: "read 1 MB",
            goal: goals::READ_1_MB,
            n_rounds: 100,
            yardstick: Yardstick::Program(&["cat", "1mb.txt"]),
        };
        let path = material.root.join("1mb.txt");
        let large = self.measure(large, |peers, index, _| {
            peers.work(index, &Work::Read { path: &path, content: &material.large })
        })?;
        Ok([small, large])
    }

    /// Reads pages of the log, the first one in a fresh process without caches.
    fn pages(&mut self) -> Result<[Row; 4]> {
        let material = self.material;
        let path = material.root.join("log.txt");
        let page = |index: usize| Work::Page {
            path: &path,
            first: material.first + index * N_LINES,
            lines: &material.pages[index * N_LINES..(index + 1) * N_LINES],
        };
        let last = |_: usize| Work::Last {
            path: &path,
            n_lines_of_file: material.n_lines_of_log,
            lines: &material.last,
        };
        let count = Yardstick::Program(&["wc", "-l", "log.txt"]);
        let tail = Yardstick::Program(&["tail", "-n", "20", "log.txt"]);
        let [first, next] = self.first_and_next(
            ["20 lines at 90 % of 512 MB, first", "the same, next"],
            count,
            page,
        )?;
        let [last_first, last_next] =
            self.first_and_next(["last 20 lines of 512 MB, first", "the same, again"], tail, last)?;
        Ok([first, next, last_first, last_next])
    }

    fn first_and_next<'w>(
        &mut self,
        what: [&'static str; 2],
        yardstick: Yardstick,
        work: impl Fn(usize) -> Work<'w>,
    ) -> Result<[Row; 2]> {
        eprintln!("{}", what[0]);
        let (mut firsts, mut nexts) = (self.cells(), self.cells());
        for round in 0..self.n_rounds(10).max(2) {
            for index in 0..N_SERVERS {
                let (Some(first), Some(next)) = (&mut firsts[index], &mut nexts[index]) else {
                    continue;
                };
                if first.failure.is_some() || first.spent + next.spent > self.budget() {
                    continue;
                }
                let (mut session, _) = self.open(index)?.ok_or("it is not installed")?;
                first.add(session.work(&work(0)), false);
                for index in 1..=N_NEXT {
                    if first.failure.is_none() && next.failure.is_none() {
                        next.add(session.work(&work(index)), false);
                    }
                    // One measurement is enough if it is slow.
                    if next.spent > self.budget() / 10 {
                        break;
                    }
                }
                if first.failure.is_some() {
                    next.failure = first.failure.clone();
                }
                // A server that has ended has no peak.
                let peak = session.megabytes("VmHWM").unwrap_or(0.0);
                self.peaks[index] = peak.max(self.peaks[index]);
                session.close()?;
            }
            if let Some(cell) = &mut firsts[N_SERVERS] {
                let sample = yardstick.measure(&self.material.root, &mut self.echo, round);
                cell.add(sample, false);
            }
            if let Some(cell) = &mut nexts[N_SERVERS] {
                for _ in 0..N_NEXT {
                    let echo = Yardstick::Echo;
                    cell.add(echo.measure(&self.material.root, &mut self.echo, round), false);
                }
            }
        }
        let row = |what, goal, yardstick: Yardstick, cells| Row {
            what,
            goal,
            yardstick: yardstick.name(),
            cells,
        };
        let first = row(what[0], goals::FIRST_PAGE, yardstick, firsts);
        let next = row(what[1], goals::NEXT_PAGE, Yardstick::Echo, nexts);
        Ok([first, next])
    }

    fn changes(&mut self) -> Result<[Row; 3]> {
        let root = &self.material.root;
        let path = |what: &str, index: usize| root.join(format!("{what}-{index}.txt"));
        let plan = |what, goal| Plan { what, goal, n_rounds: 50, yardstick: Yardstick::Sync };
        let write = plan("write 1 MB, new content, durable", goals::WRITE_1_MB);
        let write = self.measure(write, |peers, index, round| {
            let content = text(1000 + round as u64, MB);
            let path = path("written", index);
            peers.work(index, &Work::Write { path: &path, content: &content })
        })?;
        let mut edit = |what, goal, name, n_edits| {
            self.measure(plan(what, goal), |peers, index, round| {
                let (edits, after) = peers.material.edits(n_edits, round);
                let path = path(name, index);
                peers.work(index, &Work::Edit { path: &path, edits: &edits, after: &after })
            })
        };
        let one = edit("1 edit in 1 MB", goals::EDIT_1_MB, "1-edit", 1)?;
        let many = edit("100 edits in 1 MB", goals::EDITS_IN_1_MB, "100-edits", 100)?;
        Ok([write, one, many])
    }

    fn list(&mut self) -> Result<Row> {
        let plan = Plan {
            what: "list `**/*.rs` among 20,000 files",
            goal: goals::LIST_20_000,
            n_rounds: 50,
            yardstick: Yardstick::Fd,
        };
        let material = self.material;
        let folder = material.root.join("tree");
        self.measure(plan, |peers, index, _| {
            peers.work(index, &Work::List { folder: &folder, paths: &material.paths })
        })
    }

    fn sizes(&mut self) -> Result<Vec<Option<Sizes>>> {
        self.note_peaks()?;
        let mut sizes = Vec::new();
        for index in 0..N_SERVERS {
            let Some((mut session, _)) = self.open(index)? else {
                sizes.push(None);
                continue;
            };
            // Some servers still load something after their first answer.
            std::thread::sleep(Duration::from_millis(500));
            let idle = session.megabytes("VmRSS")?;
            let n_characters = session.tools()?.to_string().chars().count();
            sizes.push(Some(Sizes { idle, peak: self.peaks[index], n_characters }));
            session.close()?;
        }
        Ok(sizes)
    }
}
