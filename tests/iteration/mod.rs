//! Training steps: found in made-up and recorded jobs, and labelled.

mod calls;
mod labels;
mod recorded;
mod rhythms;
