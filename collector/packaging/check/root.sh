#!/usr/bin/env bash
# Makes a clean Debian with systemd, for debian.sh:   root.sh SUITE
source "$(dirname "$0")/../places.sh"
need mmdebstrap
mkdir -p "$out/roots"
# Debian's main archive, among the addresses that apt would read lists from.
mirror=$(apt-get update --print-uris | sed -n "s|^'\(.*/debian\(\.list\)\?\)/*/dists/.*|\1|p")
mirror=${mirror%%$'\n'*}
[ -n "$mirror" ] || { echo "error: apt's sources name no Debian mirror" >&2; exit 1; }
# Prometheus where this machine's does not run: docs/DEPLOY.md starts it, so its own unit must not.
own=()
# shellcheck source=/dev/null
[ "$1" = "$(. /etc/os-release && echo "$VERSION_CODENAME")" ] ||
  own=(--include=prometheus --customize-hook='chroot "$1" systemctl mask prometheus prometheus-node-exporter')
mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,curl,iproute2,man-db "${own[@]}" \
  "$1" "$out/roots/$1.part.tar" "$mirror"
mv "$out/roots/$1.part.tar" "$out/roots/$1.tar"
