#!/usr/bin/env bash
# Makes packages of the staged files: each name is one of deb, rpm, image, chart, sbom, sums.
source "$(dirname "$0")/places.sh"

# A tar of PATH in FOLDER that depends on names and contents only. The chart links to rules that are elsewhere.
archive() {
  tar --create --dereference --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" --directory "$1" "$2"
}

deb() {
  need cargo-deb dpkg-shlibdeps
  rm -f "$out"/railscope_*.deb
  cargo deb --quiet --no-build --no-strip --package railscope --output "$out/" > /dev/null
}

rpm() {
  need cargo-generate-rpm
  rm -f "$out"/railscope-*.rpm
  cargo generate-rpm --package collector --output "$out/" --source-date "$SOURCE_DATE_EPOCH" --payload-compress zstd
}

# Of Debian's, the C library and the certificates; no shell, no package manager.
image() {
  need buildah ldd
  local context=$out/image
  rm -rf "$context" && mkdir -p "$context"/files/{usr/bin,usr/lib,usr/share,etc/ssl/certs,etc/railscope,tmp}
  cp "$out/files/usr/bin/railscope" "$context/files/usr/bin/"
  cp -r "$out/files/usr/lib/railscope" "$context/files/usr/lib/"
  cp "$out/files/etc/railscope/collector.toml" "$context/files/etc/railscope/"
  cp -r "$out/files/usr/share/railscope" "$context/files/usr/share/"
  cp LICENSE-MIT LICENSE-APACHE "$context/files/"
  # `NAME => PATH (ADDRESS)`, and the loader alone.
  ldd "$out/files/usr/bin/railscope" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$context/files$(dirname "$library")"
    cp -L "$library" "$context/files$library"
  done
  cp -L /etc/ssl/certs/ca-certificates.crt "$context/files/etc/ssl/certs/"
  printf 'root:x:0:0::/:/\nrailscope:x:65532:65532::/:/\n' > "$context/files/etc/passwd"
  printf 'hosts: files dns\n' > "$context/files/etc/nsswitch.conf"
  find "$context" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  buildah --storage-driver vfs bud --quiet --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" \
    --label "org.opencontainers.image.version=$release" --label "org.opencontainers.image.revision=$commit" \
    --tag "localhost/railscope:$release" --file "$packaging/container/Containerfile" "$context" > /dev/null
  rm -rf "$out/oci"
  buildah --storage-driver vfs push --quiet "localhost/railscope:$release" "oci:$out/oci:railscope:$release"
  archive "$out/oci" . > "$out/railscope-$release.oci.tar"
  rm -rf "$out/oci"
}

chart() {
  need helm
  for key in version appVersion; do
    grep -qx "$key: $release" "$packaging/helm/railscope/Chart.yaml" || { echo "error: $key in Chart.yaml is not $release" >&2; exit 1; }
  done
  # What helm package writes, without the time.
  archive "$packaging/helm" railscope | gzip -9n > "$out/railscope-$release.tgz"
  # The same without helm: what the chart renders with its defaults.
  helm template railscope "$out/railscope-$release.tgz" --namespace railscope \
    > "$out/railscope-$release.yaml"
}

sbom() {
  need cargo-cyclonedx
  cargo cyclonedx --quiet --manifest-path collector/Cargo.toml --format json --spec-version 1.5 \
    --override-filename railscope.cdx
  # Without the random number, the time and the folder of this run.
  python3 - collector/railscope.cdx.json "$root" "$out/railscope-$release.cdx.json" << 'PYTHON'
import json, pathlib, sys, os, time
text = pathlib.Path(sys.argv[1]).read_text().replace(sys.argv[2], "")
bom = json.loads(text)
bom.pop("serialNumber", None)
epoch = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
bom["metadata"]["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", epoch)
pathlib.Path(sys.argv[3]).write_text(json.dumps(bom, indent=1, sort_keys=True) + "\n")
PYTHON
  rm collector/railscope.cdx.json
  find . -name railscope.cdx.json -not -path './target/*' -delete
}

sums() {
  (cd "$out" && find . -maxdepth 1 -type f \( -name 'railscope*.deb' -o -name 'railscope*.rpm' -o -name 'railscope*.tar' \
    -o -name 'railscope*.tgz' -o -name 'railscope*.yaml' -o -name 'railscope*.json' \) -printf '%P\n' | LC_ALL=C sort \
    | xargs sha256sum > SHA256SUMS && cat SHA256SUMS)
}

for what in "$@"; do
  case $what in
    deb | rpm | image | chart | sbom | sums) "$what" ;;
    *) echo "error: unknown package $what" >&2; exit 2 ;;
  esac
done
