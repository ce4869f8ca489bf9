import { expect, test } from 'vitest';
import { entriesIn } from '../../../src/drivers/kvm/image-snapshots.ts';

/** An entry of the table as the format of qcow2 has it. */
function entry(id: string, name: string, extra = 16): Buffer {
  const head = Buffer.alloc(40);
  head.writeUInt16BE(Buffer.byteLength(id), 12);
  head.writeUInt16BE(Buffer.byteLength(name), 14);
  head.writeUInt32BE(extra, 36);
  const whole = Buffer.concat([head, Buffer.alloc(extra), Buffer.from(id + name)]);
  return Buffer.concat([whole, Buffer.alloc((8 - (whole.length % 8)) % 8)]);
}

test('snapshots inside an image are read with their IDs and names, whatever stands between them', () => {
  const table = Buffer.concat([entry('1', 'before-update'), entry('12', 'nächste', 24), entry('3', '1', 0)]);
  expect(entriesIn(Buffer.concat([table, Buffer.alloc(100, 0xff)]), 3)).toEqual([
    { id: '1', name: 'before-update' },
    { id: '12', name: 'nächste' },
    { id: '3', name: '1' },
  ]);
});

test.each([0, 39, 60])('a table that ends after %d bytes is not read as a shorter one', (length) => {
  expect(entriesIn(entry('1', 'before-update').subarray(0, length), 1)).toBeUndefined();
});

test('lengths that lead beyond the table end nowhere else', () => {
  const wrong = entry('1', 's');
  wrong.writeUInt32BE(0xff_ff_ff_ff, 36);
  expect(entriesIn(wrong, 1)).toBeUndefined();
});
