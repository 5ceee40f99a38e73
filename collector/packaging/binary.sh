#!/usr/bin/env bash
# Builds the binary of packages: profile `dist`, for glibc 2.31 and later. Prints its path.
#   binary.sh [TARGET_FOLDER]
source "$(dirname "$0")/places.sh"
need cargo cargo-zigbuild
target=${1:-$root/target}
reproducible
cargo zigbuild --quiet --locked --profile dist --package railscope --bin railscope \
  --target "$triple.2.31" --target-dir "$target" >&2
binary=$target/$triple/dist/railscope
newest=$(objdump -T "$binary" | sed -n 's/.*(\?GLIBC_\([0-9.]*\))\?.*/\1/p' | sort -V | tail -n 1)
[ -n "$newest" ] || { echo "error: $binary has no symbol of glibc" >&2; exit 1; }
[ "$(printf '%s\n2.31\n' "$newest" | sort -V | tail -n 1)" = 2.31 ] || {
  echo "error: $binary needs GLIBC_$newest, newer than GLIBC_2.31:" >&2
  objdump -T "$binary" | grep "GLIBC_$newest" >&2
  exit 1
}
echo "$binary: newest symbol GLIBC_$newest" >&2
echo "$binary"
