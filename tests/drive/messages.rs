//! Messages and sums of collectives: the rules of NCCL and real captures of it.
