import { expect, test } from 'vitest';
import { AddressGuard, parseNetwork } from '../../src/core/address-guard.ts';

test('without networks every address is admitted as it is', async () => {
  const guard = new AddressGuard(undefined);
  expect(await guard.admit('192.0.2.7')).toBe('192.0.2.7');
  expect(await guard.admit('bmc.example')).toBe('bmc.example');
});

test.each(['127.0.0.1', '127.10.3.4', '::1', 'fd00::5'])(
  'an address inside the networks is admitted: %s',
  async (address) => {
    expect(await new AddressGuard(['127.0.0.0/8', '::1/128', 'fd00::/8']).admit(address)).toBe(address);
  },
);

test.each(['192.0.2.1', '128.0.0.1', '::2', '2001:db8::1'])(
  'an address outside is refused with the networks: %s',
  async (address) => {
    const guard = new AddressGuard(['127.0.0.0/8', '::1/128']);
    await expect(guard.admit(address)).rejects.toThrow(`the address ${address} is outside the networks`);
  },
);

test('a name is judged, and used, by its address', async () => {
  expect(await new AddressGuard(['127.0.0.0/8', '::1/128']).admit('localhost')).toMatch(/^(127\.|::1$)/);
  await expect(new AddressGuard(['192.0.2.0/24']).admit('localhost')).rejects.toThrow('outside the networks');
});

test.each(['10.0.0.0', '10.0.0.0/33', 'x/8', '::/129', '10.0.0/8', ''])('%j is no network', (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});
