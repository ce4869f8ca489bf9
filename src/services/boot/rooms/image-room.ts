import { Fault } from '../../../core/errors.ts';
import { isBuiltMethod } from '../../images/describe-image.ts';
import type { NodeIndex } from '../node-index.ts';
import { type BootPacks, type PartKind, partKinds, partOf, partPath } from '../packs.ts';
import type { Asker } from './found.ts';
import type { BootRoom } from './room.ts';

/** Names of the reference system for the files of the pack in use. */
const referenceNames: Readonly<Record<string, PartKind>> = {
  kernel: 'kernel',
  'initrd-stateless.gz': 'initrd',
  'initrd-statelite.gz': 'initrd',
};

/** Files of packed images, for nodes: `boot/images/IMAGE/PACK/kernel` and so on, and `xcat/osimage/IMAGE/kernel` of the pack in use. */
export const imageRoom = (packs: BootPacks, nodes: NodeIndex): BootRoom => ({
  async find(segments, asker) {
    const wanted = wantedOf(segments);
    if (!wanted) return undefined;
    const { image, id, kind } = wanted;
    const { snapshot } = nodes;
    const method = snapshot.get('osimage', image)?.['provmethod'];
    if (!isBuiltMethod(method)) return undefined;
    const node = nodeAt(nodes, asker);
    const pack = id === undefined ? await packs.current(snapshot, image) : await packs.named(snapshot, image, id);
    return pack && { kind: 'file', path: partPath(pack, partOf(pack, kind, method)), node, step: kind };
  },
});

/** What nodes alone may have. */
export function nodeAt(nodes: NodeIndex, { address }: Pick<Asker, 'address'>): string {
  const node = nodes.byAddress(address);
  if (node === undefined)
    throw new Fault('denied', `The address ${address} is that of no node, so it gets nothing of an image.`);
  return node;
}

interface Wanted {
  readonly image: string;
  /** Undefined: the one in use. */
  readonly id: string | undefined;
  readonly kind: PartKind;
}

function wantedOf(segments: readonly string[]): Wanted | undefined {
  const [first, second, image, third = '', fourth = ''] = segments;
  if (image === undefined) return undefined;
  if (first === 'boot' && second === 'images' && segments.length === 5)
    return (partKinds as readonly string[]).includes(fourth)
      ? { image, id: third, kind: fourth as PartKind }
      : undefined;
  if (first !== 'xcat' || second !== 'osimage' || segments.length !== 4 || !Object.hasOwn(referenceNames, third))
    return undefined;
  return { image, id: undefined, kind: referenceNames[third]! };
}
