#!/usr/bin/env bash
# Installs the .rpm with dnf, by the commands of docs/DEPLOY.md, in a clean Debian whose systemd runs; then upgrades,
# rolls back and removes it. Its scripts run with the real systemctl. Debian's libraries are in no rpm database, so a
# package without files says what they provide.
source "$(dirname "$0")/machine.sh"
need cargo-generate-rpm
package=$(ls "$out"/railscope-"$release"-1.*.rpm)
# shellcheck source=/dev/null
make_root "$(. /etc/os-release && echo "$VERSION_CODENAME")" dnf rpm
cp "$package" "$machine_root/packages/"
# The same files as the next release.
cargo generate-rpm --package collector --output "$machine_root/packages/later/" --payload-compress none \
  --set-metadata 'release = "2"' > /dev/null
# As on Red Hat: no unit is enabled unless somebody asks for it.
mkdir -p "$machine_root/etc/systemd/system-preset"
echo 'disable *' > "$machine_root/etc/systemd/system-preset/99-default-disable.preset"
boot

quietly digests bash -c 'rpm --checksig --nosignature ./railscope-*.rpm'
# Red Hat Enterprise Linux 9 has glibc 2.34, and the binary needs less.
newest=$(inside bash -c 'rpm -qp --requires ./railscope-*.rpm' | sed -n 's/^libc\.so\.6(GLIBC_\([0-9.]*\)).*/\1/p' | sort -V | tail -n 1)
[ -n "$newest" ] || fail "the package requires no glibc"
[ "$(printf '%s\n2.31\n' "$newest" | sort -V | tail -n 1)" = 2.31 ] || fail "it requires GLIBC_$newest"
[ "$(inside bash -c 'rpm -qp --configfiles ./railscope-*.rpm')" = /etc/railscope/collector.toml ] || fail "configuration files"

# What rpm itself reads in Debian's libraries.
quietly libraries bash -c '
  mkdir /tmp/libraries && cd /tmp/libraries
  { printf "Name: debian-libraries\nVersion: 1\nRelease: 1\nSummary: What the libraries of Debian provide\nLicense: none\n"
    printf "BuildArch: %s\nProvides: /bin/sh\nProvides: rtld(GNU_HASH)\n" "$(uname -m)"
    ls /lib/*-linux-gnu/{libc,libm,libgcc_s,libdl,libpthread,librt}.so.* /lib*/ld-linux*.so.* 2> /dev/null \
      | /usr/lib/rpm/elfdeps --provides | sort -u | sed "s/^/Provides: /"
    printf "%%description\nNo files.\n%%files\n"; } > libraries.spec
  rpmbuild --quiet --define "_rpmdir /tmp/libraries" -bb libraries.spec
  rpm --install /tmp/libraries/*/*.rpm'

run_page rpm
quietly verify rpm --verify railscope
for file in man/man1/railscope-agent.1 zsh/site-functions/_railscope bash-completion/completions/railscope; do
  inside test -s "/usr/share/$file" || fail "not installed: /usr/share/$file"
done
judge_agent rpm /usr/lib/systemd/system
# Debian's loader does not look into /usr/lib64.
judge_plugin /usr/lib64/libnccl-profiler-railscope.so
judge_plugin /usr/lib/railscope/libnccl-profiler-railscope.so
judge_reload
start_prometheus
upgrade_by bash -c 'dnf upgrade --assumeyes ./later/railscope-*.rpm'
roll_back_by bash -c 'dnf downgrade --assumeyes ./railscope-*.rpm'
quietly remove dnf remove --assumeyes railscope
judge_removed
inside grep -q administrator /etc/railscope/collector.toml.rpmsave || fail "changed settings are lost"
judge_left '/etc/railscope*' '/var/lib/dnf/*' '/var/lib/rpm/*'
echo "$machine: removed; newest symbol GLIBC_$newest"
