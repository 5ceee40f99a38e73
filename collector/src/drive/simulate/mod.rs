//! `railscope simulate`: a fabric in virtual time, and what a training job does to it.
//!
//! [`scenario`] says what there is and what goes wrong, [`network`] carries packets.

pub mod network;
pub mod scenario;
pub mod time;
