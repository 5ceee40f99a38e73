# $1: 1 at the first installation, 2 and more at an upgrade.
if [ "$1" -eq 1 ] && [ -x /usr/bin/systemctl ]; then
  systemctl --no-reload preset railscope-agent.service || :
fi
