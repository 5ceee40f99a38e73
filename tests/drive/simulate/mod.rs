//! The simulator: what its network does, against what the standards and papers say.

mod testbed;

mod conservation;
mod dcqcn;
mod flow_control;
mod fluid;
mod gallery;
mod messages;
mod picture;
mod reliability;
mod routes;
mod trouble;
