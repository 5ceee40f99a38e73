//! Which way the messages of a link go, seen from here.

/// Which way messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Out,
    In,
}
