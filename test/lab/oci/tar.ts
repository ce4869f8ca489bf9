/** An entry as a test wants it in an archive, right or wrong. */
export interface TestEntry {
  readonly name: string;
  readonly type?: string;
  readonly data?: string | Buffer;
  /** What the header says, if that is not true. */
  readonly size?: number;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly mtime?: number;
  readonly link?: string;
  readonly major?: number;
  readonly minor?: number;
  readonly pax?: Readonly<Record<string, string | Buffer>>;
  /** Changes the header before its checksum is made. */
  readonly alter?: (header: Buffer) => void;
}

export function tar(entries: readonly TestEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const data = Buffer.from(entry.data ?? '');
    if (entry.pax) {
      const records = pax(entry.pax);
      parts.push(header({ name: 'PaxHeaders/x', type: 'x' }, records.length), padded(records));
    }
    parts.push(header(entry, entry.size ?? data.length), padded(data));
  }
  return Buffer.concat([...parts, Buffer.alloc(1_024)]);
}

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;

function header(entry: TestEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  const put = (text: string, at: number): void => void block.write(text, at, 'latin1');
  put(entry.name, 0);
  put(octal(entry.mode ?? (entry.type === '5' ? 0o755 : 0o644), 8), 100);
  put(octal(entry.uid ?? 0, 8), 108);
  put(octal(entry.gid ?? 0, 8), 116);
  if (size < 8 ** 11) put(octal(size, 12), 124);
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  put(octal(entry.mtime ?? 1_700_000_000, 12), 136);
  put(entry.type ?? '0', 156);
  put(entry.link ?? '', 157);
  put('ustar\u000000', 257);
  put(octal(entry.major ?? 0, 8), 329);
  put(octal(entry.minor ?? 0, 8), 337);
  entry.alter?.(block);
  block.fill(0x20, 148, 156);
  put(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  );
  return block;
}

export const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 511)]);

function pax(values: Readonly<Record<string, string | Buffer>>): Buffer {
  return Buffer.concat(
    Object.entries(values).map(([name, value]) => {
      const rest = Buffer.concat([Buffer.from(` ${name}=`), Buffer.from(value), Buffer.from('\n')]);
      let length = rest.length + 1;
      while (String(length).length + rest.length !== length) length++;
      return Buffer.concat([Buffer.from(String(length)), rest]);
    }),
  );
}

export const directory = (name: string, more: Partial<TestEntry> = {}): TestEntry => ({
  name: `${name}/`,
  type: '5',
  ...more,
});
export const file = (name: string, data: string | Buffer = 'x\n', more: Partial<TestEntry> = {}): TestEntry => ({
  name,
  data,
  ...more,
});
export const symbolicLink = (name: string, link: string): TestEntry => ({ name, type: '2', link });
export const hardLink = (name: string, link: string): TestEntry => ({ name, type: '1', link });
