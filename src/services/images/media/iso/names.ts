import type { IsoFile } from './iso-file.ts';
import type { IsoRecord } from './record.ts';
import type { Names } from './volume.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const longestName = 255;

/** The name of a file: as the medium gives it, but never one that means another place or hides what it is. */
export function decodeName(iso: IsoFile, names: Names, record: IsoRecord, rockRidge: Buffer | undefined): string {
  const name = decoded(iso, names, record, rockRidge);
  // oxlint-disable-next-line no-control-regex
  if (name === '' || name === '.' || name === '..' || /[/\u0000-\u001f\u007f]/.test(name))
    throw iso.broken(`it has a file with the name ${JSON.stringify(name)}`);
  if (Buffer.byteLength(name) > longestName)
    throw iso.broken(`it has a file whose name is longer than ${longestName} bytes`);
  return name;
}

function decoded(iso: IsoFile, names: Names, { name }: IsoRecord, rockRidge: Buffer | undefined): string {
  if (rockRidge) return text(iso, rockRidge);
  if (names.kind === 'joliet') return withoutVersion(jolietText(iso, name));
  // As Linux shows them.
  return withoutVersion(text(iso, name)).replace(/\.$/, '').toLowerCase();
}

function text(iso: IsoFile, bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw iso.broken(`it has a file whose name is not UTF-8 (${JSON.stringify(bytes.toString('latin1'))})`);
  }
}

function jolietText(iso: IsoFile, name: Buffer): string {
  if (name.length % 2 !== 0) throw iso.broken('it has a file with half a character in its name');
  return Buffer.from(name).swap16().toString('utf16le');
}

const withoutVersion = (name: string): string => name.replace(/;\d{1,5}$/, '');

/**
 * Whether a link stays inside the tree whatever else is a link there: it goes up first and then only down, and not above the root.
 * (`a/../..` would depend on what `a` is.)
 */
export function isInside(path: string, parts: readonly string[]): boolean {
  // oxlint-disable-next-line no-control-regex
  if (parts.length === 0 || parts.some((part) => part === '' || /[/\u0000-\u001f\u007f]/.test(part))) return false;
  const ups = parts.findIndex((part) => part !== '..' && part !== '.');
  const down = ups < 0 ? [] : parts.slice(ups);
  if (down.includes('..')) return false;
  const climbs = parts.filter((part) => part === '..').length;
  return climbs <= path.split('/').length - 1;
}
