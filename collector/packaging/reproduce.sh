#!/usr/bin/env bash
# Builds the last commit twice, in folders with different names, and compares packages byte by byte.
source "$(dirname "$0")/places.sh"
need git sha256sum
work=$out/twice
rm -rf "$work" && mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
for copy in one another-one; do
  git clone --quiet --local "$root" "$work/$copy"
  mkdir -p "$work/$copy/target/packages"
  ln -s "$tools" "$work/$copy/target/packages/tools"
  (
    cd "$work/$copy"
    binary=$(collector/packaging/binary.sh)
    collector/packaging/stage.sh "$binary"
    collector/packaging/packages.sh deb rpm image chart sbom
    rm -rf "target/$(rustc -vV | sed -n 's/^host: //p')"
  )
done
differ=0
for file in files/usr/bin/railscope "railscope_${release}-1_amd64.deb" "railscope-${release}-1.x86_64.rpm" \
  "railscope-$release.oci.tar" "railscope-$release.tgz" "railscope-$release.yaml" "railscope-$release.cdx.json"; do
  if cmp --silent "$work/one/target/packages/$file" "$work/another-one/target/packages/$file"; then
    echo "same bytes: $(sha256sum < "$work/one/target/packages/$file" | cut -c 1-64) $file"
  else
    echo "different:  $file"
    # Its archives' dates and numbers are of the tools that write them: docs/DEPLOY.md lists them.
    case $file in *.oci.tar | *.tgz | *.cdx.json) ;; *) differ=1 ;; esac
  fi
done
exit "$differ"
