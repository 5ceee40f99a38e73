//! Results as nccl-tests shows them, so that whatever reads its tables reads ours.
//!
//! `results` adds up what ranks measured, `text` is the table, `document` the same as JSON,
//! `number` how C's printf would write it.

mod document;
mod number;
mod results;
mod text;

pub use document::{Device, Document, write_document};
pub use results::{Cell, IterationSummary, Results, Row};
pub use text::{Facts, Table};
