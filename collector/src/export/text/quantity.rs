//! Figures with their units, as the sentences of the report write them.

pub(in crate::export) use railscope_core::report::words::number::*;
