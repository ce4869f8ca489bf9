import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ensureCertificates, loadCredentials } from '../../src/rest/http/certificates.ts';
import { Connections } from '../../src/rest/http/connections.ts';
import { GuardedResponse } from '../../src/rest/http/guarded-response.ts';

describe('limits follow what may be open', () => {
  test.each([
    [1_024, Number.POSITIVE_INFINITY, 4_096, 1_024],
    [1_024, 1_048_576, 4_096, 1_024],
    [1_024, 1_024, 512, 256],
    [1_024, 256, 128, 64],
    [10, 256, 128, 10],
    [10_000, 65_536, 20_000, 10_000],
  ])('%d of one address and %d files: %d together, %d of one', (perAddress, files, most, mostOfOne) => {
    expect(new Connections(perAddress, files)).toMatchObject({ most, mostOfOne });
  });
});

describe('three connections, one of each address', () => {
  const data = mkdtempSync(join(tmpdir(), 'muster-test-'));
  let server: Server;
  let connections: Connections;
  const open: TLSSocket[] = [];
  const unanswered: ServerResponse[] = [];
  beforeAll(() => ensureCertificates(data));
  afterAll(() => rmSync(data, { recursive: true }));
  beforeEach(async () => {
    connections = new Connections(1, 6);
    const credentials = loadCredentials({ data, tls: undefined });
    const made = createServer({ ...credentials, ServerResponse: GuardedResponse }, (request, response) => {
      if (request.url === '/known') connections.noteKnown(request.socket);
      if (request.url === '/slow') unanswered.push(response);
      else response.end();
    });
    server = made as unknown as Server;
    connections.watch(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function from(last: number): Promise<TLSSocket> {
    const { port } = server.address() as AddressInfo;
    const plain = connectPlain({ host: '127.0.0.1', port, localAddress: `127.0.0.${last}` });
    const socket = connect({ socket: plain, rejectUnauthorized: false });
    open.push(socket);
    await once(socket, 'secureConnect');
    return socket;
  }
  async function ask(socket: TLSSocket, path: string): Promise<void> {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    if (path === '/slow') await once(server, 'request');
    else await once(socket, 'data');
  }
  const goneOf = () => open.map((socket) => socket.destroyed);
  const closed = (socket: TLSSocket) => once(socket, 'close');

  test('the oldest that does nothing makes room, then the next', async () => {
    const [first, second, third] = [await from(2), await from(3), await from(4)];
    const gone = closed(first);
    const fourth = await from(5);
    await gone;
    const next = closed(second);
    await from(6);
    await next;
    await ask(third, '/');
    await ask(fourth, '/');
    expect(goneOf()).toEqual([true, true, false, false, false]);
  });

  test('known clients are asked to go after all others', async () => {
    const [first, second, third] = [await from(2), await from(3), await from(4)];
    await ask(first, '/known');
    await ask(second, '/known');
    await ask(third, '/');
    const unknown = closed(third);
    const fourth = await from(5);
    await unknown;
    await ask(fourth, '/known');
    const oldest = closed(first);
    await from(6);
    await oldest;
    await ask(second, '/');
    expect(goneOf()).toEqual([true, false, true, false, false]);
  });

  test('nobody goes who is being answered, so that a new one is turned away', async () => {
    for (const socket of [await from(2), await from(3), await from(4)]) await ask(socket, '/slow');
    await expect(from(5)).rejects.toThrow();
    const [done] = unanswered.splice(0);
    done!.end();
    await once(done!, 'close');
    await from(5);
  });

  test('a reply that is sent is not kept with its connection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    let reply: WeakRef<ServerResponse> | undefined;
    server.once('request', (_request, response: ServerResponse) => {
      reply = new WeakRef(response);
    });
    await ask(await from(2), '/known');
    await expect
      .poll(() => {
        collect();
        return reply?.deref();
      })
      .toBeUndefined();
    expect(reply).toBeDefined();
    expect(goneOf()).toEqual([false]);
  });

  test('one address gets no second one', async () => {
    const first = await from(2);
    await expect(from(2)).rejects.toThrow();
    await ask(first, '/');
    const gone = closed(first);
    first.destroy();
    await gone;
    await expect
      .poll(() =>
        from(2).then(
          () => 'open',
          () => 'refused',
        ),
      )
      .toBe('open');
  });
});
