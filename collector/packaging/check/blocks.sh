#!/usr/bin/env bash
# Prints the commands of docs/DEPLOY.md that are marked with a name: blocks.sh deb
set -euo pipefail
page=$(dirname "$0")/../../../docs/DEPLOY.md
commands=$(awk -v head='```sh '"$1" '$0 == head { on = 1; next } /^```/ { on = 0 } on' "$page")
[ -n "$commands" ] || { echo "error: docs/DEPLOY.md has no block '$1'" >&2; exit 1; }
printf 'set -euo pipefail\n%s\n' "$commands"
