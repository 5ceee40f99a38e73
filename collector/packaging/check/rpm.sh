#!/usr/bin/env bash
# Installs, upgrades and removes the .rpm in an empty root with Debian's rpm. There, no dependency is
# installed and no script runs; both are checked as text.
source "$(dirname "$0")/../places.sh"
need rpm cargo-generate-rpm
fail() { echo "error: $*" >&2; exit 1; }
package=$(ls "$out"/railscope-"$release"-1.*.rpm)
work=$out/rpm
rm -rf "$work" && mkdir -p "$work/later"
trap 'rm -rf "$work"' EXIT
cargo generate-rpm --package collector --output "$work/later/" --set-metadata 'release = "2"' > /dev/null

rpm --checksig --nosignature "$package" > /dev/null || fail "digests"
# Red Hat Enterprise Linux 9 has glibc 2.34, and the binary needs less.
newest=$(rpm -qp --requires "$package" | sed -n 's/^libc\.so\.6(GLIBC_\([0-9.]*\)).*/\1/p' | sort -V | tail -n 1)
[ -n "$newest" ] || fail "the package requires no glibc"
[ "$(printf '%s\n2.31\n' "$newest" | sort -V | tail -n 1)" = 2.31 ] || fail "it requires GLIBC_$newest"
rpm -qp --scripts "$package" > "$work/scripts"
for word in 'preset railscope-agent.service' 'disable --now railscope-agent.service' 'try-restart railscope-agent.service'; do
  grep -q -- "$word" "$work/scripts" || fail "no script says: $word"
done
[ "$(rpm -qp --configfiles "$package")" = /etc/railscope/collector.toml ] || fail "configuration files: $(rpm -qp --configfiles "$package")"

# Debian's rpm says what it thinks of being used on Debian.
inside() { rpm --root "$work/system" --nodeps --noscripts "$@" 2>&1 | grep -v -e '^warning: ' -e '^rpm: ' || true; }
installed() { rpm --root "$work/system" --query railscope; }
mkdir "$work/system"
inside --install "$package"
"$work/system/usr/bin/railscope" --version
for file in /usr/bin/railscope /usr/lib/systemd/system/railscope-agent.service /usr/share/man/man1/railscope-agent.1 \
  /usr/share/zsh/site-functions/_railscope /usr/share/doc/railscope/examples/prometheus/alerts.yaml; do
  [ -s "$work/system$file" ] || fail "not installed: $file"
done
settings=$work/system/etc/railscope/collector.toml
echo '# changed by the administrator' >> "$settings"
inside --upgrade "$work"/later/*.rpm
[ "$(installed)" = "railscope-$release-2.$(uname -m)" ] || fail "after the upgrade: $(installed)"
tail -n 1 "$settings" | grep -q administrator || fail "an upgrade replaces the settings"
inside --upgrade --oldpackage "$package"
[ "$(installed)" = "railscope-$release-1.$(uname -m)" ] || fail "rollback"
inside --erase railscope
left=$(find "$work/system" -name '*railscope*' -not -path '*/var/lib/rpm/*' -type f)
[ -z "$left" ] || fail "left: $left"
[ -e "$settings.rpmsave" ] || fail "changed settings are lost"
echo "rpm: installed, upgraded, rolled back and removed in an empty root; newest symbol GLIBC_$newest"
