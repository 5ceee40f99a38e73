//! TCP streams: the delivered bytes are those sent.

mod follow;
mod oddities;
mod segmenter;
