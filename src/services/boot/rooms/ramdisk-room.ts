import { realpath } from 'node:fs/promises';
import type { NodeIndex } from '../node-index.ts';
import type { Ramdisks } from '../ramdisks.ts';
import type { BootRoom } from './room.ts';

/** The small ramdisk, for whoever asks: `boot/ramdisk/ARCH/kernel` and `initrd`, and where the reference system has its own. */
export const ramdiskRoom = (ramdisks: Ramdisks, nodes: NodeIndex): BootRoom => ({
  async find(segments, { address }) {
    const wanted = wantedOf(segments);
    const path = wanted && ramdisks.file(wanted.arch, wanted.name);
    if (path === undefined) return undefined;
    return { kind: 'file', path: await realpath(path), node: nodes.byAddress(address), step: wanted!.name };
  },
});

function wantedOf([first, second = '', third = '', fourth, ...more]: readonly string[]) {
  if (more.length > 0) return undefined;
  if (first === 'boot' && second === 'ramdisk' && (fourth === 'kernel' || fourth === 'initrd'))
    return { arch: third, name: fourth } as const;
  const [, kind, arch] = /^genesis\.(kernel|fs)\.([a-z0-9_]+?)(?:\.gz|\.lzma)?$/.exec(second) ?? [];
  if (first !== 'xcat' || third !== '' || arch === undefined) return undefined;
  return { arch, name: kind === 'fs' ? 'initrd' : 'kernel' } as const;
}
