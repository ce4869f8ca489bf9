/**
 * The first program of a node that boots an image. It gets an address, fetches the root by HTTP, checks it and goes there. On the kernel's
 * command line: `imgurl=URL` and `imgsum=sha256:HEX`, and perhaps `BOOTIF=`, `netdev=` or `ip=` with what else is known of the network.
 */
export const initScript = `#!/bin/sh
# Made by muster.
export PATH=/bin
say() { echo "muster: $*" > /dev/console; }
stop() {
  say "$*"
  case " $(cat /proc/cmdline) " in *" muster.shell "*) exec setsid cttyhack sh ;; esac
  say "The node starts anew in 60 seconds."
  sleep 60
  reboot -f
  while :; do sleep 60; done
}
mount -t devtmpfs dev /dev 2> /dev/null || mdev -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 run /run
echo 3 > /proc/sys/kernel/printk
url= sum= bootif= netdev= ip=
for word in $(cat /proc/cmdline); do
  case $word in
    imgurl=*) url=\${word#*=} ;;
    imgsum=sha256:*) sum=\${word#*:} ;;
    BOOTIF=*) bootif=$(echo "\${word#*=}" | tr A-F a-f | sed 's/^01-//; s/-/:/g') ;;
    netdev=*) netdev=\${word#*=} ;;
    ip=*) ip=\${word#*=} ;;
  esac
done
[ -n "$url" ] || stop "The kernel's command line does not say where the image is (imgurl=)."
[ -n "$sum" ] || stop "The kernel's command line does not say the image's checksum (imgsum=sha256:...)."

for module in $(cat /etc/modules); do modprobe -q "$module"; done
# The driver of a bus shows what is on it, so this is done again.
for pass in 1 2 3; do
  find /sys/devices -name modalias -exec cat {} + 2> /dev/null | sort -u | while read -r alias; do modprobe -q "$alias"; done
done

ip link set lo up
address_of() { cat "/sys/class/net/$1/address" 2> /dev/null; }
cards() {
  for card in /sys/class/net/*; do
    card=\${card##*/}
    [ -e "/sys/class/net/$card/device" ] || continue
    [ -z "$netdev" ] || [ "$netdev" = "$card" ] || continue
    [ -z "$bootif" ] || [ "$bootif" = "$(address_of "$card")" ] || continue
    echo "$card"
  done
}
connected=
fixed=\${ip%%:*}
tries=0
while [ -z "$connected" ] && [ "$tries" -lt 30 ]; do
  for card in $(cards); do
    ip link set "$card" up
    case $fixed in
      [0-9]*)
        mask=$(echo "$ip" | cut -d: -f4) gateway=$(echo "$ip" | cut -d: -f3)
        ifconfig "$card" "$fixed" netmask "\${mask:-255.255.255.0}" up
        [ -z "$gateway" ] || route add default gw "$gateway"
        connected=$card
        ;;
      *) udhcpc -q -n -t 5 -T 2 -i "$card" -s /etc/udhcpc.sh > /dev/null 2>&1 && connected=$card ;;
    esac
    [ -z "$connected" ] || break
  done
  tries=$((tries + 1))
  [ -n "$connected" ] || sleep 1
done
[ -n "$connected" ] || stop "No network card got an address."
say "$connected is up; fetching $url"

# Where the root is to be written to a disk instead, this is the place: nothing below needs it in memory.
mkdir -p /run/image
mount -t tmpfs -o size=90%,mode=755 image /run/image
file=/run/image/root
tries=0
# The timeout of wget itself crashes some statically linked ones.
until timeout 1800 wget -q -O "$file" "$url" && echo "$sum  $file" | sha256sum -c > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 5 ] || stop "$url cannot be fetched, or it is not what its checksum says."
  say "That failed; trying again."
  sleep $((tries * 2))
done

mkdir -p /newroot
if [ "$(head -c 4 "$file")" = hsqs ]; then
  mkdir -p /run/image/lower /run/image/upper /run/image/work
  mount -t squashfs -o loop,ro "$file" /run/image/lower || stop "The image cannot be mounted."
  mount -t overlay -o "lowerdir=/run/image/lower,upperdir=/run/image/upper,workdir=/run/image/work" overlay /newroot ||
    stop "The image cannot be made writable."
else
  mount -t tmpfs -o size=90%,mode=755 root /newroot
  case $(head -c 6 "$file" | hexdump -v -e '1/1 "%02x"') in
    1f8b*) unpack=gunzip ;;
    fd377a58*) unpack=unxz ;;
    *) unpack=cat ;;
  esac
  (cd /newroot && $unpack < "$file" | cpio -idm 2> /dev/null) || stop "The image cannot be unpacked."
  rm -f "$file"
fi
start=
for each in /sbin/init /lib/systemd/systemd /usr/lib/systemd/systemd /init; do
  [ -z "$start" ] && { [ -x "/newroot$each" ] || [ -L "/newroot$each" ]; } && start=$each
done
[ -n "$start" ] || stop "There is no program in the image to start with."
mkdir -p /newroot/run /newroot/proc /newroot/sys /newroot/dev
for each in dev proc sys run; do mount --move "/$each" "/newroot/$each"; done
exec switch_root /newroot "$start"
stop "The image cannot be entered."
`;

/** Called by udhcpc: the network as the DHCP server says. */
export const networkScript = `#!/bin/sh
case $1 in
  bound | renew)
    ifconfig "$interface" "$ip" netmask "\${subnet:-255.255.255.0}" up
    for gateway in $router; do route add default gw "$gateway" dev "$interface"; break; done
    : > /etc/resolv.conf
    for server in $dns; do echo "nameserver $server" >> /etc/resolv.conf; done
    ;;
esac
exit 0
`;
