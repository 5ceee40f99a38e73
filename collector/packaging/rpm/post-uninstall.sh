# $1: 1 and more after an upgrade.
if [ -x /usr/bin/systemctl ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || :
  if [ "$1" -ge 1 ]; then
    systemctl try-restart railscope-agent.service || :
  fi
fi
