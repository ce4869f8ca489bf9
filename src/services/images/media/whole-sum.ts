import type { IsoFile } from './iso/iso-file.ts';
import { blockSize } from './iso/iso-file.ts';
import { applicationUse } from './iso/volume.ts';

/** The MD5 sum of a whole medium that its makers have put into it, as those of RHEL and Fedora do (isomd5sum). */
export interface WholeSum {
  readonly digest: string;
  /** It covers the medium up to here; the bytes of `blank` count as blanks, since it stands in them itself. */
  readonly length: number;
  readonly blank: { readonly at: number; readonly length: number };
}

export function wholeSumOf(iso: IsoFile, blocks: number): WholeSum | undefined {
  const text = iso.read(applicationUse.at, applicationUse.length, 'the volume descriptor').toString('latin1');
  const [, digest, skipped] = /ISO MD5SUM = ([0-9a-f]{32});SKIPSECTORS = (\d{1,4});/.exec(text) ?? [];
  if (digest === undefined || skipped === undefined) return undefined;
  const length = (blocks - Number(skipped)) * blockSize;
  if (length <= applicationUse.at || length > iso.size) throw iso.truncated('what its MD5 sum covers');
  return { digest, length, blank: applicationUse };
}
