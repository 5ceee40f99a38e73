//! Reports out: each way to show one is a module. They read the report, never the state behind it.

pub mod json;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod packet_line;
pub mod perfetto;
pub mod prometheus;
pub mod text;
