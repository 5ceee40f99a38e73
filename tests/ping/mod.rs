//! `railscope doctor ping`: made matrices are judged rightly, and real hosts measure each other.

mod hosts;
mod judgement;
mod options;
