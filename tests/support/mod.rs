//! What several subjects of the suite need.

pub(crate) mod capture_file;
pub(crate) mod tool;
