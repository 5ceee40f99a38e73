# $1: 0 when the package is removed.
if [ "$1" -eq 0 ] && [ -x /usr/bin/systemctl ]; then
  systemctl --no-reload disable --now railscope-agent.service || :
fi
