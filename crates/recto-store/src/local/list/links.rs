//! The symbolic links that a walk lists.

use std::path::Path;

use recto_platform::FileKind;

use super::{ListWalk, WalkBudget};
use crate::LocalStore;
use crate::context::{Access, Context, Sandbox};
use crate::error::Result;
use crate::local::roots::LastLink;
use crate::path::AbsPath;
use crate::{ListRequest, Listing};

/// Which links are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedLinks {
    /// Those that lead to a file inside the roots.
    ToFiles,
    /// All, wherever they lead.
    All,
}

impl LocalStore {
    /// Lists files like [`crate::Store::list`], and every link, as git does.
    pub fn list_with_links(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        let budget = WalkBudget::whole(context);
        super::run(&self.roots, request, budget, ListedLinks::All, context)
    }
}

impl ListWalk<'_> {
    pub(super) fn is_listed_link(&self, path: &Path) -> bool {
        self.links == ListedLinks::All || self.leads_to_file(path)
    }

    fn leads_to_file(&self, path: &Path) -> bool {
        let Some(path) = self.real_path_of(path).to_str().map(str::to_string) else { return false };
        let location = AbsPath::parse(path)
            .and_then(|path| self.roots.resolve(&path, LastLink::Follow, &self.sandbox));
        location.is_ok_and(|location| {
            let is_allowed = match &self.sandbox {
                Sandbox::Unlimited => true,
                limited => limited.access(&location.real_path, |_| None) != Access::None,
            };
            is_allowed && location.kind == Some(FileKind::File)
        })
    }
}
