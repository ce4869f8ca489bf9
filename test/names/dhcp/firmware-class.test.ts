import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { contains, parseIp, parsePrefix } from '../../../src/core/ip.ts';
import { firmwareClass, relayIsWithin } from '../../../src/names/dhcp/boot-classes.ts';

/** Does with an address what Kea does with the comparisons. */
function holds(test: string, address: string): boolean {
  const hex = parseIp(address)!.value.toString(16).padStart(8, '0');
  const compared = test
    .replaceAll(/substring\(pkt4\.giaddr,(\d),(\d)\) == 0x([0-9a-f]+)/g, (_, from: string, length: string, wanted) =>
      String(hex.slice(Number(from) * 2, (Number(from) + Number(length)) * 2) === wanted),
    )
    .replaceAll('pkt4.giaddr == 0.0.0.0', String(address === '0.0.0.0'));
  const words = compared.replaceAll(' and ', ' && ').replaceAll(' or ', ' || ').replaceAll('not ', '!');
  expect(words).toMatch(/^(?:true|false|&&|\|\||[!() ])+$/);
  return runInNewContext(words) as boolean;
}

describe('relays that Kea believes', () => {
  it.each([
    ['10.0.0.0/8', 'substring(pkt4.giaddr,0,1) == 0x0a'],
    ['10.88.0.0/16', 'substring(pkt4.giaddr,0,2) == 0x0a58'],
    ['10.88.4.0/24', 'substring(pkt4.giaddr,0,3) == 0x0a5804'],
    ['10.88.4.1/32', 'substring(pkt4.giaddr,0,4) == 0x0a580401'],
    [
      '10.88.4.0/23',
      'substring(pkt4.giaddr,0,2) == 0x0a58 and (substring(pkt4.giaddr,2,1) == 0x04 or substring(pkt4.giaddr,2,1) == 0x05)',
    ],
    ['0.0.0.0/0', 'not (pkt4.giaddr == 0.0.0.0)'],
  ])('are those of a network: %s', (network, test) => {
    expect(relayIsWithin(parsePrefix(network)!)).toBe(test);
  });

  it.each([
    '128.0.0.0/1',
    '10.0.0.0/7',
    '10.128.0.0/9',
    '172.16.0.0/12',
    '10.88.16.0/20',
    '10.88.4.128/25',
    '10.88.4.4/31',
  ])('are all of %s and no others', (network) => {
    const prefix = parsePrefix(network)!;
    const test = relayIsWithin(prefix);
    const addresses =
      '0.0.0.0 9.255.255.255 10.0.0.1 10.88.4.4 10.88.4.5 10.88.4.6 10.88.4.127 10.88.4.128 10.88.15.255 10.88.16.0 10.88.31.255 10.88.32.0 10.127.9.9 10.128.0.0 10.255.1.1 11.0.0.1 12.0.0.1 127.9.9.9 172.15.1.1 172.16.0.0 172.31.255.255 172.32.0.0 192.168.0.1 255.255.255.255';
    for (const address of addresses.split(' '))
      expect([address, holds(test, address)]).toEqual([address, contains(prefix, parseIp(address)!)]);
  });

  it('are none where all networks are here', () => {
    expect(firmwareClass([], 7_200).test).toBe('option[93].exists and (pkt.src == 0.0.0.0)');
  });
});
