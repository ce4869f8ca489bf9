import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mismatch, readExchanges, send } from '../harness/exchanges.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await resetTo(server, readExchanges<Rows>('baseline'));
});
afterAll(() => server?.stop());

describe('answers at /xcatws as the reference system does: updating', () => {
  it.each(readExchanges('updating').map((exchange) => [exchange.id, exchange.note, exchange] as const))(
    '%s %s',
    async (_id, _note, exchange) => {
      expect(mismatch(exchange, await send(server.client, exchange, {}))).toBeUndefined();
    },
  );
});
