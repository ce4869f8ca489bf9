import { realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { isEnabled } from '../../../database/tables.ts';
import type { Snapshot } from '../../../database/snapshot.ts';
import { effectiveReader, listItems } from '../../../objects/effective.ts';
import { isBelow } from '../../images/real-paths.ts';
import { installDirectory } from '../../update/node-image.ts';
import type { NodeIndex } from '../node-index.ts';
import { nodeAt } from './image-room.ts';
import type { BootRoom } from './room.ts';

/** The trees of install media, for nodes: `boot/install/OS/ARCH/...`. Of the install directory only what images are installed from. */
export const installRoom = (nodes: NodeIndex): BootRoom => ({
  async find([first, second, ...rest], asker) {
    if (first !== 'boot' || second !== 'install' || rest.length === 0) return undefined;
    const node = nodeAt(nodes, asker);
    const { snapshot } = nodes;
    const path = await real(join(installDirectory(effectiveReader(snapshot)), ...rest));
    if (path === undefined) return undefined;
    for (const directory of trees(snapshot)) {
      const tree = await real(directory);
      if (tree !== undefined && path !== tree && isBelow(path, tree)) return { kind: 'file', path, node, step: 'file' };
    }
    return undefined;
  },
});

/** Directories that images name as sources of packages, below the install directory. */
function trees(snapshot: Snapshot): string[] {
  const installdir = installDirectory(effectiveReader(snapshot));
  const named = snapshot
    .rows('linuximage')
    .values()
    .filter(isEnabled)
    .flatMap(({ pkgdir = '', otherpkgdir = '' }) => [...listItems(pkgdir), ...listItems(otherpkgdir)]);
  return [...new Set(named)].filter(
    (directory) => isAbsolute(directory) && directory !== installdir && isBelow(directory, installdir),
  );
}

const real = (path: string): Promise<string | undefined> => realpath(path).catch(() => undefined);
