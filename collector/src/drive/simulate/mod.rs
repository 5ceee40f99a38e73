//! `railscope simulate`: a training job on a fabric in virtual time.
//!
//! [`scenario`] says what there is and what goes wrong.

pub mod scenario;
