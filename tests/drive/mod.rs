//! The driver against things that nobody here wrote, and against railscope.

mod command;
mod control;
mod launch;
mod messages;
mod soft;
mod table;
