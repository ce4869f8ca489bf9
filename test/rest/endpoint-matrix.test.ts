import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { roots } from '../../src/rest/endpoints/roots.ts';
import { errorOf } from '../harness/errors.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { onPostgres } from '../harness/postgresql.ts';
import { resetTo } from '../harness/reset.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { type Examples, examplesOn, expectExample } from './row-examples.ts';
import {
  bodyKind,
  methods,
  notObjects,
  offers,
  oneOfEach,
  refusesBody,
  refusesMembers,
  refusesMethods,
  refusesStrangers,
  shapeOf,
} from './row-refusals.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const megabyte = 1_048_576;

// No database takes part in what is refused before a command is known.
describe.skipIf(onPostgres)('what is refused', () => {
  it.each(offers.map((offer) => [`${offer.row.method} ${offer.root}${offer.row.path}`, offer] as const))(
    '%s refuses strangers, and a body that is no object or has what it does not take',
    async (_name, offer) => {
      await refusesStrangers(server, offer);
      await refusesBody(server, offer, '[1]');
      await refusesMembers(server, offer);
    },
  );

  it.each(oneOfEach(({ root, row }) => root + row.path))('%s names all methods that it offers', (_path, offer) =>
    refusesMethods(server, offer, ['PATCH']),
  );

  it.each(oneOfEach(shapeOf))('%s: no other method and no other body', async (_shape, offer) => {
    await refusesMethods(server, offer, methods);
    for (const body of notObjects) await refusesBody(server, offer, body);
  });

  // What bounds archives is tried by test/remote/client-files.
  it.each(oneOfEach(bodyKind).filter(([, { row }]) => !row.archive))(
    '%s: a body of 40 MB is refused, announced or not',
    async (_kind, { root, row }) => {
      const account = row.byAccount ? `?userName=root&userPW=${rootPassword}` : '';
      const path = root + row.example.path + account;
      for (const chunked of [false, true]) {
        const reply = await server.client.upload(row.method, path, 40 * megabyte, chunked, server.token);
        expect(errorOf(reply)).toEqual([400, 2]);
        expect(reply.json.error).toEqual([`The body is larger than ${(row.bulk ? 32 : 1) * megabyte} bytes.`]);
      }
    },
  );

  it.each([
    ['PUT', '/muster/nodes'],
    ['PUT', '/muster/nothing/here'],
  ])('%s %s replies to a client that sends all of its 40 MB before it reads', async (method, path) => {
    const reply = await server.client.call(method, path, { root: '', body: Buffer.alloc(40 * megabyte, ' ') });
    expect(errorOf(reply)).toEqual([400, 2]);
  });
});

describe.each(roots.map(({ prefix }) => prefix))('every row at %s answers its own example', (root) => {
  let examples: Examples;
  beforeAll(async () => {
    examples = examplesOn(server);
    await examples.reset();
  });

  const here = offers.filter((offer) => offer.root === root);
  it.each(here.map((offer) => [`${offer.row.method} ${offer.row.path}`, offer] as const))('%s', async (_name, offer) =>
    expectExample(offer, await examples.reply(offer)),
  );
});

it('a body of 1 MiB is just not too large', async () => {
  const padded = (size: number) => `{"usercomment":"x"}${' '.repeat(size - 19)}`;
  await resetTo(server, exampleRows);
  expect(errorOf(await server.call('PUT', '/nodes/n1', { body: padded(megabyte + 1) }))).toEqual([400, 2]);
  expect((await server.call('PUT', '/nodes/n1', { body: padded(megabyte) })).status).toBe(200);
  expect((await server.call('GET', '/nodes/n1/nodels')).json).toEqual(['n1']);
});
