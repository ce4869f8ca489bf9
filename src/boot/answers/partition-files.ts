import { Fault } from '../../core/errors.ts';
import { listItems } from '../../core/list-items.ts';
import { type Expanding, Expansion, type ReadFile } from './template.ts';
import type { Partitions, Piece } from './installer.ts';
import { typed } from './facts.ts';

interface PartitionFile {
  readonly isScript: boolean;
  /** Definitions, the disk, or answers. */
  readonly kind: '' | 'd' | 'c';
  readonly path: string;
}

/** `partitionfile` as the reference system takes it: paths, `s:` before scripts, `d:` before disks and `c:` before answers. */
function readAttribute(text: string, image: string): PartitionFile[] {
  return listItems(text).map((item) => {
    const [, script, kind = '', path = ''] = /^(s:)?(?:([dc]):)?(\/.*)$/.exec(item) ?? [];
    if (path === '' || (script !== undefined && kind === 'c'))
      throw new Fault(
        'invalid',
        `${image}: partitionfile ${JSON.stringify(item)} is not a full path with nothing, s:, d:, s:d: or c: before it.`,
      );
    return { isScript: script !== undefined, kind: kind as PartitionFile['kind'], path };
  });
}

/** What the files say that `partitionfile` of the image names. */
export async function readPartitions(basis: Omit<Expanding, 'partitions'>): Promise<Partitions> {
  const { image } = basis.facts;
  const attribute = image.attribute('partitionfile');
  const scripts = await readScripts(attribute, image.name, basis.read);
  const expansion = new Expansion({ ...basis, partitions: scripts });
  return { ...scripts, ...(await readDefinitions(attribute, image.name, expansion)) };
}

/** What the scripts of an image print goes nowhere else than to the node that runs them. */
async function readScripts(text: string, image: string, read: ReadFile): Promise<Partitions> {
  const found: { script?: string; diskScript?: string } = {};
  for (const { isScript, kind, path } of readAttribute(text, image))
    if (isScript) found[kind === 'd' ? 'diskScript' : 'script'] = await read(path, `${image}: partitionfile`);
  return found;
}

/** The files that are parts of the answers: templates too. */
async function readDefinitions(text: string, image: string, expansion: Expansion): Promise<Partitions> {
  const found: { definition?: Piece[][]; answers?: Piece[][]; disk?: string } = {};
  for (const { isScript, kind, path } of readAttribute(text, image)) {
    if (isScript) continue;
    const lines = linesOf(await expansion.file(path));
    if (kind === 'd') found.disk = diskOf(lines, path);
    else found[kind === 'c' ? 'answers' : 'definition'] = lines;
  }
  return found;
}

function diskOf(lines: readonly (readonly Piece[])[], path: string): string {
  const text = lines.map((line) =>
    line
      .map((piece) => (typeof piece === 'string' ? piece : piece.value))
      .join('')
      .trim(),
  );
  return typed(text.find((line) => line !== '' && !line.startsWith('#')) ?? '', 'disk', path).value;
}

/** Empty lines and those at the end left out. */
function linesOf(pieces: readonly Piece[]): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces) {
    const [first = '', ...rest] = typeof piece === 'string' ? piece.split('\n') : [''];
    lines.at(-1)!.push(typeof piece === 'string' ? first : piece);
    for (const each of rest) lines.push([each]);
  }
  return lines.filter((line) => line.some((piece) => typeof piece !== 'string' || piece.trim() !== ''));
}
