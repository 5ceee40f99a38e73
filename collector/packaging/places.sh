# Shared by the scripts beside it: folders and tools.
# Everything that they make is below target/packages, wherever cargo builds.
set -euo pipefail
packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$packaging/../.." && pwd)
out=$root/target/packages
tools=$out/tools
python=$tools/python
export PATH="$tools/bin:$python/zig/bin:$python/kubernetes/bin:$PATH"
export PYTHONPATH="$python/zig:$python/kubernetes${PYTHONPATH:+:$PYTHONPATH}"
cd "$root"
mkdir -p "$out"

release=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
# A tarball has no commit, and whoever builds from one knows its release.
commit=$(git rev-parse --short=12 HEAD 2> /dev/null || true)
version="$release${commit:+ (commit $commit)}"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || stat -c %Y Cargo.toml)
export SOURCE_DATE_EPOCH

# Two checkouts give the same bytes: no path of this machine is left in what cargo builds after this.
reproducible() {
  triple=$(rustc -vV | sed -n 's/^host: //p')
  export RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/cargo --remap-path-prefix=$root=/railscope"
  export RAILSCOPE_VERSION=$version CARGO_INCREMENTAL=0
}

need() {
  for program in "$@"; do
    command -v "$program" > /dev/null || { echo "error: $program is not installed: see collector/packaging/README.md" >&2; exit 1; }
  done
}
