import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { bodyLimit, IncomingBody } from '../../src/rest/http/incoming-body.ts';

test('a body that nobody took before its client left is not waited for, though all of it was sent', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}');
    const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    await expect.poll(() => request.complete).toBe(true);
    const left = new Promise((resolve) => request.socket.once('close', resolve));
    socket.resetAndDestroy();
    await left;
    const read = new IncomingBody(request, response, bodyLimit()).read(() => true);
    await expect(read).rejects.toMatchObject({ kind: 'malformed' });
  } finally {
    server.close();
  }
});
