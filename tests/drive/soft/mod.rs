//! RoCEv2 in user space: packets, loss, order, congestion.

// What leaves real sockets, as tcpdump and tshark see it.
mod capture;
// Adapters over real sockets.
mod sockets;
// Adapters without sockets over a simulated wire.
mod wire;
