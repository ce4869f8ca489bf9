import { putFile } from '../../protocols/ssh/sftp/put.ts';
import { type Cargo, join, pathKey, type Placed } from './cargo.ts';
import { removeLeftovers } from './leftovers.ts';
import { existingDirectories, placeAll, type Placing, setDirectories } from './place.ts';
import { isDirectory, makeDirectories } from './remote-paths.ts';

/**
 * Puts cargo on a node. A target that is a directory, ends with a slash, or gets more than a single file is a directory, which is
 * made if it is missing; else it is the file's new name. Each file appears complete or not at all.
 */
export async function deliver(
  ways: Omit<Placing, 'base' | 'keepOwner' | 'attributesOf'>,
  cargo: Cargo,
  target: string,
): Promise<void> {
  const { files, local, signal } = ways;
  const there = Buffer.from(target);
  const [single] = cargo.items;
  if (
    cargo.items.length === 1 &&
    single!.kind === 'file' &&
    !target.endsWith('/') &&
    !(await isDirectory(files, there))
  ) {
    await removeLeftovers(ways, [there]);
    await local.use(single!.from, (source) => putFile(files, source, there, signal));
    return;
  }
  await makeDirectories(files, there);
  const placed = placedIn(cargo, there);
  const placing: Placing = {
    ...ways,
    base: target,
    keepOwner: false,
    attributesOf: ({ mode, accessed, modified }) => ({ mode, accessed, modified }),
  };
  const existing = await existingDirectories(files, placed);
  await placeAll(placing, placed, existing);
  await setDirectories(
    placing,
    placed.filter(({ key }) => existing.has(key)),
  );
}

/** The nodes at work share it. */
const placedByCargo = new WeakMap<Cargo, readonly Placed[]>();

function placedIn(cargo: Cargo, there: Buffer): readonly Placed[] {
  let placed = placedByCargo.get(cargo);
  if (!placed) {
    placed = cargo.items.map((item) => ({ item, path: join(there, item.name), key: pathKey(item.name) }));
    placedByCargo.set(cargo, placed);
  }
  return placed;
}
