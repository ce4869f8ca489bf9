# Runs a program in the tree $1 as engines of containers do, with the directory $2 at $3. Runs in namespaces of its own.
set -eu
root=$1 volume=$2 at=$3
shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do cp -a "/dev/$device" "$root/dev/$device"; done
mkdir "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
mount --bind "$volume" "$root$at"
ip link set lo up
# The capabilities that podman leaves by default.
exec setpriv --no-new-privs --bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+net_bind_service,+setfcap,+setgid,+setpcap,+setuid,+sys_chroot --inh-caps=-all \
  chroot "$root" "$@"
