import { Garbled } from './client-errors.ts';

/** More than any line of muster's. Whatever sends more would fill the memory. */
export const longestLine = 67_108_864;

/** The lines of a stream without their newlines, those together that came together. What follows the last newline is no line. */
export async function* lineBatches(body: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    if (rest.length > longestLine) throw new Garbled('The server sends a line without an end; is it muster?');
    yield lines;
  }
}
