//! What an agent may do, and of what somebody is asked first.
//!
//! An authority is a stack of layers: one for each agent from the lead down, and
//! whatever narrows it. Of each wish every layer is asked, and the strictest
//! verdict counts. A child has the layers of its owner and its own on top, so it
//! can never have more than its owner, whatever its own layer says.

mod layer;
mod line;
mod wish;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::layer::{BadRule, Layer, Mode, Rule, Verdict};
pub use self::line::Line;
pub use self::wish::{Deed, NamedPaths, Wish};

/// What an agent may do. Without layers it may do everything that its tools can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    /// From the lead's down to its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    layers: Vec<Layer>,
    /// Who is asked.
    #[serde(default)]
    asks: Asks,
}

/// Who is asked for leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// The agent that sent it off, which can give leave only for what it may do
    /// unasked itself. Where nobody has, a person.
    Owner,
    /// A person.
    #[default]
    Person,
    /// Nobody: what would have to be asked for is denied.
    Nobody,
}

impl Authority {
    /// What one may do that has this layer alone.
    pub fn of(layer: Layer) -> Self {
        Self::default().under(layer)
    }

    /// With somebody else to be asked. It is for whoever begins a tree to say; a
    /// child goes by [`Authority::under`].
    #[must_use]
    pub fn asking(mut self, asks: Asks) -> Self {
        self.asks = asks;
        self
    }

    /// The same under one more layer: never wider. A layer that is there already
    /// changes nothing and is not kept twice.
    #[must_use]
    pub fn under(mut self, layer: Layer) -> Self {
        if layer != Layer::default() && !self.layers.contains(&layer) {
            self.layers.push(layer);
        }
        self
    }

    /// The same for a child that has somebody else to be asked. If its owner has
    /// nobody, neither has it.
    #[must_use]
    pub fn asked_of(mut self, asks: Asks) -> Self {
        if self.asks != Asks::Nobody {
            self.asks = asks;
        }
        self
    }

    /// Who is asked.
    pub fn asks(&self) -> Asks {
        self.asks
    }

    /// Its layers, from the lead's down to its own.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How freely it acts: the strictest of its layers says.
    pub fn mode(&self) -> Mode {
        self.layers.iter().map(|layer| layer.mode).min().unwrap_or(Mode::Auto)
    }

    /// Whether a tool is offered at all.
    pub fn offers(&self, tool: &str) -> bool {
        self.layers.iter().all(|layer| layer.offers(tool))
    }

    /// What is said of a wish.
    pub fn judge(&self, wish: &Wish) -> Verdict {
        let strictest = self.layers.iter().map(|layer| layer.judge(wish)).max();
        let verdict = strictest.unwrap_or(Verdict::Allow);
        match &wish.guarded {
            Some(_) => verdict.max(Verdict::Ask),
            None => verdict,
        }
    }

    /// The first rule that a wish may break by way of a command that its line does not
    /// name: a program in the line may run it.
    pub fn possibly_broken(&self, wish: &Wish) -> Option<&Rule> {
        self.layers.iter().find_map(|layer| layer.possibly_broken(wish))
    }
}
