//! What cannot be known.
