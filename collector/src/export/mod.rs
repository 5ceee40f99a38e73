//! Reports out: each way to show one is a module. They read the report, never the state behind it.

pub mod json;
pub mod packet_line;
pub mod perfetto;
pub mod text;
