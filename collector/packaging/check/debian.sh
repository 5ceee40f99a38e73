#!/usr/bin/env bash
# Installs the .deb in a clean Debian that systemd-nspawn boots, with the commands of docs/DEPLOY.md; then
# upgrades, removes and purges it.
#   debian.sh [SUITE]     default: the release of this machine
source "$(dirname "$0")/../places.sh"
check=$packaging/check
# shellcheck source=/dev/null
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
need systemd-nspawn mmdebstrap nsenter prometheus promtool cargo-deb lintian
fail() { echo "error: $*" >&2; exit 1; }

tree=$out/roots/$suite.tar
[ -s "$tree" ] || "$check/root.sh" "$suite"
machine_root=$out/roots/$suite
rm -rf "$machine_root" && mkdir -p "$machine_root"
tar xf "$tree" -C "$machine_root"
mkdir "$machine_root/packages" "$machine_root/packages/later"
cp "$out"/railscope_*_amd64.deb "$machine_root/packages/"
# The same files as the next revision.
cargo deb --quiet --no-build --no-strip --fast --package railscope --deb-revision 2 \
  --output "$machine_root/packages/later/" > /dev/null

# Without a Prometheus of its own: this machine's, built for the same release.
prometheus=()
[ -e "$machine_root/usr/bin/prometheus" ] || prometheus=(--bind-ro=/usr/bin/prometheus --bind-ro=/usr/bin/promtool)

# All rights, as on a node. Its own network: nothing else of this machine is captured.
systemd-nspawn --quiet --boot --directory "$machine_root" --register=no --keep-unit --private-network \
  --capability=all --system-call-filter="bpf perf_event_open @debug" --link-journal=no --private-users=no \
  "${prometheus[@]}" --machine="railscope-$suite-$$" \
  > "$out/roots/$suite.log" 2>&1 < /dev/null &
nspawn=$!
finish() {
  # Its systemd ends with all that it runs; nspawn, which has nothing to say of that, after it.
  [ -z "${leader:-}" ] || kill -KILL "$leader" 2> /dev/null || true
  sleep 0.2
  kill -KILL "$nspawn" 2> /dev/null || true
  wait "$nspawn" 2> /dev/null || true
  rm -rf "$machine_root"
}
trap finish EXIT
for _ in $(seq 100); do
  # Its first child is not yet systemd.
  leader=$(pgrep --parent "$nspawn" --exact systemd || true)
  [ -n "$leader" ] && break
  sleep 0.1
done
inside() {
  nsenter --target "$leader" --mount --uts --ipc --net --pid \
    env -i --chdir=/packages PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
# `degraded`: a kernel without udev has failed units that are not ours.
for _ in $(seq 120); do
  state=$(inside systemctl is-system-running 2> /dev/null || true)
  case $state in running | degraded) break ;; esac
  sleep 0.5
done
case $state in running | degraded) ;; *) tail -n 20 "$out/roots/$suite.log" >&2; fail "systemd does not start in $suite: $state" ;; esac
inside ip link set dev lo up
inside ip link add name eth0 type veth peer name eth1
inside ip link set dev eth0 up
# A host's systemd mounts it; a container's does not.
inside mountpoint --quiet /sys/kernel/tracing || inside mount -t tracefs tracefs /sys/kernel/tracing

property() { inside systemctl show --property "$1" --value railscope-agent; }
run_page() {
  "$check/blocks.sh" "$1" > "$machine_root/packages/$1.sh"
  inside bash "/packages/$1.sh" > "$out/roots/$suite.$1.txt" 2>&1 || {
    cat "$out/roots/$suite.$1.txt" >&2
    inside journalctl --no-pager --unit railscope-agent --lines 30 >&2 || true
    fail "the commands of docs/DEPLOY.md, block $1"
  }
}

begin=$SECONDS
run_page deb
grep -q '^railscope_source_visible{' "$out/roots/$suite.deb.txt" || fail "/metrics has no railscope_source_visible"
grep -q 'railscope_source="ebpf".* 1$' "$out/roots/$suite.deb.txt" || fail "no kernel program runs: $(grep '^railscope_source_visible' "$out/roots/$suite.deb.txt")"
grep -q ': no;' "$out/roots/$suite.deb.txt" && fail "agent --check finds something missing: $(grep ': no;' "$out/roots/$suite.deb.txt")"
echo "$suite: installed and scraped after $((SECONDS - begin)) s"
[ "$(property Type) $(property SubState) $(property WatchdogUSec)" = "notify running 1min" ] || \
  fail "the unit: $(property Type) $(property SubState) $(property WatchdogUSec)"
property StatusText | grep -q '^metrics: http://127.0.0.1:9474/metrics$' || fail "status: $(property StatusText)"
pid=$(property MainPID)
user=$(inside stat --format %u "/proc/$pid")
[ "$user" -ge 61184 ] && [ "$user" -le 65519 ] || fail "the agent runs as user $user, not as a dynamic one"
# Exactly the capabilities of the unit: BPF, NET_ADMIN, PERFMON, NET_RAW, SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH.
capabilities=$(inside sed -n 's/^Cap\(Eff\|Prm\|Bnd\|Amb\):\t//p' "/proc/$pid/status" | sort -u)
[ "$capabilities" = "$(printf '%016x' $((1 << 39 | 1 << 12 | 1 << 38 | 1 << 13 | 1 << 21 | 1 << 19 | 1 << 2)))" ] || \
  fail "capabilities: $capabilities"
unit=/lib/systemd/system/railscope-agent.service
verified=$(inside systemd-analyze verify "$unit" 2>&1 || true)
[ -z "$verified" ] || fail "systemd-analyze verify: $verified"
score=$(inside systemd-analyze security --offline=true --no-pager "$unit" 2> /dev/null | sed -n 's/.*Overall exposure level.*: \([0-9.]*\).*/\1/p' || true)
# Before systemd 250 there is no such option.
if [ -n "$score" ]; then
  awk -v score="$score" 'BEGIN { exit !(score <= 4.0) }' || fail "systemd-analyze security: $score"
  echo "$suite: systemd-analyze security $score"
fi

run_page prometheus
grep -q '^up{.*} => 1 ' "$out/roots/$suite.prometheus.txt" || { inside cat /packages/prometheus.log; fail "Prometheus: $(cat "$out/roots/$suite.prometheus.txt")"; }

# The kernel's watchdog of the agent: a stuck one is killed and started again.
if [ -n "${RAILSCOPE_CHECK_WATCHDOG:-}" ]; then
  inside mkdir -p /run/systemd/system/railscope-agent.service.d
  printf '[Service]\nWatchdogSec=2\nTimeoutAbortSec=2\nRestartSec=0\n' | inside tee /run/systemd/system/railscope-agent.service.d/short.conf > /dev/null
  inside systemctl daemon-reload && inside systemctl restart railscope-agent
  stuck=$(property MainPID)
  inside bash -c "kill -STOP $stuck"
  for _ in $(seq 100); do
    [ "$(property MainPID)" != "$stuck" ] && [ "$(property SubState)" = running ] && break
    sleep 0.2
  done
  [ "$(property NRestarts)" -ge 1 ] || fail "a stuck agent was not restarted"
  echo "$suite: a stuck agent was restarted by the watchdog"
fi

echo '# changed by the administrator' | inside tee --append /etc/railscope/collector.toml > /dev/null
before=$(property MainPID)
begin=$SECONDS
inside bash -c 'apt-get install --yes ./later/railscope_*_amd64.deb' > "$out/roots/$suite.upgrade.txt" 2>&1 || { cat "$out/roots/$suite.upgrade.txt" >&2; fail "upgrade"; }
inside curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:9474/readyz > /dev/null
[ "$(property MainPID)" != "$before" ] || fail "an upgrade does not restart the agent"
inside grep -q 'changed by the administrator' /etc/railscope/collector.toml || fail "an upgrade replaces the settings"
sleep 3
query() { inside promtool query instant http://127.0.0.1:9090 "$1" | sed -n 's/.*=> \([^ ]*\) .*/\1/p'; }
range=$((SECONDS - begin))s
missed=$(query "sum(count_over_time(up{job='railscope'}[$range])) - sum(sum_over_time(up{job='railscope'}[$range]))")
[ -n "$missed" ] && awk -v missed="$missed" 'BEGIN { exit !(missed <= 1) }' || fail "Prometheus missed $missed scrapes"
echo "$suite: upgraded; Prometheus, once a second, missed $missed scrapes"

# Back to the revision before.
inside bash -c 'apt-get install --yes --allow-downgrades ./railscope_*_amd64.deb' > /dev/null 2>&1 || fail "rollback"
inside curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:9474/readyz > /dev/null
echo "$suite: rolled back"

inside apt-get remove --yes railscope > /dev/null 2>&1 || fail "remove"
inside test ! -e /usr/bin/railscope || fail "remove leaves the program"
inside test -e /etc/railscope/collector.toml || fail "remove takes the settings"
inside curl --silent http://127.0.0.1:9474/healthz > /dev/null && fail "removed, the agent still runs"
inside apt-get purge --yes railscope > /dev/null 2>&1 || fail "purge"
left=$(inside find / -xdev -iname '*railscope*' -not -path '/packages/*' -not -path '/proc/*' -not -path '/var/lib/systemd/*' -not -path '/var/log/*' -not -path '/var/cache/man/*')
[ -z "$left" ] || fail "purge leaves $left"
echo "$suite: removed and purged"
