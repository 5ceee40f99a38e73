"""Real PyTorch against the driver's TCPStore: its clients on the driver's server, then the driver's
client on its server.

    torch_store.py PEERS

PEERS is the example program `peers` (cargo build --example peers). Runs every
operation of this PyTorch's client and compares the results with the expected ones.
"""

import datetime
import os
import socket
import subprocess
import sys
import threading

import torch
import torch.distributed as dist

HOST = "127.0.0.1"
TIMEOUT = datetime.timedelta(seconds=20)


def free_port():
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return listener.getsockname()[1]


def client(port, **options):
    return dist.TCPStore(HOST, port, is_master=False, timeout=TIMEOUT, **options)


def check(what, found, expected):
    print(f"  {what}: {found!r}")
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")


def raises(what, action):
    try:
        action()
    except RuntimeError as error:
        print(f"  {what}: {type(error).__name__}: {str(error).splitlines()[0][:70]}")
    else:
        sys.exit(f"{what}: no error")


def their_clients(peers):
    port = free_port()
    server = subprocess.Popen(
        [peers, "store", f"{HOST}:{port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    print(server.stdout.readline().decode().strip())
    try:
        use(port)
    finally:
        server.stdin.close()
        server.wait(10)


def use(port):
    # Two workers that wait for each other, as init_process_group does.
    workers = [None, None]

    def join(place):
        workers[place] = client(port, world_size=2)

    threads = [threading.Thread(target=join, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    first, second = workers

    unique_id = bytes(range(8)) + b"\x02\x00" + bytes(118)
    group = dist.PrefixStore("default_pg/0/", first)
    group.set("/cuda//0", unique_id)
    found = dist.PrefixStore("default_pg/0/", second).get("/cuda//0")
    check("get of 128 bytes", found == unique_id, True)
    check("add", [second.add("sum", 40), first.add("sum", 2)], [40, 42])
    check("get of a sum", first.get("sum"), b"42")
    check("compare_set of nothing", first.compare_set("swap", "", "one"), b"one")
    check("compare_set", second.compare_set("swap", "one", "two"), b"two")
    check("compare_set in vain", second.compare_set("swap", "one", "three"), b"two")
    check("big value", len((first.set("big", "x" * 1_000_000), second.get("big"))[1]), 1_000_000)
    keys = second.num_keys()
    check("delete_key", [first.delete_key("swap"), first.delete_key("swap")], [True, False])
    check("num_keys", second.num_keys(), keys - 1)

    waiter = threading.Thread(target=lambda: second.wait(["late", "later"]))
    waiter.start()
    first.set("late", "1")
    first.set("later", "1")
    waiter.join(10)
    check("wait is over", waiter.is_alive(), False)
    short = datetime.timedelta(milliseconds=300)
    raises("wait in vain", lambda: second.wait(["never"], short))
    if hasattr(second, "check"):
        check("after it", second.get("late"), b"1")
        check("check", [second.check(["late"]), second.check(["late", "never"])], [True, False])
    if hasattr(first, "append"):
        first.append("text", "ab")
        first.append("text", "cd")
        first.num_keys()  # append has no answer; num_keys, after it, has one.
        check("append", second.get("text"), b"abcd")
        first.multi_set(["m1", "m2"], ["v1", "v2"])
        check("multi_get", second.multi_get(["m1", "m2"]), [b"v1", b"v2"])
    if hasattr(first, "queue_push"):
        first.queue_push("queue", "q1")
        first.queue_push("queue", "q2")
        first.num_keys()
        check("queue_len", second.queue_len("queue"), 2)
        check("queue_pop", [second.queue_pop("queue"), first.queue_pop("queue")], [b"q1", b"q2"])


def their_server(peers):
    port = free_port()
    store = dist.TCPStore(HOST, port, is_master=True, timeout=TIMEOUT, wait_for_workers=False)
    store.set("theirs", "from PyTorch")
    store.add("sum", 40)
    store.set("compared", "old")
    ran = subprocess.run([peers, "client", f"{HOST}:{port}"], capture_output=True, text=True)
    print("  " + ran.stdout.strip().replace("\n", "\n  "))
    if ran.returncode != 0:
        sys.exit(f"the driver's client: {ran.stderr.strip()}")
    check("what the driver set", store.get("ours"), b"from the driver")


def main():
    peers = os.path.abspath(sys.argv[1])
    print(f"PyTorch {torch.__version__}, its clients on the driver's store")
    their_clients(peers)
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 5):
        print(f"PyTorch {torch.__version__}, the driver's client on its store")
        their_server(peers)
    print("ok")


if __name__ == "__main__":
    main()
