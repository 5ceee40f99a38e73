//! The invariant CRC at the end of every RoCEv2 packet (IBTA annex A17.3.3).
