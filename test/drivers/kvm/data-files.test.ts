import { expect, test } from 'vitest';
import { dataFileIn } from '../../../src/drivers/kvm/data-files.ts';

/** A header as the format of qcow2 has it, with its extensions. */
function header(...extensions: (readonly [type: number, text: string])[]): Buffer {
  const head = Buffer.alloc(104);
  head.writeUInt32BE(0x51_46_49_fb, 0);
  head.writeUInt32BE(3, 4);
  head.writeBigUInt64BE(4n, 72);
  head.writeUInt32BE(104, 100);
  const pieces = extensions.map(([type, text]) => {
    const piece = Buffer.alloc(8 + Math.ceil(Buffer.byteLength(text) / 8) * 8);
    piece.writeUInt32BE(type, 0);
    piece.writeUInt32BE(Buffer.byteLength(text), 4);
    piece.write(text, 8);
    return piece;
  });
  return Buffer.concat([head, ...pieces, Buffer.alloc(8)]);
}

const [formatOfBase, dataFile] = [0xe2_79_2a_ca, 0x44_41_54_41];

test('the name of the file with the content is found behind other extensions', () => {
  expect(dataFileIn(header([formatOfBase, 'qcow2'], [dataFile, '../images/größe.raw']))).toBe('../images/größe.raw');
});

test('an image that keeps its content itself has none, whatever its extensions say', () => {
  const plain = header([dataFile, 'x.raw']);
  plain.writeBigUInt64BE(0n, 72);
  expect([dataFileIn(plain), dataFileIn(header([formatOfBase, 'qcow2']))]).toEqual([undefined, undefined]);
});

test('what is cut off, or leads beyond the end, ends the search', () => {
  const wrong = header([formatOfBase, 'qcow2'], [dataFile, 'x.raw']);
  wrong.writeUInt32BE(0xff_ff_ff_ff, 108);
  expect([wrong, wrong.subarray(0, 100), Buffer.alloc(0)].map(dataFileIn)).toEqual([undefined, undefined, undefined]);
});
