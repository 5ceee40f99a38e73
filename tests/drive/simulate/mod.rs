//! The simulator: what its network does, against what the standards and papers say.

mod testbed;

mod messages;
