//! The data plane: messages that look like NCCL's, kept while packets pass, and put together into
//! transfers afterwards.

pub mod series;
pub mod record;
pub mod recorder;
pub mod transfer;
