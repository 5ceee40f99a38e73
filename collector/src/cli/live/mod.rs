//! What `watch` and `demo` share: a live source read into a pipeline ([`session`]), and reports made
//! of it beside that ([`analyst`]).

pub(super) mod analyst;
pub(super) mod session;
