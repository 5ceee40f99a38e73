//! What follows from times.
