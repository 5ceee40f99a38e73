//! Uids of the boards, which are also the names of their files.

pub(super) const FABRIC: &str = "railscope-fabric";
pub(super) const JOB: &str = "railscope-job";
pub(super) const RAILS: &str = "railscope-rails";
pub(super) const HOST: &str = "railscope-host";
pub(super) const HANG: &str = "railscope-hang";
pub(super) const AGENTS: &str = "railscope-agents";
