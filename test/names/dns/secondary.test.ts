import { describe, expect, it } from 'vitest';
import type { Layout } from '../../../src/names/dns/layout.ts';
import { secondaryOf } from '../../../src/names/dns/secondary.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

const layout: Layout = {
  how: 'process',
  configuration: '/dns/named.conf',
  directory: '/dns',
  keyFile: '/dns/muster.key',
  transferKeyFile: '/dns/transfer.key',
  unit: 'named',
  user: undefined,
  listen: undefined,
  server: { host: '127.0.0.1', port: 53 },
};
const key = { name: 'muster', algorithm: 'hmac-sha256', secret: Buffer.from('secret') } as const;
const numbered = (count: number, name: string): string[] => Array.from({ length: count }, (_, i) => `${i}.${name}`);
const copied = (zones: readonly string[]) => secondaryOf(snapshotOf({}), '10.0.0.1', { layout, key, zones });

describe('what a name server of a worker gets', () => {
  it('is all zones', () => {
    const zones = numbered(10_000, 'test');
    expect(copied(zones)).toMatchObject({ zones: zones.toSorted(), primary: { host: '10.0.0.1', port: 53 } });
  });

  it.each([
    ['more zones than a worker takes', numbered(10_001, 'test'), '10001 zones'],
    ['longer names than a message carries', numbered(9_000, `${'x'.repeat(60)}.test`), '9000 zones'],
  ])('is an objection where there are %s', (_what, zones, counted) => {
    const objection = expect.stringMatching(
      `^It copies no zones, because ${counted}, 0 networks and 0 forwarders are more than a worker takes .*POST /services/dns\\.$`,
    ) as string;
    expect(copied(zones)).toEqual({ objection });
  });
});
