//! The control plane: what TCP streams say about communicators before data flows.

pub mod facts;
pub mod store;
