# $1: 1 and more after an upgrade.
if [ -x /usr/bin/systemctl ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || :
  if [ "$1" -ge 1 ]; then
    systemctl try-restart railscope-agent.service || :
  fi
fi
# The package owns its files; folders of its own that are empty now go with them.
if [ "$1" -eq 0 ]; then
  for folder in doc/railscope/examples/prometheus doc/railscope/examples/grafana doc/railscope/examples doc/railscope licenses/railscope; do
    rmdir "/usr/share/$folder" 2> /dev/null || :
  done
  rmdir /etc/railscope 2> /dev/null || :
fi
