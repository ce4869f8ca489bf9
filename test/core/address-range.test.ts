import { expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { expandAddresses } from '../../src/core/ip.ts';

test.each([
  ['10.0.0.1', ['10.0.0.1']],
  ['10.0.0.1,10.0.0.3', ['10.0.0.1', '10.0.0.3']],
  ['10.0.0.1 10.0.0.1', ['10.0.0.1']],
  ['10.0.0.254-10.0.1.1', ['10.0.0.254', '10.0.0.255', '10.0.1.0', '10.0.1.1']],
  ['10.0.0.9-11', ['10.0.0.9', '10.0.0.10', '10.0.0.11']],
  ['10.0.1-2.5', ['10.0.1.5', '10.0.2.5']],
  ['10.0.0.4/30', ['10.0.0.5', '10.0.0.6']],
  ['10.0.0.6/31', ['10.0.0.6', '10.0.0.7']],
  ['10.0.0.7/32', ['10.0.0.7']],
  ['255.255.255.254-255.255.255.255', ['255.255.255.254', '255.255.255.255']],
  ['fd00::1', ['fd00::1']],
])('%s', (text, addresses) => {
  expect(expandAddresses(text)).toEqual(addresses);
});

test.each([
  '',
  ' , ',
  'host',
  '10.0.0.9-8',
  '10.0.0.2-10.0.0.1',
  '10.0.0.300',
  '10.0.0.0/33',
  '10.0.0',
  '1.2.3.4.5',
  '10.0.0.0/8',
  '0-255.0-255.0-255.1',
])('refuses %j', (text) => {
  expect(() => expandAddresses(text)).toThrow(Fault);
});

// Some programs read such numbers as octal ones.
test.each(['127.141.0.010', '127.141.0.1-010', '127.141.0.1-127.141.0.020', '010.0.0.0/24', '10.0.00-01.1'])(
  'refuses leading zeros: %s',
  (text) =>
    expect(() => expandAddresses(text)).toThrow(`"${text}": write the numbers of an address without leading zeros`),
);
