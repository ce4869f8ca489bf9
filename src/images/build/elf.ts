/** A program or library, as far as is needed to say where it runs and what with. */
export interface Elf {
  /** The number of the processors it is for. */
  readonly machine: number;
  /** The loader of programs that need libraries. */
  readonly interpreter: string | undefined;
  readonly needed: readonly string[];
  /** Where its libraries are looked for before the usual directories. */
  readonly directories: readonly string[];
}

const segments = { load: 1, dynamic: 2, interpreter: 3 } as const;
const tags = { needed: 1, strings: 5, rpath: 15, runpath: 29 } as const;

/** Undefined: it is none, or does not have the low byte first. */
export function readElf(bytes: Buffer): Elf | undefined {
  if (bytes.length < 52 || bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[5] !== 1) return undefined;
  try {
    return elfOf(bytes, bytes[4] === 2 ? wide : narrow);
  } catch (error) {
    // It leads out of itself.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Where things are in files of 64 and of 32 bits. */
interface Layout {
  readonly word: 8 | 4;
  readonly header: { readonly start: number; readonly size: number; readonly count: number };
  readonly segment: { readonly offset: number; readonly address: number; readonly size: number };
}
const wide: Layout = {
  word: 8,
  header: { start: 32, size: 54, count: 56 },
  segment: { offset: 8, address: 16, size: 32 },
};
const narrow: Layout = {
  word: 4,
  header: { start: 28, size: 42, count: 44 },
  segment: { offset: 4, address: 8, size: 16 },
};

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function elfOf(bytes: Buffer, { word, header, segment }: Layout): Elf {
  const number = (at: number): number => (word === 8 ? Number(bytes.readBigUInt64LE(at)) : bytes.readUInt32LE(at));
  const [start, size, count] = [
    number(header.start),
    bytes.readUInt16LE(header.size),
    bytes.readUInt16LE(header.count),
  ];
  const all = Array.from({ length: count }, (_, index): Segment => {
    const at = start + index * size;
    const [offset, address, length] = [segment.offset, segment.address, segment.size].map((each) => number(at + each));
    return { type: bytes.readUInt32LE(at), offset: offset!, address: address!, size: length! };
  });
  const interpreter = all.find(({ type }) => type === segments.interpreter);
  const dynamic = all.find(({ type }) => type === segments.dynamic);
  const entries: [tag: number, value: number][] = [];
  for (let at = 0; dynamic && at < dynamic.size; at += 2 * word)
    entries.push([number(dynamic.offset + at), number(dynamic.offset + at + word)]);
  const strings = offsetOf(entries.find(([tag]) => tag === tags.strings)?.[1] ?? 0, all);
  const texts = (wanted: number): string[] =>
    entries.filter(([tag]) => tag === wanted).map(([, value]) => textAt(bytes, strings + value));
  return {
    machine: bytes.readUInt16LE(18),
    interpreter: interpreter && textAt(bytes, interpreter.offset),
    needed: texts(tags.needed),
    directories: [...texts(tags.rpath), ...texts(tags.runpath)].flatMap((list) => list.split(':')),
  };
}

/** Where an address of the running program lies in its file. */
function offsetOf(address: number, all: readonly Segment[]): number {
  const holder = all.find(
    (one) => one.type === segments.load && address >= one.address && address < one.address + one.size,
  );
  return holder ? holder.offset + address - holder.address : 0;
}

const textAt = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, bytes.indexOf(0, at));
