//! `railscope.truth/1`: what a job truly did, as JSON lines.
//!
//! Each line is one [`Record`], the first is the job. Times are nanoseconds since 1970 of
//! `CLOCK_REALTIME`, the clock of captures. Ranks write their own records; a file contains those of
//! all ranks or of one.

mod record;

pub use record::{
    Adapter, Call, Collective, Compute, Expected, FaultRecord, Injected, Iteration, Job, Link,
    LinkRole, Part, Pause, PortRecord, Rank, Record, RingStep, SCHEMA,
};
