#!/bin/bash
# perftest and rping from host 0 to host 1 over a fabric without loss.
set -eEu
. /lab/fabric.sh
. /lab/observe.sh
. /lab/programs.sh
fabric_up 4500

run_case write_bw perftest ib_write_bw -m 1024 -s 8000 -n 200
run_case write_bw_uc perftest ib_write_bw -m 1024 -s 4000 -n 200 -c UC
run_case write_bw_mtu4096 perftest ib_write_bw -m 4096 -s 20000 -n 100
run_case write_bw_ipv6 perftest_ipv6 ib_write_bw -m 1024 -s 3000 -n 100
run_case write_bw_qps perftest ib_write_bw -m 1024 -s 3000 -n 100 -q 3
run_case write_bw_both perftest ib_write_bw -m 1024 -s 3000 -n 100 -b
run_case write_lat perftest ib_write_lat -m 1024 -s 64 -n 100
run_case read_bw perftest ib_read_bw -m 1024 -s 5000 -n 100
run_case send_bw perftest ib_send_bw -m 1024 -s 3000 -n 200
run_case send_bw_uc perftest ib_send_bw -m 1024 -s 3000 -n 200 -c UC
run_case send_bw_ud perftest ib_send_bw -m 1024 -s 1000 -n 200 -c UD
run_case send_lat perftest ib_send_lat -m 1024 -s 64 -n 100
run_case atomic_add perftest ib_atomic_bw -n 100 -A FETCH_AND_ADD
run_case atomic_swap perftest ib_atomic_bw -n 100 -A CMP_AND_SWAP
run_case write_bw_cm perftest_cm ib_write_bw -m 1024 -s 3000 -n 100
run_case rping rping_cm -C 20 -S 400
fabric_down
