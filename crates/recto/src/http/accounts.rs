//! The clients that may use the server: each token with the calls that it permits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use recto_store::sync::lock;
use recto_tools::Calls;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::token_file::TokenFile;
use super::tokens::Token;
use crate::limits::HTTP_STREAMS_OF_TOKEN;
use crate::log;

/// How often a token file is checked for changes. A change counts when it is the same at two checks,
/// because a program may write the file in several steps.
const CHECKED_EVERY: Duration = Duration::from_millis(500);

/// A token and the calls that it permits.
pub struct Account {
    /// The token.
    pub token: Token,
    /// The calls, limited to the token's access and roots.
    pub calls: Calls,
    /// The instructions for the model.
    pub instructions: Arc<str>,
    /// Cancelled when the token is removed or changed.
    pub ended: CancellationToken,
    /// The event streams that may still be opened with this token.
    pub streams: Arc<Semaphore>,
}

/// Opens what a token permits.
pub type OpenAccount = dyn Fn(&Token) -> Result<(Calls, Arc<str>), String> + Send;

/// The current accounts.
pub struct Accounts(Mutex<Arc<[Arc<Account>]>>);

impl Accounts {
    /// Opens the account of one token, which never changes.
    pub fn of_token(token: Token, open: &OpenAccount) -> Result<Arc<Accounts>, String> {
        Ok(Arc::new(Accounts(Mutex::new(opened(vec![token], &[], open)?))))
    }

    /// Opens the accounts in a token file, and starts a thread that reads the file again when it
    /// changes. The thread must be started before Landlock, which would not let it open a file that
    /// was put in the place of this one.
    pub fn of_file(file: TokenFile, open: Box<OpenAccount>) -> Result<Arc<Accounts>, String> {
        let mut known = file.fingerprint();
        let tokens = file.read()?;
        let accounts = Arc::new(Accounts(Mutex::new(opened(tokens, &[], &*open)?)));
        let watched = accounts.clone();
        let watch = move || {
            let mut last = known;
            loop {
                std::thread::sleep(CHECKED_EVERY);
                let now = file.fingerprint();
                if now == known || now != std::mem::replace(&mut last, now) {
                    continue;
                }
                known = now;
                let before = watched.current();
                match file.read().and_then(|tokens| opened(tokens, &before, &*open)) {
                    Ok(accounts) => {
                        info!(target: log::TARGET, tokens = accounts.len() as u64, "token file read");
                        *lock(&watched.0) = accounts.clone();
                        end_missing(&before, &accounts);
                    }
                    Err(error) => {
                        warn!(target: log::TARGET, "{error}; the tokens stay as they were");
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("tokens".into()).stack_size(256 << 10);
        thread.spawn(watch).map_err(|error| error.to_string())?;
        Ok(accounts)
    }

    /// Returns the accounts as they are now.
    pub fn current(&self) -> Arc<[Arc<Account>]> {
        lock(&self.0).clone()
    }

    /// Returns the account of the token that a client sent. Compares it with every token, in the
    /// same time whether or not one matches.
    pub fn find(&self, sent: &[u8]) -> Option<Arc<Account>> {
        let mut found = None;
        for account in &*self.current() {
            if account.token.secret.matches(sent) {
                found = Some(account.clone());
            }
        }
        found
    }
}

/// Opens accounts, and keeps those that have not changed, because sessions belong to them.
fn opened(
    tokens: Vec<Token>,
    before: &[Arc<Account>],
    open: &OpenAccount,
) -> Result<Arc<[Arc<Account>]>, String> {
    let account = |token: Token| {
        if let Some(same) = before.iter().find(|account| account.token == token) {
            return Ok(same.clone());
        }
        let (calls, instructions) =
            open(&token).map_err(|error| format!("token {}: {error}", token.name))?;
        let (ended, streams) = (CancellationToken::new(), Semaphore::new(HTTP_STREAMS_OF_TOKEN));
        Ok(Arc::new(Account { token, calls, instructions, ended, streams: Arc::new(streams) }))
    };
    tokens.into_iter().map(account).collect()
}

/// Ends the accounts that do not exist any more.
fn end_missing(before: &[Arc<Account>], now: &[Arc<Account>]) {
    for account in before {
        if !now.iter().any(|one| Arc::ptr_eq(one, account)) {
            account.ended.cancel();
        }
    }
}
