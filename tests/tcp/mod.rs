//! TCP streams: what is delivered is what was sent.

mod follow;
mod oddities;
mod segmenter;
