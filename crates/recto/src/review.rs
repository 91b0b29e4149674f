//! The review page: what agents changed, hunk by hunk, to keep or undo. A web server on loopback, or one
//! file.

mod actions;
mod colours;
mod diff_html;
mod export;
mod file_html;
mod gate;
mod html;
mod model;
mod nav_html;
mod open;
mod query;
mod rows;
mod serve;
mod view;
mod words;

pub use export::{page, value};
pub use gate::Gate;
pub use model::Model;
pub use open::open;
pub use serve::Server;

/// The stylesheet of the page and of exported files.
const STYLE: &str = include_str!("review/assets/style.css");
