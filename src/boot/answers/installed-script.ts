import { quoteWord } from '../../core/shell-words.ts';
import { type InstallFacts, nodeUrl } from './facts.ts';

/** Fetches a file with what a system has. */
const fetching = `fetch() {
  if command -v curl >/dev/null; then curl -sf -m 300 --retry 5 -o "$2" "$1"; else wget -q -T 300 -O "$2" "$1"; fi
}`;

/** The same, and reports a step. */
const fetchingAndReporting = `${fetching}
report() {
  if command -v curl >/dev/null; then
    curl -sf -m 60 --retry 5 -o /dev/null -H 'Content-Type: text/plain' --data-binary "$1" "$report_url"
  else
    wget -q -T 60 -O /dev/null --header='Content-Type: text/plain' --post-data="$1" "$report_url"
  fi
}`;

const helpers = `${fetchingAndReporting}
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
${timeServers(facts)}${overlay(facts)}
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

/** Files of the node's own; without them it is not what it is to be, so the installation fails. */
function overlay(facts: InstallFacts): string {
  if (!facts.hasOverlay) return '';
  return `
${fetching}
overlay=$(mktemp -d)
fetch ${quoteWord(nodeUrl(facts, 'overlay').value)} "$overlay/archive"
tar -xf "$overlay/archive" -C "$overlay"
sh "$overlay/place" "$overlay"
rm -rf "$overlay"
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

/** How often the first boot asks for one thing, for how many seconds, and the seconds in between: up to ten minutes. */
const firstBootTries = 30;
const firstBootSeconds = 10;
const firstBootPause = 10;

/**
 * Asks muster until it answers for good: it does so also by refusing. The network may come long after its target, and a proxy before muster.
 * A transfer that broke off is none, whatever its status was.
 */
const asking = `ask() {
  file=$1 url=$2
  shift 2
  if command -v curl >/dev/null; then
    [ $# -eq 0 ] || set -- -H 'Content-Type: text/plain' --data-binary "$1"
    code=$(curl -s -m ${firstBootSeconds} -o "$file" -w '%{http_code}' "$@" "$url") || code=000
  else
    [ $# -eq 0 ] || set -- --header='Content-Type: text/plain' --post-data="$1"
    if answer=$(wget -nv -S -t 1 -T ${firstBootSeconds} -O "$file" "$@" "$url" 2>&1); then whole=yes; else whole=; fi
    code=$(printf '%s\\n' "$answer" | sed -n 's|^ *HTTP/[0-9.]* \\([0-9][0-9]*\\).*|\\1|p' | tail -n 1)
    case $whole$code in 2*) code=000 ;; esac
  fi
}
insist() {
  tries=0
  while ask "$@"; do
    case $code in 2*|403|404) return ;; esac
    tries=$((tries + 1))
    if [ $tries -ge ${firstBootTries} ]; then
      echo "$url cannot be reached: the last status was \${code:-none}." >&2
      return 1
    fi
    sleep ${firstBootPause}
  done
}`;

/** It is disabled before the scripts run, which may restart the node; until then the next boot tries again. */
const firstBoot = (facts: InstallFacts): string => `report_url=${quoteWord(nodeUrl(facts, 'report').value)}
scripts_url=${quoteWord(nodeUrl(facts, 'postscripts').value)}
${helpers}
${asking}
work=$(mktemp -d)
if ! insist /dev/null "$report_url" booting || ! insist "$work/first-boot.sh" "$scripts_url/first-boot.sh"; then
  rm -rf "$work"
  echo 'The scripts of the first boot run at the next boot.' >&2
  exit 1
fi
systemctl disable muster-first-boot.service
failed=
case $code in 2*)
  report postscripts
  cat >"$work/busybox" <<'STAND'
${stand}
STAND
  chmod 700 "$work/busybox"
  export MUSTER_BUSYBOX="$work/busybox" MUSTER_FILES="$scripts_url/files"
  sh "$work/first-boot.sh" >"$work/output" 2>&1 || failed=" $(tail -n 1 "$work/output")"
  cat "$work/output" >>/var/log/muster-first-boot.log
  ;;
esac
rm -rf "$work" /usr/local/sbin/muster-first-boot /etc/systemd/system/muster-first-boot.service
keys=$(host_keys)
[ -z "$keys" ] || report "$keys"
insist /dev/null "$report_url" "booted$failed" || true`;

/**
 * What all installers end with: it runs the script above in the new system, and reports how that ended. If it failed, or if nobody takes
 * the report, the installer stops there: a machine that went on would be installed again at its next boot.
 */
export const finishScript = (facts: InstallFacts): string => `#!/bin/sh
# finish.sh TARGET [COMMAND...]: the new system lies below TARGET, and COMMAND runs programs in it.
rm -f "$0"
umask 077
target=\${1%/}
shift
report_url=${quoteWord(nodeUrl(facts, 'report').value)}
${fetchingAndReporting}
fail() {
  report "failed $1" || true
  echo "muster: $1" >&2
  exit 1
}
fetch ${quoteWord(nodeUrl(facts, 'answer', 'installed.sh').value)} "$target/root/installed.sh" || fail 'installed.sh could not be fetched'
"$@" sh -c 'sh /root/installed.sh >/root/installed.log 2>&1' ||
  fail "installed.sh stopped: $(tail -n 1 "$target/root/installed.log")"
rm -f "$target/root/installed.sh" "$target/root/installed.log"
tries=1
until report installed; do
  [ "$tries" -lt 60 ] || fail 'the server did not take the report that the node is installed'
  tries=$((tries + 1))
  sleep 10
done
`;
