//! Training steps: found again in made-up jobs and in recorded ones, and labelled.

mod calls;
mod labels;
mod recorded;
mod rhythms;
