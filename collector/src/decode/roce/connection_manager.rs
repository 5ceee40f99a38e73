//! The connection manager's messages on QP1: who connects which queue pairs, with which starting
//! PSNs (IBTA volume 1, section 12.6; IP private data: annex A11).
