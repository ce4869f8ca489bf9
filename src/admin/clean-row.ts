import { isIPv4 } from 'node:net';
import { dotted } from '../core/ip.ts';
import type { Table } from '../database/tables.ts';

// eslint-disable-next-line no-control-regex -- finding control characters is the point
const control = /[\u0000-\u001f\u007f]+/g;
const masked = new Set(['networks', 'routes']);

/** Mends values that the reference system takes and we refuse, in place; yields what it did. */
export function* cleanRow(table: Table, row: Record<string, string>): Iterable<string> {
  for (const column in row) {
    const cleaned = row[column]!.replaceAll(control, ' ').trim();
    // Blanks alone are nobody's business.
    if (cleaned === row[column]!.trim()) continue;
    row[column] = cleaned;
    yield `control characters in ${column} became blanks.`;
  }
  const { mask, net = '' } = row;
  if (!masked.has(table.name) || mask === undefined || !/^\d{1,3}$/.test(mask)) return;
  const bits = Number(mask);
  const mended =
    isIPv4(net) && bits <= 32
      ? dotted(bits === 0 ? 0 : (0xff_ff_ff_ff << (32 - bits)) >>> 0)
      : bits <= 128
        ? `/${mask}`
        : mask;
  if (mended === mask) return;
  row['mask'] = mended;
  yield `the mask "${mask}" became "${mended}".`;
}
