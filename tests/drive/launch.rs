//! `railscope drive` as a user runs it: ranks, places, tables, ends.
