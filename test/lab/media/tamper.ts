import { readFileSync, writeFileSync } from 'node:fs';

export const blockSize = 2_048;
const primary = 16 * blockSize;

/** The bytes of a medium, to be changed in ways that no program makes them. */
export class Tampered {
  bytes: Buffer;
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    this.bytes = readFileSync(file);
  }

  save(): string {
    writeFileSync(this.#file, this.bytes);
    return this.#file;
  }

  /** Every place of the text is overwritten by another of the same length. */
  replace(from: string, to: string): this {
    if (from.length !== to.length) throw new Error('the lengths differ');
    let found = 0;
    for (let at = this.bytes.indexOf(from, 0, 'latin1'); at >= 0; at = this.bytes.indexOf(from, at + 1, 'latin1')) {
      this.bytes.write(to, at, 'latin1');
      found++;
    }
    if (found === 0) throw new Error(`"${from}" is not there`);
    return this;
  }

  /** The place of the directory record with this short name (`DIR`, `FILE.;1`). */
  record(name: string): number {
    const id = Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1')]);
    const at = this.bytes.indexOf(id, primary + blockSize);
    if (at < 0) throw new Error(`there is no record of ${name}`);
    return at - 32;
  }

  get root(): number {
    return primary + 156;
  }

  /** Sets where a record says its content is. */
  setExtent(record: number, { block, size }: { block?: number; size?: number }): this {
    if (block !== undefined) this.#both(record + 2, block);
    if (size !== undefined) this.#both(record + 10, size);
    return this;
  }

  blockOf(record: number): number {
    return this.bytes.readUInt32LE(record + 2);
  }

  /** Appends blocks and says where they begin. */
  append(bytes: Buffer): number {
    const block = this.bytes.length / blockSize;
    const padding = Buffer.alloc((blockSize - (bytes.length % blockSize)) % blockSize);
    this.bytes = Buffer.concat([this.bytes, bytes, padding]);
    return block;
  }

  /** Numbers stand there in both byte orders. */
  #both(at: number, value: number): void {
    this.bytes.writeUInt32LE(value, at);
    this.bytes.writeUInt32BE(value, at + 4);
  }
}
