import { readSync } from 'node:fs';

/** Standard input, read only by those who want it. */
export interface Input {
  /** All of it. */
  text(): Promise<string>;
  /** Lines as they come, without their newlines. */
  lines(): AsyncIterable<string>;
}

export const processInput: Input = {
  text() {
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
    return Promise.resolve(Buffer.concat(chunks).toString('utf8'));
  },
  async *lines() {
    const { createInterface } = await import('node:readline');
    yield* createInterface({ input: process.stdin, crlfDelay: Infinity });
  },
};

async function restOf(chunks: Buffer[]): Promise<string> {
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString('utf8');
}
