//! TCP streams: segments in, bytes in order out, gaps marked.

pub mod sink;
