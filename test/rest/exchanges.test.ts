import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capture, mismatch, readExchanges, send, type Variables } from '../harness/exchanges.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe.each([
  'auth',
  'nodes',
  'noderange',
  'osimages',
  'policy',
  'globalconf',
  'tables',
  'names',
  'services',
  'remote',
])('answers at /xcatws as the reference system does: %s', (name) => {
  const variables: Variables = {};
  beforeAll(() => resetTo(server, readExchanges<Rows>('baseline')));

  it.each(readExchanges(name).map((exchange) => [exchange.id, exchange.note, exchange] as const))(
    '%s %s',
    async (_id, _note, exchange) => {
      const reply = await send(server.client, exchange, variables);
      expect(mismatch(exchange, reply)).toBeUndefined();
      capture(exchange, reply, variables);
    },
  );
});
