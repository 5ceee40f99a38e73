#!/usr/bin/env bash
# Installs the .deb in a clean Debian with the commands of docs/DEPLOY.md; then upgrades, rolls back, removes and
# purges it.
#   debian.sh [SUITE]     default: the release of this machine
source "$(dirname "$0")/machine.sh"
need cargo-deb lintian
# shellcheck source=/dev/null
make_root "${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}"
cp "$out"/railscope_*_amd64.deb "$machine_root/packages/"
# The same files as the next revision.
cargo deb --quiet --no-build --no-strip --fast --package railscope --deb-revision 2 \
  --output "$machine_root/packages/later/" > /dev/null
boot
run_page deb
judge_agent deb /lib/systemd/system
judge_plugin libnccl-profiler-railscope.so
judge_reload
start_prometheus

# systemd's watchdog of the agent: a stuck one is killed and started again.
short=/run/systemd/system/railscope-agent.service.d/short.conf
inside mkdir -p "$(dirname "$short")"
printf '[Service]\nWatchdogSec=5\nTimeoutAbortSec=2\nRestartSec=0\n' | inside tee "$short" > /dev/null
inside systemctl daemon-reload && inside systemctl restart railscope-agent
stuck=$(property MainPID)
inside bash -c "kill -STOP $stuck"
for _ in $(seq 100); do
  [ "$(property MainPID)" != "$stuck" ] && [ "$(property SubState)" = running ] && break
  sleep 0.2
done
[ "$(property NRestarts)" -ge 1 ] || fail "a stuck agent was not restarted"
echo "$machine: a stuck agent was restarted by the watchdog"

# A mistake in the settings: the unit gives up, until somebody corrects it.
settings=/etc/railscope/collector.toml
inside sed -i '$a wrong' "$settings"
inside systemctl restart --no-block railscope-agent
for _ in $(seq 100); do
  [ "$(property SubState)" = failed ] && break
  sleep 0.2
done
[ "$(property SubState)" = failed ] || fail "with wrong settings the unit is $(property SubState)"
echo "$machine: with wrong settings the unit failed after $(property NRestarts) restarts"
inside sed -i '$d' "$settings"
inside systemctl reset-failed railscope-agent
inside rm "$short" && inside systemctl daemon-reload && inside systemctl restart railscope-agent

upgrade_by bash -c 'apt-get install --yes ./later/railscope_*_amd64.deb'
roll_back_by bash -c 'apt-get install --yes --allow-downgrades ./railscope_*_amd64.deb'
quietly remove apt-get remove --yes railscope
judge_removed
inside test -e /etc/railscope/collector.toml || fail "remove takes the settings"
quietly purge apt-get purge --yes railscope
judge_left
echo "$machine: removed and purged"
