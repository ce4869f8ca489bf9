import { readFile, readlink, rm, symlink, chown, lutimes } from 'node:fs/promises';
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';
import {
  type CargoItem,
  type FoundList,
  LocalFiles,
  nodePlan,
  pathOnNode,
  type PlannedRule,
} from '../../nodes/index.ts';
import { inTree, keepingTime, makeDirectoryInTree, readInTree, writeInTree } from '../tree/tree-path.ts';

/** No node is called so: lines for some nodes only are left to the nodes. */
const everyNode = '';

/** Puts the files of synclists into a tree. Returns what is reported of it. */
export async function syncInto(tree: string, lists: readonly FoundList[], time: number): Promise<string[]> {
  const local = new LocalFiles();
  try {
    const plan = await nodePlan(local, lists, everyNode);
    if (!plan) return [];
    for (const rule of plan.copies) await copy(tree, rule);
    for (const rule of plan.appends) await append(tree, rule, time);
    for (const rule of plan.merges) await merge(tree, rule, time);
    const forSome = lists
      .flatMap(({ copies, appends, merges }) => [...copies, ...appends, ...merges])
      .filter(({ nodes }) => nodes !== undefined);
    const scripts = plan.scripts.length + plan.scriptsAlways.length;
    return [
      ...plan.notes,
      ...(forSome.length > 0
        ? [`${forSome.length} lines of the synclists are for some nodes only and are left out of the image.`]
        : []),
      ...(scripts > 0 ? ['The scripts of the synclists run on nodes, not in the image.'] : []),
    ];
  } finally {
    await local.close();
  }
}

async function copy(tree: string, { trees, destination, intoDirectory }: PlannedRule): Promise<void> {
  for (const { items } of trees) {
    const inside = intoDirectory || (items[0]!.kind !== 'directory' && isDirectory(tree, destination));
    const top = inside ? `${destination}/${items[0]!.name.toString()}` : destination;
    for (const item of items) await put(tree, pathOnNode(item, Buffer.from(top)).toString(), item);
  }
}

const isDirectory = (tree: string, path: string): boolean =>
  lstatSync(inTree(tree, path), { throwIfNoEntry: false })?.isDirectory() === true;

async function put(tree: string, path: string, item: CargoItem): Promise<void> {
  const { mode, uid, gid, modified: time } = item;
  if (item.kind === 'directory') return makeDirectoryInTree(tree, path, { mode, uid, gid, time });
  if (isDirectory(tree, path))
    throw new Fault('invalid', `${path} is a directory in the image and must be a ${item.kind}.`);
  if (item.kind === 'file') return writeInTree(tree, path, await contentOf(item.from), { mode, uid, gid, time });
  await makeDirectoryInTree(tree, dirname(path), { mode: 0o755, time });
  const place = inTree(tree, path, { follow: false });
  await keepingTime(dirname(place), async () => {
    await rm(place, { force: true });
    await symlink(await readlink(item.from), place);
    await chown(place, 0, 0).catch(() => undefined);
    await lutimes(place, time, time);
  });
}

async function contentOf(path: Buffer): Promise<Buffer> {
  const file = await openReal(path);
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function append(tree: string, { trees, destination }: PlannedRule, time: number): Promise<void> {
  const added = await readFile(trees[0]!.items[0]!.from, 'utf8');
  await changeText(
    tree,
    destination,
    time,
    (text) => `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${added}`,
  );
}

/** Entries of the same name are replaced where they stand, new ones go to the end. */
async function merge(tree: string, { trees, destination }: PlannedRule, time: number): Promise<void> {
  const lines = (await readFile(trees[0]!.items[0]!.from, 'utf8')).split('\n').filter((line) => line !== '');
  const wanted = new Map(lines.map((line) => [line.split(':')[0]!, line]));
  await changeText(tree, destination, time, (text) => {
    const old = text.split('\n').filter((line) => line !== '');
    const names = new Set(old.map((line) => line.split(':')[0]!));
    const kept = old.map((line) => wanted.get(line.split(':')[0]!) ?? line);
    const added = [...wanted].flatMap(([name, line]) => (names.has(name) ? [] : line));
    return `${[...kept, ...added].join('\n')}\n`;
  });
}

async function changeText(tree: string, path: string, time: number, change: (text: string) => string): Promise<void> {
  const before = lstatSync(inTree(tree, path), { throwIfNoEntry: false });
  const text = (await readInTree(tree, path))?.toString() ?? '';
  const { mode = 0o644, uid = 0, gid = 0 } = before ?? {};
  await writeInTree(tree, path, change(text), { mode: mode & 0o7777, uid, gid, time });
}
