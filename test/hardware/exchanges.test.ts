import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { roots } from '../../src/rest/endpoints/roots.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { mismatch, readExchanges, send } from '../harness/exchanges.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';

// The recorded exchanges and the examples of the documentation name these addresses.
const prefix = '127.10';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;

beforeAll(async () => {
  [server, bmcs, services] = await Promise.all([
    startServer(),
    startBmcs({ count: 20, prefix }),
    startRedfish({ count: 2, prefix: '127.71', kinds: ['plain', 'enclosure'] }),
  ]);
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop()]));

describe.each(['ipmi', 'hardware'])('answers at /xcatws as the reference system does: %s', (name) => {
  beforeAll(() => resetTo(server, readExchanges<Rows>('baseline')));

  it.each(readExchanges(name).map((exchange) => [exchange.id, exchange.note, exchange] as const))(
    '%s %s',
    async (_id, _note, exchange) => {
      expect(mismatch(exchange, await send(server.client, exchange, {}))).toBeUndefined();
    },
  );
});

const onSsh = ['xdsh', 'xdcp', 'updatenode'];
const onHypervisors = ['chvm', 'clonevm', 'mkvm', 'rmigrate', 'rmvm', 'snapvm'];
const onBootListener = ['rinstall', 'lsanswers', 'lsoverlay', 'sendoverlay'];
/** These have tests of their own, on services and PDUs that have what they are about. */
const onOtherHardware = ['lsoutlets', 'rbios', 'rflash', 'rmedia'];
const elsewhere = [...onSsh, ...onHypervisors, ...onBootListener, ...onOtherHardware];
/** Rows that want hardware; everything else is tried with the other rows, on nodes with SSH, on hypervisors, or with what machines boot from. */
const rows = endpoints.filter(
  ({ command: { kind, name } }) =>
    (kind === 'per-node' && !elsewhere.includes(name)) || ['bmcdiscover', 'nodeset'].includes(name),
);

describe.each(roots.map(({ prefix: root }) => root))('every example works on hardware at %s', (root) => {
  beforeAll(async () => {
    await resetTo(server, {
      ...exampleRows,
      ipmi: [{ node: 'compute', bmc: `|\\D+(\\d+)$|${prefix}.0.($1)|`, username: 'admin', password: 'secret' }],
      nodehm: [...exampleRows['nodehm']!, { node: 'chassis1', mgt: 'redfish' }],
      nodelist: [...exampleRows['nodelist']!, { node: 'chassis1', groups: 'all' }],
    });
    const account = { bmcusername: 'admin', bmcpassword: 'secret' };
    await server.ok('PUT', '/nodes/chassis1', { bmc: services.addresses[1], ...account });
  });

  const body = ({ example }: Endpoint) => (example.body === undefined ? {} : { body: example.body });

  const offered = rows.filter(({ only }) => only === undefined || only === root);

  it.each(offered.map((row) => [`${row.method} ${row.path}`, row] as const))('%s', async (_name, row) => {
    // What IPMI does not have is tried on a node that has it.
    const redfish = /\/(bootorder|certificates|certificaterequests)$/.test(row.path);
    await server.ok('PUT', '/nodes/n1', { bmc: redfish ? services.addresses[0] : '' });
    await server.ok('PUT', '/nodes/n1', { mgt: redfish ? 'redfish' : '' });
    const path = row.example.path.replace('PASSWORD', 'secret');
    const reply = await server.call(row.method, path, { root, ...body(row) });
    const made = /\/sp\/(accounts|certificaterequests)$/.test(row.path) && row.method === 'POST' ? 201 : 200;
    expect([reply.status, reply.text]).toEqual([made, expect.anything()]);
    if (row.reply === 'none') return expect(reply.text).toBe('');
    if (row.reply === 'list') return expect(reply.json[0]).toBe((row.example.reply as string[])[0]);
    for (const [name, attributes] of Object.entries(row.example.reply as Record<string, object>)) {
      // How many sleds there are and what they are called is a matter of the lab.
      const shown = row.path.endsWith('/subnodes') ? Object.values(reply.json as object)[0] : reply.json[name];
      expect(Object.keys(shown)).toEqual(expect.arrayContaining(Object.keys(attributes)));
    }
  });
});
