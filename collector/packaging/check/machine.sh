# Sourced by debian.sh and rpm.sh: a clean Debian that systemd-nspawn boots, and what is asked of the agent in it.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/../places.sh"
check=$packaging/check
need systemd-nspawn mmdebstrap nsenter prometheus promtool
fail() { echo "error: $*" >&2; exit 1; }

# Makes `machine_root`: boot_root SUITE [PACKAGE...]. Packages are installed besides those of root.sh.
make_root() {
  machine=$1${2:+-$2}
  local tree=$out/roots/$machine.tar
  [ -s "$tree" ] || "$check/root.sh" "$@"
  machine_root=$out/roots/$machine
  rm -rf "$machine_root" && mkdir -p "$machine_root"
  tar xf "$tree" -C "$machine_root"
  mkdir "$machine_root/packages" "$machine_root/packages/later"
}

# Boots it; it ends with the script.
boot() {
  # Without a Prometheus of its own: this machine's, built for the same release.
  local prometheus=()
  [ -e "$machine_root/usr/bin/prometheus" ] || prometheus=(--bind-ro=/usr/bin/prometheus --bind-ro=/usr/bin/promtool)
  # All rights, as on a node. Its own network: nothing else of this machine is captured.
  systemd-nspawn --quiet --boot --directory "$machine_root" --register=no --keep-unit --private-network \
    --capability=all --system-call-filter="bpf perf_event_open @debug" --link-journal=no --private-users=no \
    "${prometheus[@]}" --machine="railscope-$machine-$$" \
    > "$out/roots/$machine.log" 2>&1 < /dev/null &
  nspawn=$!
  trap finish EXIT
  for _ in $(seq 100); do
    # Its first child is not yet systemd.
    leader=$(pgrep --parent "$nspawn" --exact systemd || true)
    [ -n "$leader" ] && break
    sleep 0.1
  done
  local state
  # `degraded`: a kernel without udev has failed units that are not ours.
  for _ in $(seq 120); do
    state=$(inside systemctl is-system-running 2> /dev/null || true)
    case $state in running | degraded) break ;; esac
    sleep 0.5
  done
  case $state in running | degraded) ;; *) tail -n 20 "$out/roots/$machine.log" >&2; fail "systemd does not start in $machine: $state" ;; esac
  inside ip link set dev lo up
  inside ip link add name eth0 type veth peer name eth1
  inside ip link set dev eth0 up
  # A host's systemd mounts it; a container's does not.
  inside mountpoint --quiet /sys/kernel/tracing || inside mount -t tracefs tracefs /sys/kernel/tracing
}

finish() {
  # Its systemd ends with all that it runs; nspawn, which has nothing to say of that, after it.
  [ -z "${leader:-}" ] || kill -KILL "$leader" 2> /dev/null || true
  sleep 0.2
  kill -KILL "$nspawn" 2> /dev/null || true
  wait "$nspawn" 2> /dev/null || true
  rm -rf "$machine_root"
}

inside() {
  nsenter --target "$leader" --mount --uts --ipc --net --pid \
    env -i --chdir=/packages PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# Runs a command for its effect: quietly NAME COMMAND...
quietly() {
  local name=$1
  shift
  inside "$@" > "$out/roots/$machine.$name.txt" 2>&1 || { cat "$out/roots/$machine.$name.txt" >&2; fail "$name"; }
}

property() { inside systemctl show --property "$1" --value railscope-agent; }

# Runs a block of docs/DEPLOY.md, and says how long it took.
run_page() {
  local begin=$SECONDS
  "$check/blocks.sh" "$1" > "$machine_root/packages/$1.sh"
  inside bash "/packages/$1.sh" > "$out/roots/$machine.$1.txt" 2>&1 || {
    cat "$out/roots/$machine.$1.txt" >&2
    inside journalctl --no-pager --unit railscope-agent --lines 30 >&2 || true
    fail "the commands of docs/DEPLOY.md, block $1"
  }
  echo "$machine: block $1 of the page took $((SECONDS - begin)) s"
}

wait_until_ready() {
  inside curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:9474/readyz > /dev/null
}

# The agent that the block $1 started: what it sees, its user, its capabilities, and its unit in folder $2.
judge_agent() {
  local shown=$out/roots/$machine.$1.txt unit=$2/railscope-agent.service
  grep -q '^railscope_source_visible{' "$shown" || fail "/metrics has no railscope_source_visible"
  grep -q 'railscope_source="ebpf".* 1$' "$shown" || fail "no kernel program runs: $(grep '^railscope_source_visible' "$shown")"
  grep -q ': no;' "$shown" && fail "agent --check finds something missing: $(grep ': no;' "$shown")"
  [ "$(property Type) $(property SubState) $(property WatchdogUSec)" = "notify running 1min" ] || \
    fail "the unit: $(property Type) $(property SubState) $(property WatchdogUSec)"
  property StatusText | grep -q '^metrics: http://127.0.0.1:9474/metrics$' || fail "status: $(property StatusText)"
  local pid user capabilities verified score
  pid=$(property MainPID)
  user=$(inside stat --format %u "/proc/$pid")
  [ "$user" -ge 61184 ] && [ "$user" -le 65519 ] || fail "the agent runs as user $user, not as a dynamic one"
  # Exactly the capabilities of the unit: BPF, NET_ADMIN, PERFMON, NET_RAW, SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH.
  capabilities=$(inside sed -n 's/^Cap\(Eff\|Prm\|Bnd\):\t//p' "/proc/$pid/status" | sort -u)
  [ "$capabilities" = "$(printf '%016x' $((1 << 39 | 1 << 12 | 1 << 38 | 1 << 13 | 1 << 21 | 1 << 19 | 1 << 2)))" ] || \
    fail "capabilities: $capabilities"
  # It starts no program that could have any.
  [ "$(inside sed -n 's/^Cap\(Inh\|Amb\):\t//p' "/proc/$pid/status" | sort -u)" = 0000000000000000 ] || \
    fail "capabilities can be inherited"
  verified=$(inside systemd-analyze verify "$unit" 2>&1 || true)
  [ -z "$verified" ] || fail "systemd-analyze verify: $verified"
  score=$(inside systemd-analyze security --offline=true --no-pager "$unit" 2> /dev/null | sed -n 's/.*Overall exposure level.*: \([0-9.]*\).*/\1/p' || true)
  # Before systemd 250 there is no such option.
  if [ -n "$score" ]; then
    awk -v score="$score" 'BEGIN { exit !(score <= 4.0) }' || fail "systemd-analyze security: $score"
    echo "$machine: systemd-analyze verify is silent, security $score"
  fi
}

# The profiler plugin loads with the C library of this Debian, by a path or by a name that the loader looks for.
judge_plugin() {
  # shellcheck disable=SC2016
  inside perl -MDynaLoader -e '
    my $library = DynaLoader::dl_load_file($ARGV[0]) or die DynaLoader::dl_error(), "\n";
    DynaLoader::dl_find_symbol($library, "ncclProfiler_v$_") or die "no ncclProfiler_v$_\n" for 1 .. 7' "$1" || \
    fail "the profiler plugin does not load: $1"
  echo "$machine: $1 loads"
}

# A reload: the settings are read again by the same process.
judge_reload() {
  local pid
  pid=$(property MainPID)
  inside systemctl reload railscope-agent || fail "systemctl reload"
  inside sh -c 'for _ in $(seq 50); do journalctl --unit railscope-agent | grep -q "settings: read again" && exit; sleep 0.1; done; exit 1' || \
    fail "the journal has nothing on the reload"
  [ "$(property MainPID)" = "$pid" ] || fail "the reload restarted the agent"
}

# A Prometheus as on the page scrapes the agent.
start_prometheus() {
  run_page prometheus
  grep -q '^up{.*} => 1 ' "$out/roots/$machine.prometheus.txt" || { inside cat /packages/prometheus.log; fail "Prometheus: $(cat "$out/roots/$machine.prometheus.txt")"; }
}

query() { inside promtool query instant http://127.0.0.1:9090 "$1" | sed -n 's/.*=> \([^ ]*\) .*/\1/p'; }

# Upgrades by a command: another process runs, with the administrator's settings, and Prometheus misses one scrape
# at most.
upgrade_by() {
  echo '# changed by the administrator' | inside tee --append /etc/railscope/collector.toml > /dev/null
  local before begin range missed
  # What it missed of an earlier restart does not count.
  wait_until_ready
  sleep 3
  before=$(property MainPID)
  begin=$SECONDS
  quietly upgrade "$@"
  wait_until_ready
  [ "$(property MainPID)" != "$before" ] || fail "an upgrade does not restart the agent"
  inside grep -q 'changed by the administrator' /etc/railscope/collector.toml || fail "an upgrade replaces the settings"
  sleep 3
  range=$((SECONDS - begin))s
  missed=$(query "sum(count_over_time(up{job='railscope'}[$range])) - sum(sum_over_time(up{job='railscope'}[$range]))")
  [ -n "$missed" ] && awk -v missed="$missed" 'BEGIN { exit !(missed <= 1) }' || fail "Prometheus missed $missed scrapes"
  echo "$machine: upgraded; Prometheus, once a second, missed $missed scrapes"
}

# Back to the revision before, by a command: another process runs and answers.
roll_back_by() {
  local before
  before=$(property MainPID)
  quietly rollback "$@"
  wait_until_ready
  [ "$(property MainPID)" != "$before" ] || fail "a rollback does not restart the agent"
  echo "$machine: rolled back"
}

# After the package is removed: no program, no process, no enabled unit.
judge_removed() {
  inside test ! -e /usr/bin/railscope || fail "remove leaves the program"
  inside curl --silent http://127.0.0.1:9474/healthz > /dev/null && fail "removed, the agent still runs"
  inside test ! -e /etc/systemd/system/multi-user.target.wants/railscope-agent.service || fail "removed, the unit is still enabled"
}

# Files that are left, except those whose names match the patterns.
judge_left() {
  local allowed=() pattern left
  for pattern in '/packages/*' '/proc/*' '/var/lib/systemd/*' '/var/log/*' '/var/cache/*' "$@"; do
    allowed+=(-not -path "$pattern")
  done
  left=$(inside find / -xdev -iname '*railscope*' "${allowed[@]}")
  [ -z "$left" ] || fail "the package leaves $left"
}
