#!/usr/bin/env bash
# Builds NCCL's profiler plugin of packages: profile `dist`, for the C libraries that training containers have, glibc
# 2.17 and later. zig links its own unwinder in, so that libgcc_s is not asked for. Prints its path.
#   plugin.sh [TARGET_FOLDER]
source "$(dirname "$0")/places.sh"
need cargo cargo-zigbuild
target=${1:-$root/target}
reproducible
cargo zigbuild --quiet --locked --profile dist --package railscope-profiler --lib \
  --target "$triple.2.17" --target-dir "$target" >&2
echo "$target/$triple/dist/libnccl_profiler_railscope.so"
