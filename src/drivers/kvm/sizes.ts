import { Fault } from '../../core/errors.ts';

export const mebi = 1024n * 1024n;

const units: Readonly<Record<string, bigint>> = { K: 1024n, M: mebi, G: 1024n * mebi, T: mebi * mebi };

/** Bytes of `20`, `20G`, `1.5T`, `512MB`; undefined if it is no size. */
export function bytesOf(text: string, usualUnit: string): bigint | undefined {
  const [, whole, part = '', unit = usualUnit] =
    /^(\d{1,9})(?:\.(\d{1,3}))?\s*([KMGT])?(?:i?B)?$/i.exec(text.trim()) ?? [];
  const factor = units[unit.toUpperCase()];
  if (whole === undefined || factor === undefined) return undefined;
  return (BigInt(whole + part.padEnd(3, '0')) * factor) / 1000n;
}

/** More than any disk; numbers of 64 bits hold it. */
const largestDisk = mebi * mebi * mebi;

/** Bytes of a disk; gigabytes if no unit is told. */
export function diskSize(text: string): bigint {
  const bytes = bytesOf(text, 'G');
  if (bytes !== undefined && bytes > 0n && bytes <= largestDisk) return bytes;
  throw new Fault('invalid', `"${text}" is no size of a disk: gigabytes, or a number with K, M, G or T.`);
}

export const inMegabytes = (bytes: bigint): string => `${bytes / mebi} MB`;
