//! `railscope doctor` on trees of files as nodes have them, and on nodes side by side.

mod compare;
mod healthy;
mod host;
mod judge;
mod node;
mod tree;
