//! `railscope simulate`: a fabric in virtual time, and what a training job does to it.

pub mod network;
pub mod time;
