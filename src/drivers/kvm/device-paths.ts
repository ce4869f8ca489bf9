import { posix } from 'node:path';

/** Directories of /dev that are no volume groups. */
const notGroups: ReadonlySet<string> = new Set(
  'block bsg bus cciss disk drbd input loop mapper md mqueue net pts rbd shm snd vfio zvol'.split(' '),
);

/** The volume group that a device is of, as far as its path shows. */
export function groupOf(path: string): string | undefined {
  const group = /^\/dev\/([\w.+-]+)\/[^/]+$/.exec(path)?.[1];
  return group === undefined || notGroups.has(group) ? undefined : group;
}

/** Files in memory are below /dev too. */
export const isDevice = (path: string): boolean => path.startsWith('/dev/') && !path.startsWith('/dev/shm/');

/** What the device mapper calls a volume of LVM: its group and its name, with dashes in either written twice. */
const mapped = /^\/dev\/(?:mapper\/|disk\/by-id\/dm-name-)((?:[^-]|--)+)-((?:[^-]|--)+)$/;

/** The one of its names that a volume of LVM is compared by. Of other devices muster cannot know the other names. */
export function deviceName(path: string): string {
  const [, group, volume] = mapped.exec(path) ?? [];
  return group && volume ? `/dev/${group.replaceAll('--', '-')}/${volume.replaceAll('--', '-')}` : path;
}

/** Whether a device of that name may be the same one on two hypervisors. Each has a first disk of its own that is called sda. */
export const isOfMany = (path: string): boolean =>
  groupOf(path) !== undefined || /^\/dev\/(mapper|drbd|rbd|disk\/by-(id|uuid|partuuid|label|partlabel))\//.test(path);

/** Without what changes nothing in a path. ".." stays: behind a link it leads elsewhere than the text of the path says. */
export const tidyPath = (path: string): string =>
  isDevice(path) ? posix.normalize(path) : path.replaceAll(/\/(\.?\/)+/g, '/');

/** Whether only the hypervisor knows what it leads to. */
export const leadsUp = (path: string): boolean => path.split('/').includes('..');
