import { expect, it } from 'vitest';
import { namesOfPort, portName, switchName } from '../../../src/boot/discovery/switches.ts';

it.each([
  ['Gi1/0/3', 'GigabitEthernet1/0/3', true],
  ['GigabitEthernet1/0/3', 'gi1/0/3', true],
  ['3', 'Gi1/0/3', true],
  ['3', 'swp3', true],
  ['3', 'Ethernet3', true],
  ['3', 'port 3', true],
  ['3', '3', true],
  ['3', 'Ethernet 03', true],
  ['1/3', 'Eth1/3', true],
  ['3', 'Gi2/0/3', false],
  ['3', 'swp13', false],
  ['3', 'Gi1/0/13', false],
  ['2/0/3', 'Gi1/0/3', false],
  ['Gi1/0/3', 'Te1/0/3', false],
  ['uplink', 'Uplink', true],
])('the port that is defined as %s is the one that calls itself %s: %s', (defined, told, same) => {
  expect(namesOfPort(told).includes(portName(defined))).toBe(same);
});

it('a switch is known by its name without its domain', () => {
  expect(switchName(' SW1.cluster.example ')).toBe('sw1');
});
