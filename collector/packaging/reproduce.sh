#!/usr/bin/env bash
# Builds the last commit twice, in folders with different names, and compares packages byte by byte.
source "$(dirname "$0")/places.sh"
need git cmp sha256sum
work=$out/twice
rm -rf "$work" && mkdir -p "$work"
copies=(one another-one)
# Both now: a commit made meanwhile would be in one of them only.
for copy in "${copies[@]}"; do
  git clone --quiet --local "$root" "$work/$copy"
  mkdir -p "$work/$copy/target/packages"
  ln -s "$tools" "$work/$copy/target/packages/tools"
done
one() {
  cd "$work/$1"
  local binary plugin
  binary=$(collector/packaging/binary.sh)
  plugin=$(collector/packaging/plugin.sh)
  collector/packaging/stage.sh "$binary" "$plugin"
  collector/packaging/packages.sh deb rpm chart sbom
}
builds=()
for copy in "${copies[@]}"; do
  (one "$copy") &
  builds+=($!)
done
for build in "${builds[@]}"; do wait "$build"; done
# One after the other: both have the same name in buildah's storage.
for copy in "${copies[@]}"; do (cd "$work/$copy" && collector/packaging/packages.sh image); done
differ=0
for file in files/usr/bin/railscope files/usr/lib/railscope/libnccl-profiler-railscope.so "railscope_$release-1_$(dpkg --print-architecture).deb" \
  "railscope-$release-1.$(uname -m).rpm" "railscope-$release".{oci.tar,tgz,yaml,cdx.json}; do
  if cmp "$work/${copies[0]}/target/packages/$file" "$work/${copies[1]}/target/packages/$file"; then
    echo "same bytes: $(sha256sum < "$work/${copies[0]}/target/packages/$file" | cut -c 1-64) $file"
  else
    echo "different:  $file"
    differ=1
  fi
done
# What differs is kept for a look at it.
[ "$differ" = 1 ] || rm -rf "$work"
exit "$differ"
