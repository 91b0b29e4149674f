//! A process that ends with the test.

use std::ops::{Deref, DerefMut};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// A child process that is killed when the value is dropped.
pub struct Running(pub Child);

impl Running {
    /// Waits for the process to end.
    pub fn wait_for(&mut self, limit: Duration) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("still running after {limit:?}");
    }

    /// Returns the peak memory use so far.
    pub fn most_resident_bytes(&self) -> usize {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If the process has exited, there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
