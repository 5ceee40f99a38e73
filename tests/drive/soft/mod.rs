//! RoCEv2 in user space: packets, loss, order, congestion.

mod capture;
mod sockets;
mod wire;
