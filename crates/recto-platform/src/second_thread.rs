//! A thread that is kept to run a job while the caller does something else.
//!
//! Starting a thread for each job, with `std::thread::scope`, costs 0.04 ms more.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// A thread that runs one job at a time. It is started for the first one.
pub struct SecondThread {
    name: &'static str,
    jobs: OnceLock<Option<Mutex<Sender<Job<'static>>>>>,
}

impl SecondThread {
    /// Creates a thread that is not started yet.
    pub const fn new(name: &'static str) -> SecondThread {
        SecondThread { name, jobs: OnceLock::new() }
    }

    /// Runs `job` on the thread while `meanwhile` runs on this one. If the thread runs another job, or
    /// cannot be started, both run on this one, `job` first. A panic of either is passed on.
    pub fn run<R: Send, T>(
        &self,
        job: impl FnOnce() -> R + Send,
        meanwhile: impl FnOnce() -> T,
    ) -> (R, T) {
        let Some(jobs) = self.reserve() else { return (job(), meanwhile()) };
        let (sender, receiver) = channel();
        let job: Job<'_> = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(job));
            let _ = sender.send(result);
        });
        // SAFETY: only the lifetime changes. The job has ended, or was dropped, before this function
        // returns or unwinds, because `Running` waits for its sender. After the job has sent its result,
        // it uses nothing that it has borrowed.
        let job = unsafe { std::mem::transmute::<Job<'_>, Job<'static>>(job) };
        let mut running = Running { receiver, result: None };
        let _ = jobs.send(job);
        let done = meanwhile();
        running.wait();
        match running.result.take().expect("the thread runs every job") {
            Ok(result) => (result, done),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Returns the way to the thread, unless another caller has it.
    fn reserve(&self) -> Option<MutexGuard<'_, Sender<Job<'static>>>> {
        let start = || {
            let (sender, jobs) = channel::<Job<'static>>();
            let run = move || jobs.into_iter().for_each(|job| job());
            let started = std::thread::Builder::new().name(self.name.into()).spawn(run);
            started.is_ok().then(|| Mutex::new(sender))
        };
        match self.jobs.get_or_init(start).as_ref()?.try_lock() {
            Ok(jobs) => Some(jobs),
            // A panic leaves the thread as it was.
            Err(TryLockError::Poisoned(jobs)) => Some(jobs.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A job on the thread. Dropping it waits for the job.
struct Running<R> {
    receiver: Receiver<Result<R, Box<dyn Any + Send>>>,
    result: Option<Result<R, Box<dyn Any + Send>>>,
}

impl<R> Running<R> {
    fn wait(&mut self) {
        if self.result.is_none() {
            self.result = self.receiver.recv().ok();
        }
    }
}

impl<R> Drop for Running<R> {
    fn drop(&mut self) {
        self.wait();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::current;

    use super::*;

    static THREAD: SecondThread = SecondThread::new("test");

    #[test]
    fn a_job_runs_beside_the_caller_and_may_borrow() {
        let thread = SecondThread::new("second");
        for n in 0..100 {
            let text = format!("text {n}");
            // Neither side can pass without the other.
            let both = Barrier::new(2);
            let job = || {
                both.wait();
                (text.as_str(), current().name().map(String::from))
            };
            let (result, done) = thread.run(job, || {
                both.wait();
                n
            });
            assert_eq!((result, done), ((text.as_str(), Some("second".into())), n));
        }
    }

    #[test]
    fn callers_do_not_wait_for_the_jobs_of_others() {
        let n_done = AtomicUsize::new(0);
        let inner = || THREAD.run(|| current().id(), || n_done.fetch_add(1, Ordering::Relaxed)).0;
        // The thread is in use, so the inner job runs on this one.
        let (outer, id) = THREAD.run(|| current().id(), inner);
        assert_eq!(id, current().id());
        assert_ne!(outer, id);
        assert_eq!(n_done.into_inner(), 1);
    }

    #[test]
    fn a_panic_is_passed_on_after_the_job_has_ended() {
        let thread = SecondThread::new("panics");
        let mut ended = false;
        let caller = catch_unwind(AssertUnwindSafe(|| {
            let both = Barrier::new(2);
            let job = || {
                both.wait();
                std::thread::yield_now();
                ended = true;
            };
            thread.run(job, || {
                both.wait();
                panic!("of the caller");
            })
        }));
        assert!(caller.is_err() && ended);
        let job = catch_unwind(|| thread.run(|| panic!("of the job"), || ()));
        assert_eq!(job.unwrap_err().downcast_ref(), Some(&"of the job"));
        assert_eq!(thread.run(|| 1, || 2), (1, 2));
    }
}
