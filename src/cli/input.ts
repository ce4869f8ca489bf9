import { readSync } from 'node:fs';
import { keptText } from './bytes.ts';
import { utf8Text } from './utf8.ts';

/** Standard input, read only by those who want it. */
export interface Input {
  /** All of it; what is not UTF-8 is refused. */
  text(): Promise<string>;
  /** Lines as they come, without their newlines and with all their bytes. */
  lines(): AsyncIterable<string>;
}

const name = 'Standard input';

export const processInput: Input = {
  async text() {
    const chunks: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.allocUnsafe(65_536);
      let size: number;
      try {
        size = readSync(0, chunk);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EOF') break;
        // Whoever shares this input with us has made it one that does not wait.
        if (code === 'EAGAIN') return restOf(chunks);
        throw error;
      }
      if (size === 0) break;
      chunks.push(chunk.subarray(0, size));
    }
    return utf8Text(Buffer.concat(chunks), name);
  },
  async *lines() {
    let rest: Buffer[] = [];
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        yield lineOf(Buffer.concat([...rest, chunk.subarray(from, end)]));
        rest = [];
        from = end + 1;
      }
      if (from < chunk.length) rest.push(chunk.subarray(from));
    }
    if (rest.length > 0) yield lineOf(Buffer.concat(rest));
  },
};

const lineOf = (bytes: Buffer): string => keptText(bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes);

async function restOf(chunks: Buffer[]): Promise<string> {
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return utf8Text(Buffer.concat(chunks), name);
}
