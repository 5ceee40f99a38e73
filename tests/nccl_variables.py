#!/usr/bin/env python3
"""Lists the environment variables that each release of NCCL reads.

    tests/nccl_variables.py NCCL_REPOSITORY > collector/src/doctor/variable/nccl.txt

NCCL_REPOSITORY: a clone of https://github.com/NVIDIA/nccl with its tags. Each line: the name, the
kind of its value (`number` where NCCL reads it with NCCL_PARAM, else `text`), the first release that reads
it, and the last one where later releases do not.
"""

import re
import subprocess
import sys

FORMS = [
    # NCCL_PARAM(IbTimeout, "IB_TIMEOUT", 20)
    (re.compile(r'\bNCCL_PARAM\w*\s*\(\s*\w+\s*,\s*"([A-Z0-9_]+)"'), "NCCL_"),
    # DEFINE_NCCL_PARAM(ncclParamDebugLevel, ncclDebugLogLevel, NCCL_DEBUG, ...)
    (re.compile(r"\bDEFINE_NCCL_PARAM\s*\(\s*\w+\s*,[^,]+,\s*(NCCL_[A-Z0-9_]+)"), ""),
    (re.compile(r'\b(?:ncclGetEnv|ncclGetEnvImpl|getenv|ncclLoadParam)\s*\(\s*"(NCCL_[A-Z0-9_]+)"'), ""),
    # Names in constants and arguments: userIfs = "NCCL_SOCKET_IFNAME".
    (re.compile(r'"(NCCL_[A-Z0-9_]{3,})"'), ""),
]
FOLDERS = ["src", "plugins", "ext-net", "ext-tuner", "ext-profiler"]


def git(repository, *words):
    return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True).stdout.decode(errors="replace")


def releases(repository):
    """The last tag of each minor release, oldest first."""
    last = {}
    for tag in git(repository, "tag").split():
        match = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)-(\d+)", tag)
        if match:
            major, minor, patch, build = map(int, match.groups())
            last[(major, minor)] = max(last.get((major, minor), (0, 0, "")), (patch, build, tag))
    return [(key, value[2]) for key, value in sorted(last.items())]


def names(repository, tag):
    present = set(git(repository, "ls-tree", "--name-only", tag).split())
    folders = [folder for folder in FOLDERS if folder in present]
    text = git(repository, "grep", "-h", "-E", "NCCL_|getenv|PARAM", tag, "--", *folders)
    text += git(repository, "grep", "-h", "-A1", "-E", "DEFINE_NCCL_PARAM", tag, "--", *folders) if "DEFINE_NCCL_PARAM" in text else ""
    numbers = {FORMS[0][1] + name for name in FORMS[0][0].findall(text)}
    return {prefix + name for form, prefix in FORMS for name in form.findall(text)}, numbers


def main():
    repository = sys.argv[1]
    first, last, final, numbers = {}, {}, None, set()
    for release, tag in releases(repository):
        final = release
        found, counted = names(repository, tag)
        numbers |= counted
        for name in found:
            first.setdefault(name, release)
            last[name] = release
    spell = lambda release: f"{release[0]}.{release[1]}"
    for name in sorted(first):
        print(name, "number" if name in numbers else "text", spell(first[name]), *([] if last[name] == final else [spell(last[name])]))


main()
