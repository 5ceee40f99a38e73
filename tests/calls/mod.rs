//! Calls of NCCL and libibverbs, and TCP connections, as the kernel programs report them. Needs
//! root.

mod arguments;
mod connections;
mod flood;
mod names;
mod places;
mod ranks;
mod agent;
mod real;
mod stage;
