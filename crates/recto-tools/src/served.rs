//! The tools that a client is offered, and the spelling of their names.

use std::borrow::Cow;
use std::sync::Arc;

use crate::tools::{self, Effect, Tool};

/// The spelling of tool names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// With underscores, as in `text_read`. Several clients pass names to model APIs that reject
    /// dots.
    #[default]
    Underscore,
    /// With dots, as in `text.read`.
    Dotted,
}

impl Names {
    /// Returns the published name of a tool.
    pub fn spell(self, tool: &Tool) -> Cow<'static, str> {
        match self {
            Names::Underscore => tool.name.into(),
            Names::Dotted => tool.dotted_name(),
        }
    }
}

/// The tools that a client is offered. Text for a model gets tool names from here, so that it names
/// only offered tools, in the client's spelling.
#[derive(Clone)]
pub struct Served {
    tools: Arc<[&'static Tool]>,
    names: Names,
}

impl Served {
    /// Offers these tools.
    pub fn new(tools: Vec<&'static Tool>, names: Names) -> Served {
        Served { tools: tools.into(), names }
    }

    /// Offers every tool under its declared name.
    pub fn all() -> Served {
        Served::new(tools::ALL.to_vec(), Names::default())
    }

    /// Offers the same tools under names spelled this way.
    pub fn spelled(&self, names: Names) -> Served {
        Served { tools: self.tools.clone(), names }
    }

    /// Offers only the tools that do not modify files.
    pub fn read_only(&self) -> Served {
        let reads = |tool: &&&'static Tool| tool.effect() == Effect::Reads;
        Served { tools: self.tools.iter().filter(reads).copied().collect(), names: self.names }
    }

    /// Returns the offered tools in the order of their listing.
    pub fn tools(&self) -> &[&'static Tool] {
        &self.tools
    }

    /// Finds an offered tool by either spelling of its name.
    pub fn find(&self, name: &str) -> Option<&'static Tool> {
        tools::find(name).filter(|found| self.tools.iter().any(|tool| tool.name == found.name))
    }

    /// Returns the published name of a tool, if it is offered.
    pub fn name(&self, tool: &str) -> Option<Cow<'static, str>> {
        self.find(tool).map(|tool| self.names.spell(tool))
    }

    /// Returns the published names of all offered tools.
    pub fn published(&self) -> impl Iterator<Item = Cow<'static, str>> {
        self.tools.iter().map(|tool| self.names.spell(tool))
    }
}
