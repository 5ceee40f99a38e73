#!/usr/bin/env python3
"""Which versions of the profiler interface each released NCCL asks for, read in the libraries of PyPI's wheels.

    wheels.py [RELEASE...]     default: every release of nvidia-nccl-cu12 from 2.23; prints a table (wheels.md)

Each wheel is downloaded into a temporary folder, of which only `libnccl.so.2` is looked at, and removed. It is
run by hand: a wheel has 200 MB and more. Structures are compared with collector/profiler/src/abi.rs where the
library has debug information, which needs gdb.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "nvidia-nccl-cu12"
OLDEST = (2, 23)
LIBRARY = "nvidia/nccl/lib/libnccl.so.2"
ABI = pathlib.Path(__file__).parents[2] / "collector/profiler/src/abi.rs"

# Structures of NCCL's headers, and ours: the member of the union that holds the type's own members.
STRUCTURES = {
    ("v1", "coll"): "CollV1", ("v2", "coll"): "CollV2", ("v3", "coll"): "CollV3", ("v4", "coll"): "CollV4",
    ("v5", "coll"): "CollV5", ("v6", "coll"): "CollV5", ("v7", "coll"): "CollV7",
    ("v1", "p2p"): "P2pV1", ("v2", "p2p"): "P2pV2", ("v3", "p2p"): "P2pV2", ("v4", "p2p"): "P2pV4",
    ("v5", "p2p"): "P2pV5", ("v6", "p2p"): "P2pV5", ("v7", "p2p"): "P2pV7",
    **{(f"v{version}", "proxyOp"): "ProxyOp" for version in range(1, 8)},
    **{(f"v{version}", "proxyStep"): "ProxyStep" for version in range(1, 8)},
}
# NCCL's names of members, where ours are others.
NAMES = {
    "commHash": "comm_hash", "seqNumber": "sequence", "sendBuff": "send", "recvBuff": "recv",
    "trafficBytes": "traffic_bytes", "nMaxChannels": "channels", "nChannels": "channels", "nWarps": "warps",
    "isCollnet": "is_collnet", "isNvls": "is_nvls", "parentGroup": "parent_group",
    "kernelVariant": "kernel_variant", "isSymColl": "is_symmetric", "userTag": "user_tag", "buff": "buffer",
    "channelId": "channel", "nSteps": "transfers", "chunkSize": "chunk_size", "isSend": "is_send", "step": "number",
}


def ours():
    """Offsets that abi.rs asserts, by structure and member."""
    offsets = {}
    for name, members in re.findall(r"layout!\((?:Old|New)<(\w+)>(?:, size \d+)?:(.*?)\);", ABI.read_text(), re.S):
        known = offsets.setdefault(name, {})
        for path, offset in re.findall(r"body\.0\.([\w.]+) = (\d+)", members):
            known[path.rsplit(".", 1)[-1]] = int(offset)
    # A later version has the members of the one before.
    for later, before in (("CollV7", "CollV5"), ("P2pV5", "P2pV4"), ("P2pV7", "P2pV5")):
        offsets[later] = {**offsets[before], **offsets[later]}
    return offsets


def described(library, version):
    """Offsets in the library's debug information: {member of the union: {member: offset}}."""
    asked = f"ptype /o ncclProfilerEventDescr_{version}_t"
    shown = subprocess.run(["gdb", "-q", "-batch", "-ex", asked, library], capture_output=True, text=True, check=False)
    found, open_members = {}, []
    for line in shown.stdout.splitlines():
        member = re.match(r"/\*\s*(\d+)(?::\s*\d+)?\s*\|\s*\d+\s*\*/\s+(.*?)(\w+)(?:\[\d+\])?;$", line)
        if member and open_members:
            open_members[-1][member[3]] = int(member[1])
        if re.search(r"(struct|union)\b.*\{$", line):
            open_members.append({})
        closed = re.match(r"[^}]*\} (\w+);$", line)
        if closed and open_members:
            found[closed[1]] = open_members.pop()
    return found


def compared(library, versions):
    """What comparing the structures says: '' if all members agree."""
    known, count, wrong = ours(), 0, []
    for version in versions:
        found = described(library, version)
        for (of, union), name in STRUCTURES.items():
            if of != version:
                continue
            for member, offset in found.get(union, {}).items():
                own = known[name].get(NAMES.get(member, member))
                count += 1
                if own != offset:
                    wrong.append(f"{version} {union}.{member}: {offset}, ours {own}")
    return f"{count} members, all as ours" if count and not wrong else "; ".join(wrong) or "none of the structures"


def sections(library):
    """Where each section lies in the file, and how long it is."""
    shown = subprocess.run(["readelf", "-S", "-W", library], capture_output=True, text=True, check=True)
    lines = re.findall(r"\]\s(\.\S+)\s+\S+\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) ", shown.stdout)
    return {name: (int(offset, 16), int(size, 16)) for name, offset, size in lines}


def read_only(library):
    """The strings of the program itself: its symbols have the same names, and are elsewhere."""
    offset, size = sections(library)[".rodata"]
    with open(library, "rb") as file:
        file.seek(offset)
        return file.read(size)


def releases():
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", PACKAGE], capture_output=True, text=True, check=True
    )
    listed = re.search(r"Available versions: (.*)", shown.stdout)[1].split(", ")
    return [one for one in reversed(listed) if tuple(int(part) for part in one.split(".")[:2]) >= OLDEST]


def look(release, folder):
    """One row of the table."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--no-cache-dir", "--only-binary", ":all:", "--dest", folder, f"{PACKAGE}=={release}"],
        check=True,
    )
    wheel = next(pathlib.Path(folder).glob("*.whl"))
    library = pathlib.Path(folder, "libnccl.so.2")
    with zipfile.ZipFile(wheel).open(LIBRARY) as packed, library.open("wb") as out:
        shutil.copyfileobj(packed, out)
    wheel.unlink()
    constants = read_only(str(library))
    # The linker joins strings with equal ends: a name may be the end of a message.
    asked = sorted({int(number) for number in re.findall(rb"ncclProfiler_v(\d+)\0", constants)}, reverse=True)
    messages = (text.decode() for text in re.findall(rb"PROFILER/Plugin: ([\x20-\x7e]*[lL]oaded[\x20-\x7e]*)", constants))
    # Of messages by version, that of the newest.
    newest = [text for text in sorted(set(messages)) if f"v{asked[0]}" in text or not re.search(r"v\d", text)]
    debug = ".debug_info" in sections(str(library))
    versions = [f"v{number}" for number in sorted(asked)]
    structures = compared(str(library), versions) if debug else "no debug information"
    names = ", ".join(f"v{number}" for number in asked)
    library.unlink()
    return (
        f"| {release} | {names} | {'v' + str(asked[0]) if asked and asked[0] <= 7 else '?'} "
        f"| {'; '.join(f'`{text}`' for text in newest)} | {structures} |"
    )


def main():
    print("| release | symbols that it asks for, newest first | taken of ours | logged, after `PROFILER/Plugin:` | structures |")
    print("|---|---|---|---|---|")
    for release in sys.argv[1:] or releases():
        with tempfile.TemporaryDirectory(prefix="railscope-wheels-") as folder:
            print(look(release, folder), flush=True)


if __name__ == "__main__":
    main()
