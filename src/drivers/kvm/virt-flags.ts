import { Fault } from '../../core/errors.ts';

/** What the attribute vmvirtflags says, checked. */
export interface VirtFlags {
  format?: 'qcow2' | 'raw';
  /** Disks have all their room from the start. */
  isAllocated?: boolean;
  /** It stays where it is. */
  isPinned?: boolean;
}

/** How each flag is taken; false: its value is none. */
const takers: Readonly<Record<string, (found: VirtFlags, value: string) => boolean>> = {
  imageformat(found, value) {
    if (value !== 'raw' && value !== 'fullraw' && value !== 'qcow2') return false;
    found.format = value === 'qcow2' ? 'qcow2' : 'raw';
    found.isAllocated = value === 'fullraw';
    return true;
  },
  placement_affinity(found, value) {
    found.isPinned = value === 'pinned';
    return ['migratable', 'user_migratable', 'pinned'].includes(value);
  },
  // Libvirt copies disks, and has no other way.
  clonemethod: (_found, value) => value === 'qemu-img',
};

const offered =
  'imageformat=raw, fullraw or qcow2, placement_affinity=migratable, user_migratable or pinned, clonemethod=qemu-img';

/** The attribute vmvirtflags: flags with their values, joined by commas. */
export function virtFlags(text: string): VirtFlags {
  const found: VirtFlags = {};
  for (const item of text.split(',').flatMap((each) => each.trim() || [])) {
    const [name = '', value = '', ...more] = item.split('=').map((each) => each.trim());
    if (more.length === 0 && Object.hasOwn(takers, name) && takers[name]!(found, value)) continue;
    throw new Fault(
      'invalid',
      `its attribute vmvirtflags, "${text}", is wrong: of "${item}" nothing can be made for libvirt; known are ${offered}.`,
    );
  }
  return found;
}
