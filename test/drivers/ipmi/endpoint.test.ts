import { expect, test } from 'vitest';
import { ipmiDriver } from '../../../src/drivers/ipmi/index.ts';
import type { IpmiEndpoint } from '../../../src/protocols/ipmi/client.ts';
import { noSerial } from './script.ts';

/** The endpoint that a node's access becomes. */
function endpointOf(key: string | undefined, ipmiSuites?: readonly (17 | 3)[]): IpmiEndpoint {
  const seen: IpmiEndpoint[] = [];
  const connections = {
    link(endpoint: IpmiEndpoint) {
      seen.push(endpoint);
      return { request: () => Promise.reject(new Error('nothing is sent here')) };
    },
    openSerial: noSerial,
    close: async () => {},
  };
  const driver = ipmiDriver({ connections, ...(ipmiSuites ? { ipmiSuites } : {}) });
  driver.connect({ node: 'n1', address: '127.0.0.1', port: undefined, username: 'admin', password: 'secret', key });
  return seen[0]!;
}

test.each([
  [undefined, undefined],
  ['site key', Buffer.from('site key')],
  ['0x00ff10', Buffer.of(0, 0xff, 0x10)],
  ['0xabc', Buffer.from('0xabc')],
])('K_g given as %j', (key, bytes) => {
  expect(endpointOf(key).kg).toEqual(bytes);
});

test.each([
  ['its own account', { bmcusername: 'root', bmcpassword: 'x' }, 'of root'],
  ['the account of table passwd', {}, 'of admin'],
])('K_g is chosen like %s', async (_, attributes, key) => {
  const rows: Record<string, { username: string; password: string }[]> = {
    ipmi: [{ username: 'admin', password: 'secret' }],
    ipmikg: ['admin', 'root'].map((username) => ({ username, password: `of ${username}` })),
  };
  const account = (name: string, username?: string) =>
    rows[name]?.find((row) => row.username === username) ?? rows[name]?.[0];
  const node = { name: 'n1', attributes: { bmc: '127.0.0.1', ...attributes }, account };
  expect(await ipmiDriver({}).target(node, 'power')).toMatchObject({ access: { key } });
});

test('only the configured cipher suites are offered', () => {
  expect(endpointOf(undefined, [17]).suites).toEqual([17]);
  expect(endpointOf(undefined).suites).toBeUndefined();
});
