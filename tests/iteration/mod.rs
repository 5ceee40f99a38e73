//! Training steps: found again in made-up jobs and in recorded ones.

mod calls;
mod recorded;
mod rhythms;
