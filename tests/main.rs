//! The suite of `railscope`: one binary, one module a subject.

mod ingest;
