//! Metrics: what reports come to, and how it is written.

// The catalogue and its page.
mod catalogue;
// However a run is cut, the same comes out.
mod cuts;
// What ports are called.
mod ports;
// What others read in the text.
mod prometheus;
