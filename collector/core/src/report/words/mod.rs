//! Sentences about findings, evidence, causes, owners and labels, and number formats. JSON, text,
//! OTLP, metrics and the screen all use these.

pub mod conflict;
pub mod evidence;
pub mod finding;
pub mod hang;
pub mod label;
pub mod name;
pub mod need;
pub mod number;
pub mod owner;
pub mod record;
pub mod setting;
pub mod straggler;
pub mod verdict;
