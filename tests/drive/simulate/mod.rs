//! The simulator: what its network does, against what the standards and papers say.

mod testbed;

mod conservation;
mod dcqcn;
mod flow_control;
mod gallery;
mod messages;
mod reliability;
mod routes;
mod trouble;
