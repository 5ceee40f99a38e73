//! NIC counters: the meaning of their names, and files that hold them.

pub mod line;
pub mod measure;
pub mod reading;

mod names;
