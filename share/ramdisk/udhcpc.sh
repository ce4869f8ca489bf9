#!/bin/sh
# Called by udhcpc: the network as the DHCP server says.
case $1 in
  bound | renew)
    ifconfig "$interface" "$ip" netmask "${subnet:-255.255.255.0}" up
    for gateway in $router; do route add default gw "$gateway" dev "$interface"; break; done
    : > /etc/resolv.conf
    for server in $dns; do echo "nameserver $server" >> /etc/resolv.conf; done
    ;;
esac
exit 0
