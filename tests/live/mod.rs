//! Live sources against what captures of the same traffic give.

mod runs;
