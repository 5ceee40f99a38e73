# RDMA programs from host 0, the client, to host 1, to be sourced after observe.sh. Their output goes to
# `client` and `server`.

# Runs a program of perftest on both hosts: `perftest ib_write_bw -n 100`.
perftest() {
  perftest_between "$(gid 0)" "$(gid 1)" 10.0.0.2 "$@"
}

# The same with the connection manager, which selects GIDs by address.
perftest_cm() {
  local program=$1
  shift
  instead_at 1 "$program" -d rxe1 -F -R "$@" > server 2>&1 &
  eventually listens_cm
  both_end $! "$program" -d rxe0 -F -R "$@" 10.0.0.2
}

# Runs a client and waits for the server with this process id. Returns the worse status, so that a crash of
# one is not hidden by an error of the other.
both_end() {
  local server=$1 client=0 status=0
  shift
  at 0 "$@" > client 2>&1 || client=$?
  if [ $client -ne 0 ]; then
    kill "$server" 2> /dev/null || true
  fi
  wait "$server" || status=$?
  return $((client == 0 || status == CRASHED ? status : client))
}

perftest_ipv6() {
  perftest_between "$(gid 0 6)" "$(gid 1 6)" fd00::2 "$@" --ipv6-addr
}

perftest_between() {
  local own=$1 other=$2 address=$3 program=$4
  shift 4
  instead_at 1 "$program" -d rxe1 -x "$other" -F "$@" > server 2>&1 &
  eventually listens
  both_end $! "$program" -d rxe0 -x "$own" -F "$@" "$address"
}

rping_cm() {
  instead_at 1 rping -s -v "$@" > server 2>&1 &
  eventually listens_cm
  both_end $! rping -c -a 10.0.0.2 -v "$@"
}

# Whether a server on host 1 listens on perftest's port: TCP, or the connection manager's.
listens() { [ -n "$(at 1 ss -Hltn 'sport = 18515')" ]; }
listens_cm() { at 1 rdma resource show cm_id link rxe1 | grep -q LISTEN; }
