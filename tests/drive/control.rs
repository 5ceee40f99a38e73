//! The control plane of the driver: bytes as real NCCL and PyTorch send them.
