# All of the disk that was chosen; others are not changed.
cat >/tmp/partitionfile <<DEFINITIONS
ignoredisk --only-use=$disk
zerombr
clearpart --all --initlabel --drives=$disk
bootloader --boot-drive=$disk
autopart --type=lvm --nohome
DEFINITIONS
