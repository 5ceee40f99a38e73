//! Results as nccl-tests prints them, so that programs that read its tables can read these.
//!
//! `results` adds up what ranks measured, `text` is the table, `document` the same as JSON,
//! `number` formats numbers as C's printf does.

mod document;
mod number;
mod results;
mod text;

pub use document::{Device, Document, write_document};
pub use results::{Cell, IterationSummary, Results, Row};
pub use text::{Facts, Table};
