//! The words of findings, evidence and stragglers, and how figures are spelt: JSON, text, OTLP and
//! the screen have them from here.

pub mod evidence;
pub mod finding;
pub mod name;
pub mod number;
pub mod setting;
pub mod straggler;
