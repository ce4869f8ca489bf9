import { afterAll, beforeAll, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { define, labNodes } from './nodes.ts';
import { readStream } from './stream.ts';

let server: TestServer;
let bmcs: BmcLab;

beforeAll(async () => {
  [server, bmcs] = await Promise.all([
    startServer({ environment: { MUSTER_IPMI_TIMEOUT: '3' } }),
    startBmcs({ count: 5, prefix: '127.41' }),
  ]);
  await define(server, labNodes('i', 'ipmi', bmcs.addresses));
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop()]));

it('a BMC that drops a setting makes the request fail', async () => {
  await bmcs.fault(0, { dropSettings: true });
  const reply = await server.call('PUT', '/nodes/i1/sp/community', { body: { value: 'private' } });
  expect(errorOf(reply)).toEqual([403, 1]);
  expect(reply.json.error).toEqual([
    'i1: its BMC accepted community but did not keep it: wanted "private", found "public".',
  ]);
});

it('SNMP destinations that are not set are told as such', async () => {
  expect(await server.ok('GET', '/nodes/i2/sp/snmpdest1')).toEqual({ i2: { 'SP SNMP Destination 1': '0.0.0.0' } });
  await server.ok('PUT', '/nodes/i2/sp/snmpdest', { value: '127.41.9.9' });
  expect(await server.ok('GET', '/nodes/i2/sp/snmpdest')).toEqual({
    i2: {
      'SP SNMP Destination 1': '127.41.9.9',
      'SP SNMP Destination 2': '0.0.0.0',
      'SP SNMP Destination 3': '0.0.0.0',
      'SP SNMP Destination 4': '0.0.0.0',
    },
  });
});

it('the range of power limits, which DCMI does not tell, is na, and percent of it are refused', async () => {
  expect(await server.ok('GET', '/nodes/i2/energy/cappingmaxmin')).toEqual({
    i2: { cappingmax: 'na', cappingmin: 'na' },
  });
  const reply = await server.call('PUT', '/nodes/i2/energy', { body: { cappingvalue: '50%' } });
  expect(errorOf(reply)).toEqual([403, 1]);
  expect(reply.json.error).toEqual([
    'i2: its BMC does not report the range of its power limit; give watts instead of percent.',
  ]);
});

it('a BMC is not moved to the address of another', async () => {
  const reply = await server.call('PUT', '/nodes/i3/sp/ip', { body: { ip: bmcs.addresses[1]! } });
  expect(errorOf(reply)).toEqual([403, 1]);
  expect(reply.json.error[0]).toMatch(
    /^i3: .* 127\.41\.0\.2, but another BMC answers there .* may still answer at 127\.41\.0\.3\.$/,
  );
});

it('a dead BMC gives the same error whether it was used lately or not', async () => {
  await server.ok('GET', '/nodes/i4/power');
  for (const index of [3, 4]) await bmcs.fault(index, { loss: 100 });
  const replies = await Promise.all(['i4', 'i5'].map((node) => server.call('GET', `/nodes/${node}/power`)));
  for (const [index, reply] of replies.entries()) {
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(new RegExp(`^i${index + 4}: its BMC at .* did not answer within`));
  }
  const { lines } = await readStream(server, 'GET', '/nodes/i4,i5/power');
  expect(lines.at(-1)!.json).toEqual({ summary: { nodes: 2, ok: 0, failed: 2, errorcode: 1 } });
});
