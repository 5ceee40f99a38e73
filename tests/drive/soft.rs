//! RoCEv2 in user space: packets, loss, order, congestion.
