import { expect, it } from 'vitest';
import { agree } from '../../../src/protocols/tftp/packets.ts';

const agreed = (options: Record<string, string>, family: 4 | 6 = 4) => {
  const { accepted, ...rest } = agree(new Map(Object.entries(options)), 5_000, family);
  return { ...rest, accepted: Object.fromEntries(accepted) };
};

it.each<[string, Record<string, string>, object]>([
  ['nothing', {}, { blockSize: 512, window: 1, retryDelay: 1_000, accepted: {} }],
  ['a block size', { blksize: '1024' }, { blockSize: 1_024, accepted: { blksize: '1024' } }],
  ['one that fills a frame', { blksize: '1468' }, { blockSize: 1_468 }],
  ['one that does not fit a frame', { blksize: '8192' }, { blockSize: 1_468, accepted: { blksize: '1468' } }],
  ['the smallest', { blksize: '8' }, { blockSize: 8 }],
  ['one that is too small', { blksize: '7' }, { blockSize: 512, accepted: {} }],
  ['one beyond the protocol', { blksize: '65465' }, { blockSize: 512, accepted: {} }],
  ['one that is no number', { blksize: '1e3' }, { blockSize: 512, accepted: {} }],
  ['a negative one', { blksize: '-8' }, { blockSize: 512, accepted: {} }],
  ['the size', { tsize: '0' }, { accepted: { tsize: '5000' } }],
  ['a window', { windowsize: '16' }, { window: 16, accepted: { windowsize: '16' } }],
  ['a wide window', { windowsize: '65535' }, { window: 64, accepted: { windowsize: '64' } }],
  ['no window', { windowsize: '0' }, { window: 1, accepted: {} }],
  ['a timeout', { timeout: '3' }, { retryDelay: 3_000, accepted: { timeout: '3' } }],
  ['a long timeout', { timeout: '255' }, { retryDelay: 8_000, accepted: { timeout: '255' } }],
  ['a timeout beyond the protocol', { timeout: '256' }, { retryDelay: 1_000, accepted: {} }],
  ['what nobody knows', { multicast: '', rollover: '0' }, { accepted: {} }],
])('a client that asks for %s', (_, options, expected) => {
  expect(agreed(options)).toMatchObject(expected);
});

it('leaves room for the longer header of IPv6', () => {
  expect(agreed({ blksize: '1468' }, 6)).toMatchObject({ blockSize: 1_448, accepted: { blksize: '1448' } });
});
