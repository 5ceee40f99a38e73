//! Packet sockets (packet(7)): what captures and pause frames need of them.

mod sys;

pub(crate) use sys::{bind, check, keep_only, open, set_option};
