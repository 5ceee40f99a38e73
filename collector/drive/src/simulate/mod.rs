//! `railscope simulate`: a fabric in virtual time, and what a training job does to it.
//!
//! [`scenario`] says what there is and what goes wrong, [`plan`](mod@plan) makes a network of it. [`network`]
//! carries packets, [`job`] is what ranks do, [`control`] how they met. [`tap`] writes captures,
//! [`counters`] what NICs count, [`truth`] what truly happened. [`run`](mod@run) does all of it.

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
