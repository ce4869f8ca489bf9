import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ramdiskFiles } from '../../shipped-files.ts';

/** What the scripts call. They are run by busybox alone, whatever the image has. */
export const applets =
  'sh cat chmod chroot cp cpio cttyhack cut dd echo find findfs grep gunzip head hexdump hostname ifconfig insmod ip kill ln ls mdev mkdir modprobe mount mv nslookup poweroff printf readlink reboot rm route sed setsid sha256sum sleep sort switch_root sync tail tar timeout tr udhcpc umount uname unxz wget';

/** The scripts of the initial RAM disk, by their places in it. */
export function ramdiskScripts(): Map<string, Buffer> {
  const places = new Map([
    ['init', 'init'],
    ['udhcpc.sh', 'etc/udhcpc.sh'],
    ['first-boot', 'etc/first-boot'],
    ...namesIn('lib').map((name) => [`lib/${name}`, `lib/muster/${name}`] as const),
    ...namesIn('tools').map((name) => [`tools/${name}`, `lib/tools/${name}`] as const),
  ]);
  return new Map([...places].map(([file, place]) => [place, readFileSync(join(ramdiskFiles, file))]));
}

const namesIn = (directory: string): string[] => readdirSync(join(ramdiskFiles, directory));
