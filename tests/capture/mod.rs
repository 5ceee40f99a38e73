//! `railscope capture`: frames on the wire in, files that Wireshark opens out.

mod job;
mod plain;
mod ring;
mod run;
mod triggers;
mod wireshark;
mod wrong;
