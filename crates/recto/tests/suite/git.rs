//! Files at revisions, compared with what git itself says, and repositories that mean harm.

mod access;
mod agrees;
mod budgets;
mod damage;
mod fixture;
mod globs;
mod hostile;
mod packs;
mod spellings;
