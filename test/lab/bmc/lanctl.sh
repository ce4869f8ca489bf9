#!/bin/sh
# The lan_config_program of ipmi_sim: lanctl.sh DIRECTORY ADDRESS MAC get|set|check [key [value]]...
# What has been set is kept in DIRECTORY/lan.KEY.
directory=$1 address=$2 mac=$3 operation=$4
shift 4

default() {
  case $1 in
    ip_addr) echo "$address" ;;
    ip_addr_src) echo static ;;
    mac_addr) echo "$mac" ;;
    subnet_mask) echo 255.0.0.0 ;;
    default_gw_ip_addr | backup_gw_ip_addr) echo 0.0.0.0 ;;
    default_gw_mac_addr | backup_gw_mac_addr) echo 00:00:00:00:00:00 ;;
    *) return 1 ;;
  esac
}

case $operation in
  get)
    for key in "$@"; do
      value=$(cat "$directory/lan.$key" 2>/dev/null || default "$key") || {
        echo "no such parameter: $key"
        exit 1
      }
      echo "$key:$value"
    done
    ;;
  set)
    while [ $# -gt 1 ]; do
      echo "$2" >"$directory/lan.$1"
      shift 2
    done
    ;;
esac
exit 0
