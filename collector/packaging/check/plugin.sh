#!/usr/bin/env bash
# Checks that jobs can load the profiler plugin: what it offers to NCCL, and what it asks of a training container.
#   plugin.sh LIBRARY
source "$(dirname "$0")/../places.sh"
need nm objdump readelf
library=$1
fail() { echo "error: $library $*" >&2; exit 1; }

# Seven structures of 48 bytes, read-only data, and nothing else: another symbol could take the place of one of the job's.
wanted=$(printf '30 D ncclProfiler_v%d\n' 1 2 3 4 5 6 7)
offered=$(nm --dynamic --defined-only --print-size "$library" | sed 's/^[0-9a-f]* 0*//' | LC_ALL=C sort -k 3)
[ "$offered" = "$wanted" ] || fail "exports other than ncclProfiler_v1 to v7:"$'\n'"$offered"

# The C library alone. Before glibc 2.34, threads and the dynamic linker are files of their own.
asked=$(readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
other=$(grep -Evx 'libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux[-a-z0-9_]*\.so\.[0-9]' <<< "$asked" || true)
[ -z "$other" ] || fail "needs $other"

newest=$(objdump -T "$library" | sed -n 's/.*(\?GLIBC_\([0-9.]*\))\?.*/\1/p' | sort -V | tail -n 1)
[ -n "$newest" ] || fail "has no symbol of glibc"
[ "$(printf '%s\n2.17\n' "$newest" | sort -V | tail -n 1)" = 2.17 ] || {
  objdump -T "$library" | grep "GLIBC_$newest" >&2
  fail "needs GLIBC_$newest, newer than GLIBC_2.17"
}
# Versions of other libraries, such as GCC_3.0 of libgcc_s.
foreign=$(objdump -T "$library" | grep -o '([A-Z][A-Z_]*[0-9][0-9.]*)' | grep -v '(GLIBC_' || true)
[ -z "$foreign" ] || fail "needs $foreign"
echo "plugin: ncclProfiler_v1 to v7, newest symbol GLIBC_$newest, $(stat -c %s "$library") bytes"
