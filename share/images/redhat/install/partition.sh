# All of the first disk that is neither removable nor read-only; others are not changed.
for name in /sys/block/[shv]d* /sys/block/nvme*; do
  [ -e "$name/device" ] || continue
  [ "$(cat "$name/removable")" = 0 ] && [ "$(cat "$name/ro")" = 0 ] || continue
  disk=${name##*/}
  break
done
if [ -z "$disk" ]; then
  echo 'There is no disk to install to.' >&2
  exit 1
fi
cat >/tmp/partitionfile <<DEFINITIONS
ignoredisk --only-use=$disk
zerombr
clearpart --all --initlabel --drives=$disk
bootloader --boot-drive=$disk
autopart --type=lvm --nohome
DEFINITIONS
