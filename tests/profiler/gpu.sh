#!/bin/bash
# Runs real NCCL, several ranks on one GPU over sockets on loopback, with the plugin loaded, and
# writes logs, the plugin's files and a summary below $OUT (default: ./profiler-gpu).
#
#   OUT=folder bash gpu.sh path/of/libnccl-profiler-railscope.so
#
# Needs one GPU and a python3 with PyTorch; no network. It ends within five minutes.
set -u
PLUGIN=$(readlink -f "${1:-$(dirname "$0")/libnccl-profiler-railscope.so}")
OUT=${OUT:-$PWD/profiler-gpu}
LIMIT=${LIMIT:-285}
WORK=$(mktemp -d)
mkdir -p "$OUT"
SUMMARY=$OUT/summary.txt
say() { echo "[$SECONDS s] $*" | tee -a "$SUMMARY"; }
finish() {
    [ -n "${MPS:-}" ] && echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
    find "$WORK" -type f -size +6M -name '*.railprof*' -exec sh -c 'head -c 6000000 "$1" > "$1.cut" && mv "$1.cut" "$1"' _ {} \;
    # Files that come back are at most 16 MiB: one archive of the named delays, one of the rest.
    tar -C "$WORK" -czf "$OUT/late.tar.gz" late-cpu late-gpu lease 2>/dev/null
    tar -C "$WORK" -czf "$OUT/rest.tar.gz" --exclude=./late-cpu --exclude=./late-gpu --exclude=./lease --exclude='*.cut' --exclude='./clean-[234]/files' . 2>/dev/null
    ls -l "$OUT" | tee -a "$SUMMARY"
    rm -rf "$WORK"
}
trap finish EXIT

[ -f "$PLUGIN" ] || { say "SKIP no plugin at $PLUGIN"; exit 0; }
python3 -c 'import torch' 2>/dev/null || { say "SKIP no PyTorch"; exit 0; }
nvidia-smi -L 2>&1 | tee -a "$SUMMARY"
python3 - <<'P' 2>&1 | tee -a "$SUMMARY"
import glob, os, re, torch
print("torch", torch.__version__, "nccl", torch.cuda.nccl.version())
root = os.path.dirname(os.path.dirname(torch.__file__))
for path in glob.glob(root + "/nvidia/**/libnccl.so*", recursive=True) + glob.glob("/usr/lib/x86_64-linux-gnu/libnccl.so.2"):
    data = open(path, "rb").read()
    print(path, sorted(set(re.findall(rb"ncclProfiler_v\d+", data))))
P

# Processes share a GPU in turns of milliseconds, unless MPS is there: then at the same time.
if command -v nvidia-cuda-mps-control >/dev/null && [ "${NO_MPS:-}" = "" ]; then
    export CUDA_MPS_PIPE_DIRECTORY=$WORK/mps-pipe CUDA_MPS_LOG_DIRECTORY=$WORK/mps-log
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d >>"$SUMMARY" 2>&1
    if timeout 30 python3 -c 'import torch; torch.zeros(1).cuda()' >>"$SUMMARY" 2>&1; then
        MPS=1; say "MPS runs"
    else
        echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
        unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
        say "no MPS: processes take turns"
    fi
fi

cat > "$WORK/rank.py" <<'P'
"""One rank: iterations of a pause and collectives, with their times as JSON lines."""
import json, os, sys, time
import torch, torch.distributed as dist
rank, world, port, mode, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE=str(world))
torch.cuda.set_device(0)
dist.init_process_group("nccl", rank=rank, world_size=world)
control = dist.new_group(backend="gloo")
size = int(os.environ.get("BYTES", 4 << 20)) // 4
x = torch.ones(size, device="cuda")
out = open(f"{folder}/rank{rank}.jsonl", "w")
def report(**values):
    out.write(json.dumps(values) + "\n"); out.flush()
def ring():
    path = f"/dev/shm/railscope-profiler.{os.getpid()}"
    if not os.path.exists(path): return None
    import mmap
    file = open(path, "r+b")
    return mmap.mmap(file.fileno(), 4096)
def word(memory, place, value=None):
    at = place * 8
    if value is None: return int.from_bytes(memory[at:at + 8], "little")
    memory[at:at + 8] = value.to_bytes(8, "little")
def collectives():
    if mode == "kinds":
        dist.broadcast(x, 1)
        dist.reduce(x, 2)
        parts = [torch.empty(size // world, device="cuda") for _ in range(world)]
        dist.all_gather(parts, x[: size // world].contiguous())
        dist.reduce_scatter(parts[0], [part.contiguous() for part in parts])
        dist.all_to_all_single(torch.empty_like(x), x)
        ops = [dist.P2POp(dist.isend, x, (rank + 1) % world), dist.P2POp(dist.irecv, torch.empty_like(x), (rank - 1) % world)]
        for work in dist.batch_isend_irecv(ops): work.wait()
    for _ in range(3):
        dist.all_reduce(x)
        x.fill_(1)
for _ in range(2): collectives()
torch.cuda.synchronize()
begin = time.monotonic()
for _ in range(2): collectives()
torch.cuda.synchronize()
once = (time.monotonic() - begin) / 2 + 0.01
count = torch.tensor([max(6, min(int(float(os.environ.get("SECONDS_WANTED", 8)) / once), 200))])
dist.broadcast(count, 0, group=control)
memory = ring()
report(rank=rank, pid=os.getpid(), once=once, count=int(count), ring=memory is not None, mono=time.monotonic_ns(), real=time.time_ns())
cycles = None
for number in range(int(count)):
    dist.barrier(group=control)
    on = None
    if mode == "lease" and memory is not None:
        on = (number // 4) % 2 == 1
        word(memory, 16, 30)
        word(memory, 17, time.monotonic_ns() + 2_000_000_000 if on else 0)
        time.sleep(0.12)
        dist.barrier(group=control)
    start = time.monotonic_ns()
    delay = 0
    if mode == "late-cpu" and rank == 2:
        time.sleep(0.05); delay = time.monotonic_ns() - start
    if mode == "late-gpu" and rank == 1:
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record(); torch.cuda._sleep(100_000_000); after.record()
    collectives()
    torch.cuda.synchronize()
    end = time.monotonic_ns()
    if mode == "late-gpu" and rank == 1: delay = int(before.elapsed_time(after) * 1e6)
    mask = word(memory, 18) if memory is not None else None
    report(iteration=number, start=start, ns=end - start, delay=delay, on=on, mask=mask)
if memory is not None:
    report(lost=[word(memory, place) for place in range(24, 32)], records=[word(memory, 64 + lane * 8 + 2) for lane in range(8)])
usage = os.times()
report(user=usage.user, system=usage.system)
dist.barrier(group=control)
if mode != "no-end": dist.destroy_process_group()
P

WORLD=${WORLD:-4}
PORT=29500
# run NAME MODE with|without [VARIABLE=VALUE...]
run() {
    local name=$1 mode=$2 plugin=$3; shift 3
    [ $((SECONDS + 45)) -gt "$LIMIT" ] && { say "$name: no time left"; return; }
    local folder=$WORK/$name; mkdir -p "$folder/files"
    PORT=$((PORT + 1))
    local pids=()
    for rank in $(seq 0 $((WORLD - 1))); do
        local load=()
        [ "$plugin" = with ] && load=(NCCL_PROFILER_PLUGIN="$PLUGIN" RAILSCOPE_PROFILER_DIR="$folder/files")
        env NCCL_HOSTID="node$rank" NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1 NCCL_NET=Socket \
            NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,PROFILE NCCL_PROFILER_PLUGIN=none GLOO_SOCKET_IFNAME=lo \
            "${load[@]}" "$@" timeout -s KILL 60 python3 "$WORK/rank.py" "$rank" "$WORLD" "$PORT" "$mode" "$folder" \
            >"$folder/log.$rank" 2>&1 &
        pids+=($!)
    done
    local failed=0
    for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
    say "$name: $failed of $WORLD ranks failed"
    if [ "$failed" -gt 0 ]; then grep -hE 'WARN|Error|error|Duplicate' "$folder"/log.* | head -n 8 | tee -a "$SUMMARY"; fi
    python3 - "$folder" <<'P' 2>&1 | tee -a "$SUMMARY"
import glob, json, os, statistics, sys
folder = sys.argv[1]
for path in sorted(glob.glob(folder + "/rank*.jsonl")):
    rows = [json.loads(line) for line in open(path)]
    its = [row for row in rows if "ns" in row]
    if not its: continue
    text = f"  {os.path.basename(path)}: {len(its)} iterations, median {statistics.median(r['ns'] for r in its) / 1e6:.2f} ms"
    for on in (True, False):
        some = [r["ns"] for r in its if r["on"] is on]
        if some: text += f", lease {'on' if on else 'off'} {statistics.median(some) / 1e6:.2f} ms (masks {sorted({r['mask'] for r in its if r['on'] is on})})"
    for row in rows:
        if "lost" in row: text += f", lost {row['lost']}, records {row['records']}"
        if "user" in row: text += f", CPU {row['user'] + row['system']:.2f} s"
    print(text)
print("  files:", [(os.path.basename(p), os.path.getsize(p)) for p in sorted(glob.glob(folder + "/files/*"))])
P
    ls /dev/shm/railscope-profiler.* 2>/dev/null | tee -a "$SUMMARY"
}

run clean-1 clean with
grep -hE 'PROFILER|rofiler|railscope' "$WORK"/clean-1/log.0 | head -n 8 | tee -a "$SUMMARY"
run bare-1 clean without
run late-cpu late-cpu with
run late-gpu late-gpu with
run lease lease with RAILSCOPE_PROFILER_MASK=0 SECONDS_WANTED=10
run kinds kinds with SECONDS_WANTED=4
for pair in 2 3 4; do
    run bare-$pair clean without SECONDS_WANTED=5
    run clean-$pair clean with SECONDS_WANTED=5
done
run no-end no-end with SECONDS_WANTED=2
say done
