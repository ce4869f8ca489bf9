import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import meanings from '../../src/objects/site-meanings.json' with { type: 'json' };
import { isCalledSecret } from '../../src/database/secret-columns.ts';
import usualSite from '../../src/usual-site.json' with { type: 'json' };
import { written } from '../harness/output.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { EventClient } from '../harness/events.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
let events: EventClient;
beforeAll(async () => {
  server = await startServer({ environment: { MUSTER_LOG_LEVEL: 'trace' } });
  events = await EventClient.open(server);
});
afterAll(async () => {
  events.close();
  await server.stop();
});

const hidden = '********';
const names = ['snmppassword', 'apitoken', 'privatekey', 'SwitchPW', 'mysql_password2', 'snmpc'];
const clear = (name: string): string => `clear-${name}-text`;
const set = (attributes: Record<string, string>): Promise<unknown> =>
  server.ok('PUT', `/globalconf/attrs/${Object.keys(attributes).join()}`, attributes);
const stored = (name: string): unknown =>
  queryOutside(join(server.data, 'muster.sqlite'), `select value from site where key = '${name}'`)[0]?.['value'];

it('the known attributes of the site are open, but for the community of switches', () => {
  expect([...Object.keys(meanings), ...Object.keys(usualSite)].filter(isCalledSecret)).toEqual(['snmpc']);
});

describe('a site attribute with the name of a secret', () => {
  beforeAll(async () => {
    const [first, ...others] = names;
    const given = Object.fromEntries(others.map((name) => [name, clear(name)]));
    await set({ ...given, domain: 'cluster.example' });
    await server.ok('PUT', `/tables/site/rows/key=${first}`, { value: clear(first!) });
  });

  it.each([
    '/globalconf',
    '/globalconf/attrs/snmppassword,apitoken',
    '/tables/site/rows',
    '/tables/site/rows/key=apitoken',
    '/tables/site/rows/key=apitoken/value',
    '/tables/site/dump',
    '/changes?table=site',
    '/definitions/site/clustersite',
  ])('is stars at %s', async (path) => {
    const { text, status } = await server.call('GET', path);
    expect([status, text.includes(hidden)]).toEqual([200, true]);
    expect(text).not.toMatch(/clear-|\{m1\}/);
    if (path === '/globalconf') expect(text).toContain('cluster.example');
  });

  it('is stars in differences, dry runs, debug messages and errors', async () => {
    const revision = Number((await server.call('GET', '/globalconf')).headers['x-muster-revision']);
    const replies = [
      await server.call('PUT', '/globalconf/attrs/apitoken', { query: { dryRun: 1 }, body: { apitoken: 'clear-dry' } }),
      await server.call('PUT', '/globalconf/attrs/apitoken', {
        query: { debug: 1 },
        body: { apitoken: 'clear-debug' },
      }),
      await server.call('PUT', '/tables/site/rows/key=apitoken', { query: { debug: 1 }, body: { value: 'clear-row' } }),
      await server.call('PUT', '/tables/site/rows/comments=x', { query: { debug: 1 }, body: { value: 'clear-row' } }),
      await server.call('GET', `/changes/diff?from=${revision}`),
      await server.call('PUT', '/tables/site/rows/key=apitoken', { body: { value: 'clear-bad\u0001' } }),
      await server.call('GET', '/tables/site/rows/key=apitoken,value=clear-path'),
      await server.call('GET', '/tables/site/rows/value=clear-path,key=apitoken'),
    ];
    for (const { text } of replies) expect(text).not.toMatch(/clear-|\{m1\}/);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 403, 200, 403, 403, 403]);
  });

  it('keeps its value when the stars are written back, by any way', async () => {
    const before = stored('privatekey');
    expect(before).toMatch(/^\{m1\}/);
    await set({ privatekey: hidden });
    await server.ok('PUT', '/tables/site/rows/key=privatekey', { value: hidden, comments: 'touched' });
    const { site } = await server.ok('GET', '/tables/site/dump');
    await server.ok('PUT', '/tables/site/dump', { site: site.rows });
    expect(stored('privatekey')).toBe(before);
    await set({ privatekey: 'clear-other' });
    expect(stored('privatekey')).not.toBe(before);
  });

  it('comes back by a revert', async () => {
    const before = stored('snmpc');
    const { headers } = await server.call('PUT', '/globalconf/attrs/snmpc', { body: { snmpc: 'clear-later' } });
    expect(stored('snmpc')).not.toBe(before);
    await server.ok('POST', `/changes/${Number(headers['x-muster-revision'])}/revert`);
    expect(stored('snmpc')).toBe(before);
  });

  it('cannot be added to, and needs its value to get a name of the other kind', async () => {
    const added = await server.call('PUT', '/globalconf/attrs/apitoken', {
      body: { apitoken: 'clear-more', options: { '-p': '' } },
    });
    expect(added.status).toBe(403);
    for (const body of [{ key: 'note' }, { key: 'note', value: hidden }]) {
      const { status, json } = await server.call('PUT', '/tables/site/rows/key=apitoken', { body });
      expect([status, json.error[0]]).toEqual([403, expect.stringContaining('together with the new name')]);
    }
    await server.ok('PUT', '/tables/site/rows/key=note', { value: 'open text' });
    expect((await server.call('PUT', '/tables/site/rows/key=note', { body: { key: 'notetoken' } })).status).toBe(403);
    await server.ok('PUT', '/tables/site/rows/key=note', { key: 'notetoken', value: 'clear-same' });
    expect(stored('notetoken')).toMatch(/^\{m1\}/);
  });

  it('is one in table monsetting too', async () => {
    await server.ok('PUT', '/tables/monsetting/rows/name=mon,key=dbpassword', { value: 'clear-monitor' });
    await server.ok('PUT', '/tables/monsetting/rows/name=mon,key=port', { value: '99' });
    expect((await server.ok('GET', '/tables/monsetting/rows')).monsetting).toEqual([
      { name: 'mon', key: 'dbpassword', value: hidden },
      { name: 'mon', key: 'port', value: '99' },
    ]);
  });

  it('is stars in events', async () => {
    await set({ domain: 'last.example' });
    await events.event((data) => JSON.stringify(data).includes('last.example'));
    const told = JSON.stringify(events.blocks);
    expect(told).toContain(hidden);
    expect(told).not.toMatch(/clear-|\{m1\}/);
  });

  it('is in no audit record, log line or file in clear text', async () => {
    const { auditlog } = await server.ok('GET', '/tables/auditlog/rows');
    expect(JSON.stringify(auditlog)).toContain('site.value=xxxxxxxx');
    expect(JSON.stringify(auditlog)).not.toMatch(/clear-|\{m1\}/);
    expect(await written(server)).not.toContain('clear-');
    for (const entry of readdirSync(server.data, { recursive: true, withFileTypes: true })) {
      if (entry.isFile())
        expect([entry.name, readFileSync(join(entry.parentPath, entry.name)).includes('clear-')]).toEqual([
          entry.name,
          false,
        ]);
    }
  });
});
