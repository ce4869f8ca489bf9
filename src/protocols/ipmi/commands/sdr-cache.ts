import { createHash } from 'node:crypto';
import { mapInSlices } from '../../../core/slices.ts';
import type { IpmiLink } from '../link.ts';
import { getSdrInfo, readSdrRecords } from './sdr.ts';
import { decodeSdrRecord, type SdrRecord } from './sdr-record.ts';

interface Entry {
  readonly stamp: string;
  readonly records: readonly SdrRecord[];
}

/**
 * The records of many service processors, read once and again only when a processor's own stamp says that they changed.
 * Machines of one model have equal records, which are kept once.
 */
export interface SdrCache {
  records(key: string, link: IpmiLink, signal: AbortSignal): Promise<readonly SdrRecord[]>;
}

export function sdrCache(capacity = 20_000): SdrCache {
  const entries = new Map<string, Entry>();
  /** By the hash of the raw records, as long as a service processor has them. */
  const byContent = new Map<string, WeakRef<readonly SdrRecord[]>>();

  async function decoded(raw: readonly Buffer[]): Promise<readonly SdrRecord[]> {
    const hash = createHash('sha256');
    for (const record of raw) hash.update(record);
    const content = hash.digest('base64');
    const known = byContent.get(content)?.deref();
    if (known) return known;
    const records = (await mapInSlices(raw, decodeSdrRecord)).flat();
    if (byContent.size >= capacity) byContent.clear();
    byContent.set(content, new WeakRef(records));
    return records;
  }

  return {
    async records(key, link, signal) {
      const { source, stamp } = await getSdrInfo(link, signal);
      const entry = entries.get(key);
      if (entry?.stamp === stamp) return entry.records;
      const records = await decoded(await readSdrRecords(link, source, signal));
      const oldest = entries.keys().next();
      if (entries.size >= capacity && !oldest.done) entries.delete(oldest.value);
      entries.set(key, { stamp, records });
      return records;
    },
  };
}
