//! Files at revisions, compared with git, and hostile repositories.

mod access;
mod agrees;
mod bounds;
mod budgets;
mod damage;
mod disk;
mod fixture;
mod globs;
mod history;
mod hostile;
mod hostile_history;
mod nested;
mod packs;
mod spellings;
