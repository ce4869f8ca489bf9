import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { isBelow } from '../../images/index.ts';

/** Somebody who looks at the answers of a node. */
export interface Viewer {
  /** Whether they may know of a node; undefined: of all. */
  readonly sees: ((node: string) => boolean) | undefined;
  readonly hasFullRights: boolean;
}

/** What not every user of the management node can read, by its mode or that of a directory below the root, is not for every account either. */
export async function checkViewer({ hasFullRights }: Viewer, path: string, root: string): Promise<void> {
  if (hasFullRights) return;
  let isBarred = await lacks(path, 0o004);
  for (let above = dirname(path); above !== root && isBelow(above, root) && !isBarred; above = dirname(above))
    isBarred = await lacks(above, 0o001);
  if (isBarred)
    throw new Fault(
      'denied',
      `Not every user of the management node can read ${path}, by its mode or that of a directory above; you need full rights to see answers that are made of it.`,
    );
}

/** One that is not there is missed by whoever reads it. */
const lacks = async (path: string, right: number): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && (found.mode & right) === 0;
};
