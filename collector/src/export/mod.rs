//! Output of reports, one module per format. They read the report, never the state it was made
//! from. Also output of frames: as a capture or as lines.

pub mod html;
pub mod json;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod packet_csv;
pub mod packet_line;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pcapng;
pub mod perfetto;
mod port_traffic;
pub mod prometheus;
#[cfg(feature = "tui")]
pub mod screen;
pub mod text;
