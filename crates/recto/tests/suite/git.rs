//! Files at revisions, compared with git, and hostile repositories.

mod access;
mod agrees;
mod budgets;
mod damage;
mod fixture;
mod globs;
mod hostile;
mod packs;
mod spellings;
