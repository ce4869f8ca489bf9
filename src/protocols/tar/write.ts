const block = 512;

export interface TarMember {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  /** Seconds. */
  readonly time: number;
}

/** What stands before the content of a file in an archive of the format ustar; long names and large files by a pax header. */
export function tarHeader(member: TarMember): Buffer {
  const isLong = Buffer.byteLength(member.name) > 100 || member.size > 0o7777_7777_777;
  const pax = isLong ? paxBody({ path: member.name, size: String(member.size) }) : undefined;
  const head = ustar(isLong ? { ...member, name: 'long', size: Math.min(member.size, 0o7777_7777_777) } : member, '0');
  if (!pax) return head;
  const before = ustar({ name: 'pax', size: pax.length, mode: 0o644, time: 0 }, 'x');
  return Buffer.concat([before, pax, tarPadding(pax.length), head]);
}

export const tarPadding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block);

export const tarEnd = (): Buffer => Buffer.alloc(2 * block);

function ustar({ name, size, mode, time }: TarMember, type: string): Buffer {
  const head = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number): void =>
    void head.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  head.write(name, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(time, 136, 12);
  head.write(' '.repeat(8), 148, 'latin1');
  head.write(type, 156, 'latin1');
  head.write('ustar\x0000', 257, 'latin1');
  let sum = 0;
  for (const byte of head) sum += byte;
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return head;
}

/** Each record begins with its own length, which counts itself. */
function paxBody(records: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(records).map(([key, value]) => {
      const rest = ` ${key}=${value}\n`;
      let length = Buffer.byteLength(rest);
      while (Buffer.byteLength(String(length)) + Buffer.byteLength(rest) !== length)
        length = Buffer.byteLength(String(length)) + Buffer.byteLength(rest);
      return Buffer.from(length + rest);
    }),
  );
}
