import { randomInt } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import type { PasswordLength } from '../accounts.ts';

/** What every BMC takes and keeps, whichever protocol the password is for: IPMI 1.5 and many 2.0 ones have 16 bytes. */
const usual = 16;
/** Shorter ones can be guessed by whoever has a hash of them, which IPMI gives to anybody. */
const least = 12;

/** Without letters and digits that people take for others; each password has one of each kind, as BMCs may demand. */
const kinds = ['ABCDEFGHJKLMNPQRSTUVWXYZ', 'abcdefghijkmnopqrstuvwxyz', '23456789', '-_.'] as const;
const letters = kinds[0] + kinds[1];
const all = kinds.join('');

/** How long a new password is to be for a BMC; a Fault if it takes none that is long enough. */
export function lengthFor(accepted: PasswordLength, wanted: number | undefined): number {
  const length = wanted ?? Math.max(accepted.least, Math.min(usual, accepted.most));
  if (length >= accepted.least && length <= accepted.most && length >= least) return length;
  const bounds = `${accepted.least} to ${accepted.most} characters`;
  throw new Fault(
    'invalid',
    wanted === undefined
      ? `its BMC takes passwords of ${bounds}, and muster makes none of less than ${least}.`
      : `its BMC takes passwords of ${bounds}, and ${wanted} were asked for.`,
  );
}

/** Random; a letter comes first, and no character twice in a row. */
export function newPassword(length: number): string {
  for (;;) {
    let text = pick(letters);
    while (text.length < length) {
      const next = pick(all);
      if (next !== text.at(-1)) text += next;
    }
    if (kinds.every((kind) => text.split('').some((character) => kind.includes(character)))) return text;
  }
}

const pick = (from: string): string => from[randomInt(from.length)]!;
