//! `railscope simulate`: a training job on a fabric in virtual time.
//!
//! [`scenario`] describes fabric, jobs and faults, [`plan`](mod@plan) makes a network of it.
//! [`network`] carries packets, [`job`] runs the ranks, [`control`] is how they met. [`tap`] writes
//! captures, [`counters`] the NIC counters, [`truth`] what truly happened. [`run`](mod@run) runs
//! all of it.

pub mod control;
pub mod counters;
pub mod epoch;
pub mod job;
pub mod network;
pub mod plan;
pub mod run;
pub mod scenario;
pub mod tap;
pub mod time;
pub mod truth;
