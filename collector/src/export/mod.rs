//! Reports out: each way to show one is a module. They read the report, never the state behind it.
//! Frames out, too: as a capture or as lines.

pub mod json;
pub mod packet_line;
pub mod pcapng;
pub mod perfetto;
#[cfg(feature = "tui")]
pub mod screen;
pub mod text;
