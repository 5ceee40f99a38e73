//! `railscope doctor`: is this node fit for a job?
//!
//! [`fact`] reads what a node is, from [`tree`] (sysfs, procfs and files below a root), netlink and ioctls,
//! and judges nothing. [`check`] judges facts and reads nothing. [`setting`] is what nodes of one cluster
//! should have alike, [`expect`] and [`merge`] compare it. [`report`] is the JSON contract; `export::text` has
//! the words around it.

pub mod check;
pub mod expect;
pub mod fact;
pub mod merge;
pub mod outcome;
pub mod report;
pub mod setting;
pub mod tree;
pub mod variable;
