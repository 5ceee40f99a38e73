//! The simulator's network, against the standards and papers.

mod testbed;

mod conservation;
mod dcqcn;
mod flow_control;
mod gallery;
mod messages;
mod reliability;
mod routes;
mod trouble;
