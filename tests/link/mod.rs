//! What traffic is linked to, against jobs whose ranks, processes and connections are known.

// The control plane of real jobs.
mod control;
// The control plane of jobs that nobody captured, and what is none.
mod dialects;
