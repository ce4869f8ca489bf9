import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SecureVersion } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../harness/server.ts';
import { jsonAnswer, rawTls } from '../lab/raw-tls.ts';

const address = '127.111.9.30';
const link = (path: string) => ({ '@odata.id': path });
const tree: Readonly<Record<string, object>> = {
  '/redfish/v1/': { Links: {}, Systems: link('/redfish/v1/Systems') },
  '/redfish/v1/Systems': { Members: [link('/redfish/v1/Systems/1')] },
  '/redfish/v1/Systems/1': { Id: '1', PowerState: 'On' },
};

let muster: TestServer;
let stop: (() => Promise<void>) | undefined;
/** Headers that a service without TLS has seen. */
let credentials: string[] = [];

beforeAll(async () => {
  muster = await startServer({ environment: { MUSTER_NEW_DATABASE: 'bare', MUSTER_HARDWARE_NETWORKS: '127.0.0.0/8' } });
});
afterAll(() => muster?.stop());
afterEach(async () => {
  await muster.call('DELETE', '/nodes/n1');
  await stop?.();
  stop = undefined;
  credentials = [];
});

/** A service that speaks one version of TLS and no other, with algorithms as old as that. */
async function serviceWith(version: SecureVersion): Promise<number> {
  const server = await rawTls(
    address,
    (socket, { path }) => {
      const found = tree[path];
      socket.write(found ? jsonAnswer(found) : jsonAnswer({}, '404 Not Found'));
    },
    { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' },
  );
  stop = () => server.stop();
  return server.port;
}

async function plainService(): Promise<number> {
  const server = createServer((request, response) => {
    if (request.headers.authorization) credentials.push(request.headers.authorization);
    const found = tree[request.url ?? ''];
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}));
  });
  server.listen(0, address);
  await once(server, 'listening');
  stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return (server.address() as AddressInfo).port;
}

/** What the power of a node with this service is told as. */
async function powerAt(port: number, transport?: string): Promise<string> {
  const login = { bmcusername: 'u', bmcpassword: 'p' };
  const node = { groups: 'all', mgt: 'redfish', bmc: address, bmcport: String(port), ...login };
  await muster.ok('PUT', '/nodes/n1', transport === undefined ? node : { ...node, bmctransport: transport });
  const { json } = await muster.call('GET', '/nodes/n1/power');
  return json.n1?.power ?? JSON.stringify(json);
}

describe.each<SecureVersion>(['TLSv1', 'TLSv1.1'])('a Redfish service with nothing newer than %s', (version) => {
  it('is refused with what to do, and reached where the node says so', async () => {
    const port = await serviceWith(version);
    expect(await powerAt(port)).toMatch(/speaks no TLS newer than 1\.1.*set its attribute bmctransport to oldtls/);
    await muster.call('DELETE', '/nodes/n1');
    expect(await powerAt(port, 'oldtls')).toBe('on');
  });
});

describe('a Redfish service without TLS', () => {
  it('gets no account unless the node says so', async () => {
    const port = await plainService();
    const told = /does not speak HTTPS\. If it is a simulator with plain HTTP, set its attribute bmctransport to http/;
    expect(await powerAt(port)).toMatch(told);
    await muster.call('DELETE', '/nodes/n1');
    expect(await powerAt(port, 'oldtls')).toMatch(told);
    expect(credentials).toEqual([]);
    await muster.call('DELETE', '/nodes/n1');
    expect(await powerAt(port, 'http')).toBe('on');
    expect(credentials).not.toEqual([]);
  });
});

describe('a Redfish service that redirects to a place without TLS', () => {
  it('gets the next request itself', async () => {
    const plain = await plainService();
    const stopPlain = stop!;
    const location = `location: http://${address}:${plain}/redfish/v1/Systems\r\n`;
    const server = await rawTls(address, (socket, { path }) => {
      if (path === '/redfish/v1/Systems') socket.write(jsonAnswer({}, '307 Temporary Redirect', location));
      else socket.write(tree[path] ? jsonAnswer(tree[path]) : jsonAnswer({}, '404 Not Found'));
    });
    stop = async () => {
      await stopPlain();
      await server.stop();
    };
    expect(await powerAt(server.port)).toContain('answered 307');
    expect(credentials).toEqual([]);
  });
});

it('a Redfish service with TLS that is asked without is told so', async () => {
  expect(await powerAt(await serviceWith('TLSv1.2'), 'http')).toMatch(/bmctransport is http, and it may want TLS/);
});

it('another word than the three reaches nothing', async () => {
  const port = await plainService();
  expect(await powerAt(port, 'ftp')).toContain('its attribute bmctransport, \\"ftp\\", is none of tls, oldtls, http.');
  expect(credentials).toEqual([]);
});
