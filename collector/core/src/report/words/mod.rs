//! Sentences about findings, evidence and stragglers, and number formats. JSON, text, OTLP and the
//! screen all use these.

pub mod evidence;
pub mod finding;
pub mod name;
pub mod number;
pub mod setting;
pub mod straggler;
