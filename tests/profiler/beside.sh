#!/usr/bin/env bash
# Builds NCCL's own profiler plugins, Inspector and the example, and plays the calls of a short job with each of them
# behind ours: which version it is called with, what it asks for, what it writes. Prints a table (beside.md).
#
#   beside.sh NCCL CUDA PLUGIN
#
# NCCL is a checkout of its sources, 2.28 or later; nothing of it is kept. CUDA has `include` and `lib`, as the folder
# `nvidia/cu13` of the wheels nvidia-cuda-runtime and nvidia-cuda-crt. No GPU is needed: Inspector asks for the number
# and the name of its GPU only, which a library made here answers.
# PLUGIN is libnccl-profiler-railscope.so. It is run by hand.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
nccl=$(realpath "$1") cuda=$(realpath "$2") plugin=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Up to 2.28 they are in a folder of another name.
plugins=$nccl/plugins/profiler
[ -d "$plugins" ] || plugins=$nccl/ext-profiler
# Inspector's makefile writes its version.
echo 'extern "C" const char *get_git_version_info() { return "standalone-build"; }' > "$work/version.cc"
cat > "$work/cuda.c" << 'CODE'
#include <string.h>
int cudaGetDevice(int *device) { return *device = 0; }
const char *cudaGetErrorString(int error) { return error ? "error" : "no error"; }
int cuGetErrorString(int error, const char **text) { *text = cudaGetErrorString(error); return 0; }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDeviceGetUuid(char *uuid, int device) { memset(uuid, device, 16); return 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { return cuDeviceGetUuid(uuid, device); }
CODE
cc -O1 -fPIC -shared -Wl,-soname,libcuda.so.1 -o "$work/libcuda.so.1" "$work/cuda.c"
for name in inspector example; do
  more=("$cuda"/lib/libcudart.so.*)
  [ "$name" = example ] || more=("$work/version.cc" "$work/libcuda.so.1")
  g++ -std=c++17 -O2 -w -fPIC -shared -I"$cuda/include" -I"$plugins/$name" -I"$plugins/$name/nccl" \
    -o "$work/$name.so" "$plugins/$name"/*.cc "${more[@]}" -Wl,-rpath,"$work:$cuda/lib" -ldl -lpthread
done
cc -O1 -o "$work/host" "$here/../../collector/profiler/tests/host/host.c" -ldl

# The example takes gigabytes for its events, where it gets them.
small=()
for pool in GROUP_API COLL_API P2P_API KERNEL_LAUNCH GROUP COLL P2P PROXY_CTRL PROXY_DETACH; do
  small+=("NCCL_PROFILE_${pool}_POOL_SIZE=8")
done

# What the second plugin wrote, in a line.
written() {
  local folder=$1 text
  text=$(cat "$folder"/inspector/* 2> /dev/null | grep -o '"coll_perf":{[^}]*"coll_busbw_gbs":[^,}]*' | head -n 1 || true)
  [ -z "$text" ] || { echo "\`$text\`"; return; }
  text=$(cat "$folder"/example* 2> /dev/null | grep -o '"name": "[^"]*"' | cut -d '"' -f 4 | sort | uniq -c \
    | awk '{count = $1; $1 = ""; printf "%s%s%s", (NR > 1 ? ", " : ""), count, $0}' || true)
  echo "${text:-nothing}"
}

echo "| plugin | its versions | NCCL's | called with | mask of both | files of ours | what it wrote |"
echo "|---|---|---|---|---|--:|---|"
for name in inspector example; do
  has=$(nm --dynamic --defined-only "$work/$name.so" | sed -n 's/.* ncclProfiler_\(v[0-9]\)$/\1/p' | paste -sd ' ')
  for version in 5 6 7; do
    folder=$work/$name-$version
    mkdir -p "$folder"/{files,inspector}
    shown=$(env LD_LIBRARY_PATH="$work" RAILSCOPE_PROFILER_NEXT="$work/$name.so" RAILSCOPE_PROFILER_DIR="$folder/files" \
      RAILSCOPE_PROFILER_SHM="$folder" NCCL_INSPECTOR_ENABLE=1 NCCL_INSPECTOR_DUMP_DIR="$folder/inspector" \
      NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=1000 NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0 \
      "${small[@]}" NCCL_PROFILE_EVENT_MASK=95 NCCL_PROFILE_DUMP_FILE="$folder/example" "$work/host" "$plugin" "$version" 5 2>&1) || shown="failed: $shown"
    echo "| $name | $has | v$version | $(sed -n 's/.*(version \([0-9]\)).*/v\1/p' <<< "$shown" | head -n 1)" \
      "| $(sed -n 's/^version [0-9], mask //p' <<< "$shown") | $(ls "$folder/files" | wc -l) | $(written "$folder") |"
    grep -q '^failed' <<< "$shown" && echo "$shown" >&2
  done
done
