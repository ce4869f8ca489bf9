const block = 512;

export interface TarMember {
  /** Default: a file. */
  readonly kind?: 'file' | 'directory' | 'link';
  readonly name: string | Buffer;
  /** What a link says. */
  readonly link?: Buffer | undefined;
  /** Of the content that follows. */
  readonly size: number;
  readonly mode: number;
  /** Seconds. */
  readonly time: number;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

const types = { file: '0', directory: '5', link: '2' } as const;
const longest = 100;

/**
 * What stands before the content of a member: a header of the format ustar, and before it what is too long for that, in GNU's way,
 * which more programs read than pax headers (busybox does not).
 */
export function tarHeader(member: TarMember): Buffer {
  const { kind = 'file', name, link = Buffer.alloc(0) } = member;
  const bytes = Buffer.from(name);
  return Buffer.concat([
    ...(bytes.length > longest ? tooLong(bytes, 'L') : []),
    ...(link.length > longest ? tooLong(link, 'K') : []),
    header({ ...member, name: bytes.subarray(0, longest), link: link.subarray(0, longest) }, types[kind]),
  ]);
}

export const tarPadding = (size: number): Buffer => Buffer.alloc(paddedSize(size) - size);

/** The bytes that content takes with what fills its last block. */
export const paddedSize = (size: number): number => Math.ceil(size / block) * block;

export const tarEnd = (): Buffer => Buffer.alloc(2 * block);

function tooLong(text: Buffer, type: 'L' | 'K'): Buffer[] {
  const name = Buffer.from('././@LongLink');
  const size = text.length + 1;
  return [header({ name, size, mode: 0, time: 0 }, type), text, Buffer.alloc(1), tarPadding(size)];
}

interface Header extends TarMember {
  readonly name: Buffer;
}

function header({ name, link, size, mode, time, uid = 0, gid = 0 }: Header, type: string): Buffer {
  const head = Buffer.alloc(block);
  name.copy(head);
  number(head, mode, 100, 8);
  number(head, uid, 108, 8);
  number(head, gid, 116, 8);
  number(head, size, 124, 12);
  number(head, time, 136, 12);
  head.write(' '.repeat(8), 148, 'latin1');
  head.write(type, 156, 'latin1');
  link?.copy(head, 157);
  head.write('ustar\x0000', 257, 'latin1');
  let sum = 0;
  for (const byte of head) sum += byte;
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return head;
}

/** Octal digits, or, where those do not suffice, binary behind a byte with its first bit set. */
function number(head: Buffer, value: number, at: number, length: number): void {
  const digits = value.toString(8);
  if (digits.length < length) head.write(`${digits.padStart(length - 1, '0')}\0`, at, 'latin1');
  else {
    head.writeUInt8(0x80, at);
    head.writeUIntBE(value, at + length - 6, 6);
  }
}
