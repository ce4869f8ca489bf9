import { posix } from 'node:path';
import { asTheyCome } from '../../core/as-they-come.ts';
import { SharedPieces } from '../../core/shared-pieces.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { fillFrom, openSource } from '../../protocols/ssh/sftp/source.ts';
import { planName, temporaryEnding } from '../../protocols/ssh/sftp/temporary-names.ts';
import type { Attributes } from '../../protocols/ssh/sftp/wire.ts';
import { paddedSize, tarEnd, tarHeader, type TarMember } from '../../core/tar/write.ts';
import type { CargoItem, Placed } from './cargo.ts';

/** A member of the archive: its header, and the file whose content follows, or the content itself. */
interface TreeMember {
  readonly header: Buffer;
  readonly file: CargoItem | undefined;
  readonly content: Buffer;
}

interface TreeLayout {
  readonly members: readonly TreeMember[];
  /** The directory with what the node has to do, named from where the archive is unpacked. */
  readonly control: Buffer;
  /** Bytes of all files. */
  readonly size: number;
}

export interface LayoutOptions {
  readonly placed: readonly Placed[];
  /** Keys of the directories that the node has. All others that files go into are among those placed. */
  readonly existing: ReadonlySet<string>;
  /** No name begins like it on any node. */
  readonly token: string;
  /** Owner, mode and time that an item gets. */
  readonly attributesOf: (item: CargoItem) => Attributes;
}

/** Bytes of names in one command on the node. */
const longestCommand = 64 * 1024;

/**
 * How a tree travels: everything is unpacked into hidden directories, one in each directory that the node has already, so that it
 * lies on the same file system; from there it is moved to its place, new directories as a whole. The commands for that travel too, as
 * the last file, and first those that tidy up: names are then nobody's arguments, and an archive that was cut off has no last file.
 */
export function treeLayout({ placed, existing, token, attributesOf }: LayoutOptions): TreeLayout {
  const stage = temporaryEnding(token);
  const staged = new Map<string, string>();
  const moves = new Map<string, string[]>();
  const modes: string[] = [];
  const members: TreeMember[] = [];
  const ends: Buffer[] = [];
  let size = 0;
  for (const { item, key } of placed) {
    if (item.kind === 'directory' && existing.has(key)) continue;
    const parent = posix.dirname(key);
    const within = staged.get(parent);
    const name = `${within ?? `${fromBase(parent)}/${stage}`}/${posix.basename(key)}`;
    if (within === undefined) {
      const others = moves.get(parent);
      if (others) others.push(name);
      else moves.set(parent, [name]);
    }
    const { mode = item.mode, modified = item.modified, uid, gid } = attributesOf(item);
    const member = { name: Buffer.from(name, 'latin1'), mode, time: timeOf(modified), uid, gid, size: 0 };
    if (item.kind === 'directory') {
      staged.set(key, name);
      const open = { ...member, kind: item.kind, mode: mode | 0o700 };
      members.push(memberOf(open));
      // Only what its owner may write to can be moved.
      ends.push(tarHeader(within === undefined ? open : { ...open, mode }));
      if (within === undefined && (mode & 0o700) !== 0o700)
        modes.push(`chmod ${mode.toString(8)} ${quoteWord(fromBase(key))}`);
    } else if (item.kind === 'link') members.push(memberOf({ ...member, kind: item.kind, link: item.destination }));
    else {
      members.push({ ...memberOf({ ...member, size: item.size }), file: item });
      size += item.size;
    }
  }
  const parents = [...moves.keys()];
  const stages = parents.map((parent) => `${fromBase(parent)}/${stage}`);
  const control = `${fromBase(parents[0] ?? '/')}/${planName(token)}`;
  const moving = parents.flatMap((parent) => commands('mv -f', moves.get(parent)!, `${fromBase(parent)}/`));
  // What is put into a directory changes its time, and some programs make links when all else is there.
  const setting = `tar "$1" ${quoteWord(`${control}/directories`)}`;
  return {
    members: [
      contentOf(`${control}/tidy`, lines(commands('rm -rf', stages))),
      ...members,
      contentOf(`${control}/directories`, Buffer.concat([...ends.reverse(), tarEnd()])),
      contentOf(`${control}/plan`, lines(['set -e', setting, ...moving, ...modes])),
    ],
    control: Buffer.from(control, 'latin1'),
    size,
  };
}

/** A path as seen from the directory that the archive is unpacked in; never an option. */
const fromBase = (key: string): string => (key === '/' ? '.' : `.${key}`);

/** There is nothing before 1970 and after 2106, as in SFTP. */
const timeOf = (seconds: number): number => Math.min(Math.max(seconds, 0), 0xffff_ffff);

const memberOf = (member: TarMember): TreeMember => ({
  header: tarHeader(member),
  file: undefined,
  content: Buffer.alloc(0),
});

const lines = (all: readonly string[]): Buffer => Buffer.from(all.map((line) => `${line}\n`).join(''), 'latin1');

function contentOf(name: string, content: Buffer): TreeMember {
  const header = tarHeader({ name: Buffer.from(name, 'latin1'), mode: 0o600, time: 0, size: content.length });
  return { header, file: undefined, content };
}

/** One command for many names, as often as its line would become too long. */
function commands(command: string, names: readonly string[], last?: string): string[] {
  const made: string[] = [];
  let words: string[] = [];
  let length = 0;
  const end = (): void => {
    if (words.length > 0) made.push([command, ...words, ...(last === undefined ? [] : [quoteWord(last)])].join(' '));
    words = [];
    length = 0;
  };
  for (const name of names) {
    const word = quoteWord(name);
    if (length + word.length > longestCommand) end();
    words.push(word);
    length += word.length + 1;
  }
  end();
  return made;
}

/** Bytes that are made and sent at once. */
const pieceSize = 256 * 1024;
const filesAtOnce = 8;
/** Programs read archives in records of so many bytes. */
const record = 20 * 512;

/**
 * A tree as one archive that is sent to many nodes. Where everything is in it is known from the start, so any piece can be made at any
 * time.
 */
export class TreeArchive {
  /** Of what was unpacked, the directory with what is left to do. */
  readonly control: Buffer;
  /** Bytes of all files. */
  readonly size: number;
  readonly pieces: number;
  readonly #members: readonly TreeMember[];
  /** Where each member begins. */
  readonly #starts: Float64Array;
  readonly #length: number;
  readonly #made = new SharedPieces((index) => this.#make(index));

  constructor({ members, control, size }: TreeLayout) {
    this.#members = members;
    this.control = control;
    this.size = size;
    this.#starts = new Float64Array(members.length);
    let at = 0;
    for (const [index, { header, file, content }] of members.entries()) {
      this.#starts[index] = at;
      at += header.length + paddedSize(file?.size ?? content.length);
    }
    this.#length = Math.ceil((at + tarEnd().length) / record) * record;
    this.pieces = Math.ceil(this.#length / pieceSize);
  }

  /** How many pieces were made so far. */
  get made(): number {
    return this.#made.made;
  }

  /** Nobody may change it. */
  piece(index: number): Promise<Buffer> {
    return this.#made.get(index);
  }

  async #make(index: number): Promise<Buffer> {
    const start = index * pieceSize;
    const piece = Buffer.alloc(Math.min(pieceSize, this.#length - start));
    const reads: (() => Promise<void>)[] = [];
    for (let next = this.#memberAt(start); next < this.#members.length; next++) {
      const at = this.#starts[next]! - start;
      if (at >= piece.length) break;
      const { header, file, content } = this.#members[next]!;
      copyPart(header, piece, at);
      copyPart(content, piece, at + header.length);
      if (file) reads.push(() => readPart(file, piece, at + header.length));
    }
    for await (const _ of asTheyCome(reads, filesAtOnce, (read) => read()));
    return piece;
  }

  /** The member that a byte of the archive belongs to. */
  #memberAt(position: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** What of the bytes, which begin `at` there, lies within the piece. */
function copyPart(bytes: Buffer, piece: Buffer, at: number): void {
  if (at + bytes.length > 0 && at < piece.length) bytes.copy(piece, Math.max(0, at), Math.max(0, -at));
}

async function readPart({ from, size }: CargoItem, piece: Buffer, at: number): Promise<void> {
  const [begin, end] = [Math.max(0, at), Math.min(piece.length, at + size)];
  if (begin >= end) return;
  const { file } = await openSource(from);
  try {
    await fillFrom(file, from, piece.subarray(begin, end), begin - at);
  } finally {
    await file.close();
  }
}
