import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { substituteNics } from '../../../src/objects/substitution/index.ts';

test.each([
  [String.raw`eth1!|node(\d+)|192.168.1.($1)|`, 'eth1!192.168.1.5'],
  [String.raw`eth0!10.0.0.1,eth1!|node(\d+)|192.168.1.($1)|`, 'eth0!10.0.0.1,eth1!192.168.1.5'],
  [String.raw`eth1!|node(\d+)|192.168.1.($1)|,eth0!10.0.0.1`, 'eth1!192.168.1.5,eth0!10.0.0.1'],
  [String.raw`eth1!|node(\d+)|192.168.1.($1)|,eth0!|10.0.0.($1+1)|`, 'eth1!192.168.1.5,eth0!10.0.0.6'],
  [String.raw`|node(\d+)|eth0!192.168.1.($1+10),eth1!10.0.0.($1+20)|`, 'eth0!192.168.1.15,eth1!10.0.0.25'],
  [String.raw`ib0!|\D+(\d{1,3})|(ipadd(10,1,0,10,$1,0,0))|,eth0!x`, 'ib0!10.1.0.15,eth0!x'],
  [String.raw`ib0!|(skip($1,"3:2,6"))|,ib1!|(skip($1,"9"))|`, 'ib0!3,ib1!5'],
  [String.raw`eth0!|node(\d+)|10.0.0.($1)|10.1.0.($1)|,eth1!a`, 'eth0!10.0.0.5|10.1.0.5,eth1!a'],
  ['eth0!10.0.0.1|10.0.0.2,eth1!10.1.0.1', 'eth0!10.0.0.1|10.0.0.2,eth1!10.1.0.1'],
  ["eth1!'10.1.0.1|10.1.0.2',eth0!10.0.0.1", "eth1!'10.1.0.1|10.1.0.2',eth0!10.0.0.1"],
  ['eth0!/node/x/', 'eth0!/node/x/'],
  ['eth0!|^.*$||,eth1!a', 'eth1!a'],
  ['eth0!|^.*$||', undefined],
  ['eth0!|', 'eth0!|'],
  ['eth0!|a,eth1!b', 'eth0!|a,eth1!b'],
  ['eth0!|a,b|,c', 'eth0!|a,b|,c'],
  ['|^.*$||', undefined],
  ['/node/eth0!/', 'eth0!5'],
  ['', undefined],
])('for node5 the column %s is %s', (stored, effective) => {
  expect(substituteNics(stored, 'node5')).toBe(effective);
});

test('a column without pattern values comes back unchanged', () => {
  const name = fc.stringMatching(/^[a-z0-9.]{1,6}$/);
  const value = fc.stringMatching(/^[a-z0-9.:]{1,8}(\|[a-z0-9.:]{0,8})?$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { minLength: 1 }), (nics) => {
      const stored = nics.map(([nic, ip]) => `${nic}!${ip}`).join(',');
      expect(substituteNics(stored, 'node5')).toBe(stored);
    }),
  );
});

test('each value is computed by itself, in its place', () => {
  const nic = fc.tuple(fc.stringMatching(/^[a-z]{1,4}$/), fc.nat({ max: 99 }), fc.boolean());
  fc.assert(
    fc.property(fc.array(nic, { minLength: 1 }), (nics) => {
      const stored = nics.map(([name, add, computed]) => `${name}!${computed ? `|10.0.0.($1+${add})|` : add}`);
      const effective = nics.map(([name, add, computed]) => `${name}!${computed ? `10.0.0.${5 + add}` : add}`);
      expect(substituteNics(stored.join(','), 'node5')).toBe(effective.join(','));
    }),
  );
});

test.each([
  ['values that are never closed', 'a!|x,'.repeat(50_000)],
  ['nothing but bars', `a!${'|'.repeat(100_000)}`],
  ['nothing but commas', `a!|${','.repeat(100_000)}`],
])('%s end at once', (_what, stored) => {
  expect(substituteNics(stored, 'node5')).toBe(
    stored === `a!${'|'.repeat(100_000)}` ? `a!${'|'.repeat(99_997)}node5` : stored,
  );
});
