//! Causes of waits: their colours and words. The fabric's causes are also hatched, so that colour is
//! not all that tells them from those of hosts.

use super::markup::{Element, Markup};
use railscope_core::report::stragglers::Cause;
use railscope_core::report::words;

/// What a part of a bar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Cause(Cause),
    /// Beyond the median, explained by nothing.
    Unexplained,
}

/// Causes in the order in which bars stack them.
const ALL: &[Cause] = &[
    Cause::Enqueue,
    Cause::Compute,
    Cause::Sender,
    Cause::Receiver,
    Cause::Congestion,
    Cause::Loss,
    Cause::Pause,
    Cause::Socket,
    Cause::Unknown,
];

impl Part {
    /// The part of a cause's name in the report.
    pub(super) fn named(name: &str) -> Self {
        let cause = ALL.iter().copied().find(|cause| cause.name() == name);
        Self::Cause(cause.unwrap_or(Cause::Unknown))
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cause(cause) => words::straggler::cause(cause).side,
            Self::Unexplained => "beyond the median, unexplained",
        }
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Cause(Cause::Enqueue) => "enqueue",
            Self::Cause(Cause::Compute) => "compute",
            Self::Cause(Cause::Sender) => "sender",
            Self::Cause(Cause::Receiver) => "receiver",
            Self::Cause(Cause::Congestion) => "congestion",
            Self::Cause(Cause::Loss) => "loss",
            Self::Cause(Cause::Pause) => "pause",
            Self::Cause(Cause::Socket) => "socket",
            Self::Cause(Cause::Unknown) => "unknown",
            Self::Unexplained => "unexplained",
        }
    }

    const fn is_of_fabric(self) -> bool {
        matches!(self, Self::Cause(Cause::Congestion | Cause::Loss | Cause::Pause | Cause::Socket))
    }

    /// `shape` in its colour.
    pub(super) fn painted(self, shape: &Element) -> Markup {
        let mut all = Markup::from(shape.clone().class(self.class()));
        if self.is_of_fabric() {
            all.push(shape.clone().class("hatch").with("fill", "url(#hatch)"));
        }
        all
    }
}

/// The pattern that [`Part::painted`] uses; once a page.
pub(super) fn patterns() -> Markup {
    let line = Element::new("path").with("d", "M-1 1 1-1M0 6 6 0M5 7 7 5");
    let pattern = Element::new("pattern")
        .with("id", "hatch")
        .with("width", 6)
        .with("height", 6)
        .with("patternUnits", "userSpaceOnUse")
        .child(line);
    let defs = Element::new("defs").child(pattern);
    let hidden = Element::new("svg").class("patterns").with("width", 0).with("height", 0);
    hidden.with("aria-hidden", "true").child(defs).into()
}

/// What the colours of `parts` mean.
pub(super) fn legend(parts: impl IntoIterator<Item = Part>) -> Markup {
    let mut parts: Vec<Part> = parts.into_iter().collect();
    parts.sort_unstable();
    parts.dedup();
    let entry = |part: &Part| {
        let square = Element::new("rect").with("width", 12).with("height", 12);
        let swatch = Element::new("svg").with("width", 12).with("height", 12);
        let swatch = swatch.with("aria-hidden", "true").child(part.painted(&square));
        Element::new("li").child(swatch).text(part.name())
    };
    if parts.is_empty() {
        return Markup::default();
    }
    Element::new("ul").class("legend").children(parts.iter().map(entry)).into()
}
