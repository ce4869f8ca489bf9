import { bareText } from '../../../objects/claims.ts';

/** What boards carry whose maker has not filled it in; many machines share it, so it tells none apart. Compared without punctuation. */
const emptySerials = new Set([
  '',
  'NONE',
  'NA',
  'NULL',
  'UNKNOWN',
  'NOTSPECIFIED',
  'NOTAPPLICABLE',
  'NOTAVAILABLE',
  'DEFAULT',
  'DEFAULTSTRING',
  'EMPTY',
  'INVALID',
  'OEM',
  'SERIAL',
  'SERIALNUMBER',
  'SYSTEMSERIALNUMBER',
  'CHASSISSERIALNUMBER',
  'TOBEFILLEDBYOEM',
  'TOBEFILLED',
  '0123456789',
  '123456789',
  '1234567890',
]);

const emptyUuids = new Set(['03000200-0400-0500-0006-000700080009', '12345678-1234-5678-90ab-cddeefaabbcc']);

/** A serial number that is one machine's, or undefined. */
export function meaningfulSerial(text: string): string | undefined {
  const bare = bareText(text);
  return emptySerials.has(bare) || /^(.)\1*$/.test(bare) ? undefined : text;
}

/** A UUID that is one machine's, in lower case, or undefined. */
export function meaningfulUuid(text: string): string | undefined {
  const digits = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{32}$/.test(digits) || /^(.)\1*$/.test(digits)) return undefined;
  const uuid = [8, 12, 16, 20, 32].map((end, at) => digits.slice([0, 8, 12, 16, 20][at], end)).join('-');
  return emptyUuids.has(uuid) ? undefined : uuid;
}
