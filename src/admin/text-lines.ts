import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import type { TextLine } from '../core/csv.ts';
import { Fault } from '../core/errors.ts';

const blockBytes = 1 << 20;
const lineFeed = 0x0a;
const byteOrderMark = '\uFEFF';

/** The lines of a file of any size, read block by block; bytes that are no UTF-8 are replaced. */
export function* textLines(file: string): Generator<TextLine> {
  let first = true;
  for (const bytes of wholeLines(file)) {
    for (const line of decode(bytes)) {
      yield first && line.text.startsWith(byteOrderMark) ? { ...line, text: line.text.slice(1) } : line;
      first = false;
    }
  }
}

/** Pieces of the file that end where a line ends. */
function* wholeLines(file: string): Generator<Buffer> {
  const handle = openFile(file);
  try {
    let begun: Buffer[] = [];
    for (;;) {
      const block = Buffer.allocUnsafe(blockBytes);
      const bytes = block.subarray(0, readSync(handle, block));
      if (bytes.length === 0) break;
      const end = bytes.lastIndexOf(lineFeed);
      if (end < 0) {
        begun.push(bytes);
        continue;
      }
      yield Buffer.concat([...begun, bytes.subarray(0, end)]);
      begun = [bytes.subarray(end + 1)];
    }
    const rest = Buffer.concat(begun);
    if (rest.length > 0) yield rest;
  } finally {
    closeSync(handle);
  }
}

function openFile(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw new Fault('invalid', `The file ${file} cannot be read: ${(error as Error).message}.`);
  }
}

function* decode(bytes: Buffer): Generator<TextLine> {
  if (isUtf8(bytes)) {
    for (const text of bytes.toString('utf8').split('\n')) yield { text, isUtf8: true };
    return;
  }
  for (let from = 0; from <= bytes.length; ) {
    const found = bytes.indexOf(lineFeed, from);
    const end = found < 0 ? bytes.length : found;
    const line = bytes.subarray(from, end);
    yield { text: line.toString('utf8'), isUtf8: isUtf8(line) };
    from = end + 1;
  }
}
