//! The driver against independent implementations, and against railscope.

mod command;
mod control;
mod job;
mod launch;
mod memory_net;
mod messages;
mod networks;
mod oob;
mod pause;
mod profiler;
mod simulate;
mod sockets;
mod soft;
mod store;
mod sums;
mod table;
mod wire;
