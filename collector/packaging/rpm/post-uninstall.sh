# $1: 1 and more after an upgrade.
if [ -x /usr/bin/systemctl ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload || :
  if [ "$1" -ge 1 ]; then
    systemctl try-restart railscope-agent.service || :
  fi
fi
# The package owns its files only; folders of its own that are empty now go with them. Saved captures stay.
if [ "$1" -eq 0 ]; then
  find /etc/railscope /usr/lib/railscope /usr/share/railscope /usr/share/licenses/railscope /var/lib/private/railscope \
    -depth -type d -empty -delete 2> /dev/null || :
  # systemd's link to the last one.
  [ -e /var/lib/railscope ] || rm -f /var/lib/railscope
fi
