import type { Entry } from 'ldapts';
import { foldedName } from '../sources.ts';

/** What never changes for an entry, in the order in which it counts; directories have one of these. */
const lasting = ['entryUUID', 'ipaUniqueID', 'nsUniqueId', 'objectGUID'];

/** Attributes that say whether an account may be used, by various directories. */
const locks = [
  'userAccountControl',
  'accountExpires',
  'nsAccountLock',
  'pwdAccountLockedTime',
  'loginDisabled',
  'shadowExpire',
];

/** Attributes that are asked for. Those of operation are not sent otherwise. */
export const personAttributes = (nameAttribute: string): string[] => [nameAttribute, 'memberOf', ...lasting, ...locks];
export const binaryAttributes = ['objectGUID'];

/** The values of an attribute, however the directory spells its name. */
export function valuesOf(entry: Entry, attribute: string): string[] {
  const wanted = attribute.toLowerCase();
  return Object.entries(entry).flatMap(([name, values]) =>
    name.toLowerCase() !== wanted
      ? []
      : [values].flat().map((value) => (Buffer.isBuffer(value) ? value.toString('hex') : value)),
  );
}

/** Whether only a part of the values was sent. */
export const isCut = (entry: Entry, attribute: string): boolean =>
  Object.keys(entry).some((name) => name.toLowerCase().startsWith(`${attribute.toLowerCase()};range=`));

export function idOf(entry: Entry): string {
  for (const attribute of lasting) {
    const [value] = valuesOf(entry, attribute);
    if (value) return value.toLowerCase();
  }
  return `dn:${entry.dn.toLowerCase()}`;
}

/** Whether the entry is of the account that was meant: a directory may take other spellings for the same. */
export const isCalled = (entry: Entry, nameAttribute: string, name: string): boolean =>
  valuesOf(entry, nameAttribute).some((value) => foldedName(value) === name);

const accountDisable = 2;
/** In Active Directory: never; and the first day of its calendar, in its unit of 100 ns, before ours. */
const neverExpires = 0x7fff_ffff_ffff_ffffn;
const since1601 = 11_644_473_600_000n;

export function isDisabled(entry: Entry, now = Date.now()): boolean {
  const [control = ''] = valuesOf(entry, 'userAccountControl');
  if ((Number(control) & accountDisable) !== 0) return true;
  const [expires = ''] = valuesOf(entry, 'accountExpires');
  if (/^\d{1,19}$/.test(expires)) {
    const end = BigInt(expires);
    if (end !== 0n && end !== neverExpires && end / 10_000n - since1601 <= BigInt(now)) return true;
  }
  const isSet = (attribute: string): boolean =>
    valuesOf(entry, attribute).some((value) => value.toLowerCase() === 'true');
  if (isSet('nsAccountLock') || isSet('loginDisabled')) return true;
  // Any other time is one of a lock after wrong passwords, with which strangers could end somebody's tokens.
  if (valuesOf(entry, 'pwdAccountLockedTime').includes('000001010000Z')) return true;
  const [day = ''] = valuesOf(entry, 'shadowExpire');
  return /^\d+$/.test(day) && Number(day) * 86_400_000 <= now;
}
