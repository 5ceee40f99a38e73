# The records of each case of a scenario, to be sourced after fabric.sh: a folder named after the case, in
# the folder where the scenario was started, with captures of the hosts and the growth of the RDMA
# devices' counters.

# Hosts to capture on, and the filter; a scenario may set others first.
hosts=${hosts:-0 1}
filter=${filter:-udp port 4791}

# Runs a function as the case of that name, with the rest as its arguments. A crash of a
# program under test (perftest's connection manager code sometimes crashes on a slow machine) says nothing
# about the wire: the case is repeated, at most twice.
run_case() {
  local name=$1 status attempt
  shift
  echo "$name: $*"
  for attempt in 1 2 3; do
    status=0
    # Not as a condition: that would disable `set -e` inside.
    (attempt_case "$name" "$@") &
    wait $! || status=$?
    [ $status -eq $CRASHED ] && [ $attempt -lt 3 ] || break
    echo "$name: a program crashed: once more"
    rm -r "$name"
  done
  return $status
}

# Exit status after SIGSEGV.
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

# Ends the captures however the case ends.
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

# Room for thousands of whole RoCE packets. With --immediate-mode no packet waits for a full block.
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

# Ends captures when they have every packet that the devices counted, or no more arrive. The checks report
# missing packets.
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

# Repeats a command until it succeeds, for at most half a minute.
eventually() {
  local _
  for _ in $(seq 300); do
    "$@" && return
    sleep 0.1
  done
  echo "never: $*" >&2
  return 1
}
