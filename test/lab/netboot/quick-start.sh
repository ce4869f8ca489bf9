#!/bin/sh
# Runs in the lab's image when it is built. An emulated processor is slow: what no test looks at is left out of a start.
set -e
# Prime numbers for a key of RSA take it half a minute. The node makes the other keys by itself.
mkdir -p /usr/share/lab
ssh-keygen -q -t rsa -N '' -f /usr/share/lab/ssh_host_rsa_key
echo 'C /etc/ssh/ssh_host_rsa_key 0600 root root - /usr/share/lab/ssh_host_rsa_key' > /etc/tmpfiles.d/lab.conf
# Without D-Bus, systemd-logind is started again and again.
for unit in \
  systemd-logind.service systemd-binfmt.service systemd-pstore.service systemd-random-seed.service systemd-update-utmp.service \
  systemd-update-utmp-runlevel.service e2scrub_reap.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
  e2scrub_all.timer fstrim.timer getty-static.service getty@tty1.service; do
  ln -sf /dev/null "/etc/systemd/system/$unit"
done
# On a busy machine udev takes minutes to find a disk.
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\nDefaultDeviceTimeoutSec=15min\n' > /etc/systemd/system.conf.d/lab.conf
