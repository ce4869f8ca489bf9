import { quoteWord } from '../../core/shell-words.ts';
import { type InstallFacts, nodeUrl } from './facts.ts';

/** Fetches a file, and reports a step, with what a system has. */
const helpers = `fetch() {
  if command -v curl >/dev/null; then curl -sf -m 300 --retry 5 -o "$2" "$1"; else wget -q -T 300 -O "$2" "$1"; fi
}
report() {
  if command -v curl >/dev/null; then
    curl -s -m 60 --retry 5 -H 'Content-Type: text/plain' --data-binary "$1" "$report_url" >/dev/null
  else
    wget -q -T 60 -O /dev/null --header='Content-Type: text/plain' --post-data="$1" "$report_url"
  fi || true
}
host_keys() {
  for each in /etc/ssh/ssh_host_*_key.pub; do
    if [ -s "$each" ]; then sed -n 's/^\\([a-z0-9-]* [A-Za-z0-9+/=]*\\).*/hostkey \\1/p' "$each"; fi
  done
}`;

/**
 * What an installer runs in the system that it has made, whichever it is: muster may log in, time comes from the site's servers, and
 * the first boot fetches and runs the node's scripts and says that it is done.
 */
export function installedScript(facts: InstallFacts): string {
  return `#!/bin/sh
set -eu
umask 022

mkdir -p /root/.ssh
chmod 700 /root/.ssh
printf '%s\\n' ${quoteWord(facts.publicKey)} >>/root/.ssh/authorized_keys
chmod 600 /root/.ssh/authorized_keys
${timeServers(facts)}
cat >/usr/local/sbin/muster-first-boot <<'SCRIPT'
${firstBoot(facts)}
SCRIPT
chmod 700 /usr/local/sbin/muster-first-boot

cat >/etc/systemd/system/muster-first-boot.service <<'UNIT'
[Unit]
Description=Scripts of the first boot
Wants=network-online.target
After=network-online.target sshd.service ssh.service

[Service]
Type=oneshot
ExecStart=/bin/sh /usr/local/sbin/muster-first-boot

[Install]
WantedBy=multi-user.target
UNIT
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -sf ../muster-first-boot.service /etc/systemd/system/multi-user.target.wants/muster-first-boot.service
if command -v restorecon >/dev/null; then restorecon -R /root/.ssh /usr/local/sbin /etc/systemd/system; fi
`;
}

/** All images have chrony in their lists; where it reads a directory of sources, that is enough. */
function timeServers({ timeServers: servers }: InstallFacts): string {
  if (servers.length === 0) return '';
  const words = servers.map(({ value }) => quoteWord(`server ${value} iburst`)).join(' ');
  return `if [ -d /etc/chrony/sources.d ]; then printf '%s\\n' ${words} >/etc/chrony/sources.d/muster.sources; fi\n`;
}

/** The scripts fetch each other with what is called busybox in an initial RAM disk; here it stands for what the system has. */
const stand = `#!/bin/sh
case $1 in
  timeout) shift; exec timeout "$@" ;;
  wget) if command -v curl >/dev/null; then exec curl -sf -o "$4" "$5"; else exec "$@"; fi ;;
esac
exit 1`;

const firstBoot = (facts: InstallFacts): string => `report_url=${quoteWord(nodeUrl(facts, 'report').value)}
scripts_url=${quoteWord(nodeUrl(facts, 'postscripts').value)}
${helpers}
systemctl disable muster-first-boot.service
report booting
failed=
work=$(mktemp -d)
if fetch "$scripts_url/first-boot.sh" "$work/first-boot.sh"; then
  report postscripts
  cat >"$work/busybox" <<'STAND'
${stand}
STAND
  chmod 700 "$work/busybox"
  export MUSTER_BUSYBOX="$work/busybox" MUSTER_FILES="$scripts_url/files"
  sh "$work/first-boot.sh" >"$work/output" 2>&1 || failed=" $(tail -n 1 "$work/output")"
  cat "$work/output" >>/var/log/muster-first-boot.log
fi
rm -rf "$work" /usr/local/sbin/muster-first-boot /etc/systemd/system/muster-first-boot.service
keys=$(host_keys)
[ -z "$keys" ] || report "$keys"
report "booted$failed"`;
