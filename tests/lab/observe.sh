# What each case of a scenario leaves behind, to be sourced after fabric.sh: a folder of the case's
# name in the folder where the scenario was started, with captures of the hosts as they see the
# wire, and of the RDMA devices' counters by how much each grew.

# Hosts to capture at, and what; a scenario may set other ones first.
hosts=${hosts:-0 1}
filter=${filter:-udp port 4791}

# Runs a function as the case of that name, with the rest as its arguments. A foreign program that
# crashes (perftest's connection manager code does now and then, where the machine is slow) tells
# nothing about the wire: the case begins anew, twice at most.
run_case() {
  local name=$1 status attempt
  shift
  echo "$name: $*"
  for attempt in 1 2 3; do
    status=0
    # Not as a condition, which would switch off `set -e` in it.
    (attempt_case "$name" "$@") &
    wait $! || status=$?
    [ $status -eq $CRASHED ] && [ $attempt -lt 3 ] || break
    echo "$name: a program crashed: once more"
    rm -r "$name"
  done
  return $status
}

# Exit status of a shell whose program got SIGSEGV.
CRASHED=139

attempt_case() {
  local name=$1
  shift
  capturing=()
  trap capture_stop EXIT
  mkdir "$name"
  cd "$name"
  counters > /tmp/before
  capture_begin
  "$@"
  capture_end
  counters > /tmp/after
  growth > counters
}

# Leaves no capture behind, however the case ends.
capture_stop() {
  local host
  for host in "${!capturing[@]}"; do
    kill "${capturing[$host]}" 2> /dev/null || true
  done
}

# Lines of device, counter and value.
counters() {
  grep --with-filename . /sys/class/infiniband/rxe*/ports/1/hw_counters/* |
    awk -F'[/:]' '{ print $5, $9, $10 }'
}

growth() {
  awk 'NR == FNR { before[$1, $2] = $3; next } $2 != "lifespan" { print $1, $2, $3 - before[$1, $2] }' \
    /tmp/before /tmp/after
}

# Thousands of slots of whole RoCE packets. With --immediate-mode no packet waits for its block to be
# full.
capture_begin() {
  local host
  capturing=()
  for host in $hosts; do
    instead_at $host tcpdump -Z root --immediate-mode -i eth0 -s 4400 -B 32768 \
      --time-stamp-precision nano -w host$host.pcap "$filter" 2> host$host.tcpdump &
    capturing[$host]=$!
  done
  for host in $hosts; do
    eventually grep -q 'listening on' host$host.tcpdump
  done
}

# Ends captures when they hold what the devices counted, and nothing more comes. What is missing
# then is for the checks to say.
capture_end() {
  local host
  for host in $hosts; do
    eventually has_read_all "$host" || true
    kill "${capturing[$host]}"
    wait "${capturing[$host]}"
    unset "capturing[$host]"
  done
}

has_read_all() {
  local before now
  before=$(packets_captured "$1")
  now=$(packets_captured "$1")
  [ "$now" -eq "$before" ] && [ "$now" -ge "$(packets_counted "$1")" ]
}

# Asks tcpdump, which answers `tcpdump: 12 packets captured, ...`.
packets_captured() {
  local said=host$1.tcpdump lines
  lines=$(wc -l < "$said")
  kill -USR1 "${capturing[$1]}"
  eventually has_more_lines "$said" "$lines"
  awk 'END { print $2 }' "$said"
}

packets_counted() {
  counters > /tmp/after
  growth | awk -v device=rxe$1 '$1 == device && /(sent|rcvd)_pkts/ { sum += $3 } END { print sum + 0 }'
}

has_more_lines() { [ "$(wc -l < "$1")" -gt "$2" ]; }

# Tries a command until it succeeds, for half a minute.
eventually() {
  local _
  for _ in $(seq 300); do
    "$@" && return
    sleep 0.1
  done
  echo "never: $*" >&2
  return 1
}
