//! The words of the field as types: what every other layer speaks in. Depends on no other layer.

pub mod address;
pub mod benchmark;
pub mod call;
pub mod connection;
pub mod counter;
pub mod direction;
pub mod ecn;
pub mod frame;
pub mod grade;
pub mod health;
pub mod inspector;
pub mod nccl;
pub mod node;
pub mod opcode;
pub mod process;
pub mod psn;
pub mod queue_pair;
pub mod qpn;
pub mod run;
pub mod spread;
pub mod subnet;
pub mod tap;
pub mod time;
pub mod witness;
