import { isUtf8 } from 'node:buffer';

/** Text need not be UTF-8. What only passes through keeps its bytes: those that belong to no character are characters that no text has. */
const firstOther = 0xdc80;
const others = /[\uDC80-\uDCFF]/;

/** Text that keeps all bytes; `bytesOf` is the way back. */
export function keptText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let [text, from] = ['', 0];
  for (const at of otherBytes(bytes)) {
    text += bytes.toString('utf8', from, at) + String.fromCharCode(firstOther - 0x80 + bytes[at]!);
    from = at + 1;
  }
  return text + bytes.toString('utf8', from);
}

export function bytesOf(text: string): Buffer {
  if (!others.test(text)) return Buffer.from(text);
  const pieces = text.split(/((?<![\uD800-\uDBFF])[\uDC80-\uDCFF])/);
  return Buffer.concat(
    pieces.map((piece, at) => (at % 2 === 0 ? Buffer.from(piece) : Buffer.of(piece.charCodeAt(0) - firstOther + 0x80))),
  );
}

/** The places of bytes that belong to no character. */
export function* otherBytes(bytes: Buffer): Generator<number, undefined> {
  for (let at = 0; at < bytes.length; ) {
    const size = characterSize(bytes[at]!);
    const isWhole = size === 1 || (size > 1 && at + size <= bytes.length && isUtf8(bytes.subarray(at, at + size)));
    if (!isWhole) yield at;
    at += isWhole ? size : 1;
  }
  return undefined;
}

/** Of a character that begins with this byte; 0 if none does. */
function characterSize(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}
