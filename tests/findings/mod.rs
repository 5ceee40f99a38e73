//! Findings: each is found where it is, with its subject and cause, and nowhere else.

// What ranks and logs say of the bootstrap and the network.
mod bootstrap;
// Exit codes, configuration, documentation.
mod command;
// What packets of the control plane show.
mod control_plane;
// NIC counters beside captures, and without them.
mod counters;
// Marks, pause, traffic classes: what the fabric does.
mod fabric;
// Recorded jobs: what is wrong with them, and that nothing is with the others.
mod recorded;
// Captures in the making.
mod scene;
// Loss, refusals, keys: what queue pairs suffer.
mod transport;
