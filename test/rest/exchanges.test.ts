import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capture, type Exchange, fillIn, mismatch, type Variables } from '../harness/exchanges.ts';
import { type Rows, resetTo } from '../harness/reset.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';

const data = join(import.meta.dirname, '../data/exchanges');
const read = <T>(name: string): T => JSON.parse(readFileSync(join(data, `${name}.json`), 'utf8')) as T;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** Sends the exchange as its client did. */
function send(exchange: Exchange, variables: Variables) {
  const { request, query = {}, body, account = ['root', rootPassword], token, as, headers } = exchange;
  const [method, path] = request.split(' ', 2) as [string, string];
  const credentials = as === 'nobody' || token ? {} : { userName: account[0], userPW: account[1] };
  const parameters = { ...credentials, ...query };
  return server.client.call(method, fillIn(path, variables), {
    root: '/xcatws',
    token: token ? fillIn(token, variables) : null,
    ...(Object.keys(parameters).length > 0 ? { query: parameters } : {}),
    ...(body === undefined ? {} : { body: fillIn(body, variables) }),
    ...(headers ? { headers } : {}),
  });
}

describe.each(['auth', 'nodes', 'noderange', 'osimages', 'policy', 'globalconf', 'tables'])(
  'answers at /xcatws as the reference system does: %s',
  (name) => {
    const variables: Variables = {};
    beforeAll(() => resetTo(server, read<Rows>('baseline')));

    it.each(read<Exchange[]>(name).map((exchange) => [exchange.id, exchange.note, exchange] as const))(
      '%s %s',
      async (_id, _note, exchange) => {
        const reply = await send(exchange, variables);
        expect(mismatch(exchange, reply)).toBeUndefined();
        capture(exchange, reply, variables);
      },
    );
  },
);
