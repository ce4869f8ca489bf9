#!/bin/sh
# The place where cases are replayed: the machine "mn" with networks, a root directory and a hosts file of its own. Expects to be in new
# mount, network and UTS namespaces; runs the given program there. What is mounted goes with the namespace.
set -eu

root=$1
shift

hostname mn
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
ip link set lo up
for number in 0 1; do
  ip link add "eth$number" type veth peer name "wire$number"
  ip link set "eth$number" up
  ip link set "wire$number" up
done
ip address add 10.0.0.1/16 dev eth0
ip address add 10.2.0.1/16 dev eth1
# n1 to n3 are reached; nobody answers for the other nodes.
ip netns add nodes
ip link set wire0 netns nodes
ip -n nodes link set lo up
ip -n nodes link set wire0 up
for last in 11 12 13; do ip -n nodes address add "10.0.0.$last/16" dev wire0; done

mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir -m 700 "$root/root"
mkdir -p "$root/tftpboot" "$root/install/rhels8.6/x86_64/images/pxeboot"
for file in vmlinuz initrd.img; do echo "$file" > "$root/install/rhels8.6/x86_64/images/pxeboot/$file"; done
# Files there are replaced, which no mounted file can be.
cp -a /etc "$root/etc"
printf '127.0.0.1 localhost\n10.0.0.1 mn.cluster.com mn\n' > "$root/etc/hosts"
for entry in /*; do
  here=$root$entry
  case $entry in /etc | /root | /tftpboot | /install) continue ;; esac
  if [ -L "$entry" ]; then
    cp -P "$entry" "$here"
  elif [ -d "$entry" ]; then
    mkdir -p "$here"
    mount --rbind "$entry" "$here"
  elif [ -f "$entry" ]; then
    : > "$here"
    mount --bind "$entry" "$here"
  fi
done
# What this needs may lie below one of the directories that are others here.
for needed in "$PWD" "${TMPDIR:-/tmp}"; do
  [ -d "$root$needed" ] && continue
  mkdir -p "$root$needed"
  mount --rbind "$needed" "$root$needed"
done
here=$PWD
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$here" "$@"
