//! Management datagrams: the 24-byte common header (IBTA volume 1, section 13.4.2).
