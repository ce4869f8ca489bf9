# Leaves in $disk the name of the disk that $wanted names (/dev/NAME, serial=NUMBER or wwn=NUMBER); if that is empty, of the first one that
# can be written and is neither removable nor on USB.
names_of() {
  for file in serial wwid device/serial device/wwid; do
    [ ! -e "$1/$file" ] || { cat "$1/$file" || :; echo; }
  done
  [ ! -e "$1/device/vpd_pg80" ] || tail -c +5 "$1/device/vpd_pg80"
}
bare_number() {
  tr -d ' \000' | sed 's/^[Nn][Aa][Aa]\.//; s/^[Ee][Uu][Ii]\.//; s/^nvme\.//; s/^t10\.//; s/^0[xX]//'
}
is_called() {
  number=$(echo "$2" | bare_number)
  [ -n "$number" ] && names_of "$1" | bare_number | grep -qixF -e "$number"
}
is_fixed() {
  [ "$(cat "$1/removable")" = 0 ] || return 1
  case $(readlink -f "$1/device") in */usb*) return 1 ;; esac
}
disk= several=
for place in /sys/block/*; do
  case $wanted in
    /dev/*)
      [ "${place##*/}" = "${wanted#/dev/}" ] && [ "$(cat "$place/ro")" = 0 ] || continue
      ;;
    *)
      [ -e "$place/device" ] && [ "$(cat "$place/ro")" = 0 ] && [ "$(cat "$place/size")" != 0 ] || continue
      case ${place##*/} in sr* | fd* | loop* | ram* | zram* | md* | dm-* | mtd* | nbd*) continue ;; esac
      [ ! -e "$place/hidden" ] || [ "$(cat "$place/hidden")" = 0 ] || continue
      if [ -z "$wanted" ]; then is_fixed "$place" || continue; else is_called "$place" "${wanted#*=}" || continue; fi
      ;;
  esac
  [ -z "$disk" ] || several="${several:-$disk} ${place##*/}"
  disk=${disk:-${place##*/}}
  [ -n "$wanted" ] || break
done
if [ -n "$several" ]; then
  echo "Several disks are called $wanted (osvolume): $several. Name one of them by its wwn or its path." >&2
  exit 1
fi
if [ -z "$disk" ]; then
  echo "There is no disk to install to${wanted:+: $wanted (osvolume)}." >&2
  exit 1
fi
