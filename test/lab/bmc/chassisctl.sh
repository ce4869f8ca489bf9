#!/bin/sh
# The chassis_control program of ipmi_sim without our module: chassisctl.sh DIRECTORY get|set [key [value]]...
# The state is in DIRECTORY/KEY.
directory=$1 operation=$2
shift 2

read_or() {
  cat "$directory/$1" 2>/dev/null || echo "$2"
}

case $operation in
  get)
    for key in "$@"; do
      case $key in
        power) echo "power:$(read_or power 0)" ;;
        boot) echo "boot:$(read_or boot default)" ;;
        *)
          echo "no such parameter: $key"
          exit 1
          ;;
      esac
    done
    ;;
  set)
    while [ $# -gt 0 ]; do
      key=$1 value=$2
      shift 2
      case $key in
        power | boot) echo "$value" >"$directory/$key" ;;
        reset) date +%s >"$directory/reset" ;;
        shutdown) echo 0 >"$directory/power" ;;
        identify)
          echo "$value" >"$directory/identify"
          case ${1:-} in [0-9]*) shift ;; esac
          ;;
        *)
          echo "no such parameter: $key"
          exit 1
          ;;
      esac
    done
    ;;
  *) exit 1 ;;
esac
exit 0
