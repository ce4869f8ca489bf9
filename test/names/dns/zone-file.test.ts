import { expect, it } from 'vitest';
import { renderZone } from '../../../src/names/dns/zone-file.ts';

it('lets nobody remember for long that a name is not there, so that a new node is found soon', () => {
  const address = { name: 'mn.a.b', type: 'A', data: '10.0.0.1' } as const;
  const soa = renderZone('a.b', 7, { name: 'mn.a.b', address }, true, [])
    .split('\n')
    .find((line) => line.includes(' SOA '));
  const [serial, , , , absent] = /\( (.*) \)/
    .exec(soa ?? '')![1]!
    .split(' ')
    .map(Number);
  expect([serial, absent! <= 60]).toEqual([7, true]);
});
