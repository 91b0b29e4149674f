//! A system whose calls fail when a test says so.

use std::ffi::{CStr, OsStr};
use std::sync::atomic::{AtomicUsize, Ordering};

use recto_platform::{Handle, Linux, Status, Sys, SysError, SysResult};

/// Decides by a call's number and name what happens before it.
pub type Disturb = Box<dyn Fn(usize, &str) -> SysResult<()> + Send + Sync>;

/// A system that lacks some calls and interferes with one.
pub struct Disturbed {
    system: Linux,
    /// Calls that fail as "not supported", as on some filesystems.
    pub lacks: &'static [&'static str],
    pub n_calls: AtomicUsize,
    disturb: Disturb,
    /// The calls that, if they are writes, write only half.
    pub short_writes: Option<When>,
    pub n_short_writes: AtomicUsize,
}

/// The calls that fail.
#[derive(Debug, Clone, Copy)]
pub enum When {
    Once(usize),
    From(usize),
}

impl When {
    pub fn is_hit(self, number: usize) -> bool {
        match self {
            When::Once(n) => number == n,
            When::From(n) => number >= n,
        }
    }
}

impl Disturbed {
    pub fn new(
        disturb: impl Fn(usize, &str) -> SysResult<()> + Send + Sync + 'static,
    ) -> Disturbed {
        Disturbed {
            system: Linux::new(),
            lacks: &[],
            n_calls: AtomicUsize::new(0),
            disturb: Box::new(disturb),
            short_writes: None,
            n_short_writes: AtomicUsize::new(0),
        }
    }

    fn before(&self, name: &str) -> SysResult<usize> {
        if self.lacks.contains(&name) {
            return Err(SysError::OPNOTSUPP);
        }
        let number = self.n_calls.fetch_add(1, Ordering::SeqCst) + 1;
        (self.disturb)(number, name).map(|()| number)
    }
}

impl Sys for Disturbed {
    fn status(&self, folder: &Handle, name: &OsStr) -> SysResult<Status> {
        self.before("status")?;
        self.system.status(folder, name)
    }
    fn open(&self, folder: &Handle, name: &OsStr) -> SysResult<Handle> {
        self.before("open")?;
        self.system.open(folder, name)
    }
    fn lease(&self, file: &Handle) -> SysResult<()> {
        self.before("lease")?;
        self.system.lease(file)
    }
    fn is_leased(&self, file: &Handle) -> bool {
        self.system.is_leased(file)
    }
    fn end_lease(&self, file: &Handle) -> SysResult<()> {
        self.before("end_lease")?;
        self.system.end_lease(file)
    }
    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        self.before("read_at")?;
        self.system.read_at(file, buffer, offset)
    }
    fn open_nameless(&self, folder: &Handle) -> SysResult<Handle> {
        self.before("open_nameless")?;
        self.system.open_nameless(folder)
    }
    fn create(&self, folder: &Handle, name: &OsStr, mode: u32) -> SysResult<Handle> {
        self.before("create")?;
        self.system.create(folder, name, mode)
    }
    fn open_append(&self, folder: &Handle, name: &OsStr) -> SysResult<Handle> {
        self.before("open_append")?;
        self.system.open_append(folder, name)
    }
    fn write(&self, file: &Handle, bytes: &[u8]) -> SysResult<usize> {
        let number = self.before("write")?;
        if self.short_writes.is_none_or(|when| !when.is_hit(number)) {
            return self.system.write(file, bytes);
        }
        self.n_short_writes.fetch_add(1, Ordering::SeqCst);
        self.system.write(file, &bytes[..bytes.len().div_ceil(2)])
    }
    fn set_owner(&self, file: &Handle, owner: u32, group: u32) -> SysResult<()> {
        self.before("set_owner")?;
        self.system.set_owner(file, owner, group)
    }
    fn set_mode(&self, file: &Handle, mode: u32) -> SysResult<()> {
        self.before("set_mode")?;
        self.system.set_mode(file, mode)
    }
    fn set_attribute(&self, file: &Handle, name: &CStr, value: &[u8]) -> SysResult<()> {
        self.before("set_attribute")?;
        self.system.set_attribute(file, name, value)
    }
    fn sync(&self, file: &Handle) -> SysResult<()> {
        self.before("sync")?;
        self.system.sync(file)
    }
    fn link(&self, file: &Handle, folder: &Handle, name: &OsStr) -> SysResult<()> {
        self.before("link")?;
        self.system.link(file, folder, name)
    }
    fn symlink(&self, target: &OsStr, folder: &Handle, name: &OsStr) -> SysResult<()> {
        self.before("symlink")?;
        self.system.symlink(target, folder, name)
    }
    fn exchange(&self, folder: &Handle, one: &OsStr, other: &OsStr) -> SysResult<()> {
        self.before("exchange")?;
        self.system.exchange(folder, one, other)
    }
    fn rename(&self, folder: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()> {
        self.before("rename")?;
        self.system.rename(folder, from, to)
    }
    fn rename_new(&self, folder: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()> {
        self.before("rename_new")?;
        self.system.rename_new(folder, from, to)
    }
    fn move_new(
        &self,
        folder: &Handle,
        from: &OsStr,
        to_folder: &Handle,
        to: &OsStr,
    ) -> SysResult<()> {
        self.before("move_new")?;
        self.system.move_new(folder, from, to_folder, to)
    }
    fn unlink(&self, folder: &Handle, name: &OsStr) -> SysResult<()> {
        self.before("unlink")?;
        self.system.unlink(folder, name)
    }
}
