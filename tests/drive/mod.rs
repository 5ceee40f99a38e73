//! The driver against things that nobody here wrote, and against railscope.

mod control;
mod launch;
mod messages;
mod soft;
mod store;
mod wire;
