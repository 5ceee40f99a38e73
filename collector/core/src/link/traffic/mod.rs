//! The data plane: messages that look like NCCL's, recorded as packets pass and joined into
//! transfers afterwards.

pub mod series;
pub mod record;
pub mod recorder;
mod join;
pub mod transfer;
