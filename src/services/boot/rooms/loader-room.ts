import { realpath } from 'node:fs/promises';
import type { Logger } from '../../../core/log.ts';
import { tableNamed } from '../../../database/tables.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import type { Loaders } from '../loaders/loaders.ts';
import type { NodeIndex } from '../node-index.ts';
import type { BootRoom } from './room.ts';

const typeTable = tableNamed('nodetype');

/** Loaders: at the root, where firmware asks for them, in `boot/loaders`, and where the reference system has GRUB. */
export const loaderRoom = (loaders: Loaders, nodes: NodeIndex, log: Logger): BootRoom => ({
  async find(segments, { address }) {
    const name = segments.join('/').replace(/^boot\/(loaders|grub2)\//, '');
    const place = loaders.find(name) ?? loaders.find(grubOf(nodes, name));
    if (place === undefined) {
      const remedy = loaders.remedy(name);
      if (remedy !== undefined) log.warn(`${address} asks for a boot loader that is missing: ${remedy}`);
      return undefined;
    }
    return { kind: 'file', path: await realpath(place), node: nodes.byAddress(address), step: 'loader' };
  },
});

/** The reference system has a link for each node: `boot/grub2/grub2-NODE`. */
function grubOf({ snapshot }: NodeIndex, name: string): string {
  const node = /^grub2-([^/]+)$/.exec(name)?.[1];
  const arch = node === undefined ? undefined : effectiveReader(snapshot).row(typeTable, node)?.['arch'];
  return `grub2.${arch}`;
}
