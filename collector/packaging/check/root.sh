#!/usr/bin/env bash
# Makes a clean Debian with systemd, for machine.sh:   root.sh SUITE [PACKAGE...]
source "$(dirname "$0")/../places.sh"
need mmdebstrap
mkdir -p "$out/roots"
suite=$1
name=$1${2:+-$2}
shift
packages=$(printf ',%s' systemd systemd-sysv dbus curl iproute2 man-db "$@")
# Debian's main archive, among the addresses that apt would read lists from.
mirror=$(apt-get update --print-uris | sed -n "s|^'\(.*/debian\(\.list\)\?\)/*/dists/.*|\1|p")
mirror=${mirror%%$'\n'*}
[ -n "$mirror" ] || { echo "error: apt's sources name no Debian mirror" >&2; exit 1; }
# Prometheus where this machine's does not run: docs/DEPLOY.md starts it, so its own unit must not.
own=()
# shellcheck source=/dev/null
[ "$suite" = "$(. /etc/os-release && echo "$VERSION_CODENAME")" ] ||
  own=(--include=prometheus --customize-hook='chroot "$1" systemctl mask prometheus prometheus-node-exporter')
mmdebstrap --quiet --variant=minbase --include="${packages#,}" "${own[@]}" \
  "$suite" "$out/roots/$name.part.tar" "$mirror"
mv "$out/roots/$name.part.tar" "$out/roots/$name.tar"
