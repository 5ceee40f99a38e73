//! The agent: its settings, its pages.

mod config;
mod server;
