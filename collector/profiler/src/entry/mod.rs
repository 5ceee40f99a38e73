//! The symbols that NCCL looks for, one for each version of the interface.

mod sys;

pub use sys::{
    Table, ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4, ncclProfiler_v5,
    ncclProfiler_v6, ncclProfiler_v7,
};
