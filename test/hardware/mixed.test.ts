import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type BmcLab, startBmcs } from '../lab/bmc.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode, labNodes } from './nodes.ts';
import { openStream, readStream } from './stream.ts';

let server: TestServer;
let bmcs: BmcLab;
let services: RedfishLab;
/** Every answer takes its time. */
let slow: LightLab;

beforeAll(async () => {
  [server, bmcs, services, slow] = await Promise.all([
    startServer(),
    startBmcs({ count: 2, prefix: '127.80' }),
    startRedfish({ count: 2, prefix: '127.81', kinds: ['plain', 'openbmc'] }),
    startLightBmcs({ count: 3, prefix: '127.82', delay: 700 }),
  ]);
  await define(server, {
    ...labNodes('i', 'ipmi', bmcs.addresses),
    ...labNodes('slow', 'ipmi', slow.addresses),
    rf: labNode('redfish', services.addresses[0]!),
    ob: labNode('openbmc', services.addresses[1]!),
    bare: { groups: 'all' },
    odd: { groups: 'all', mgt: 'carrier-pigeon' },
    nobmc: { groups: 'all', mgt: 'ipmi' },
  });
});
afterAll(() => Promise.all([server?.stop(), bmcs?.stop(), services?.stop(), slow?.stop()]));

const runOf = (id: unknown) => server.ok('GET', `/runs/${String(id)}`);

describe('a mixed range', () => {
  it('is worked on by each node’s own driver', async () => {
    const models = await server.ok('GET', '/nodes/i1,rf,ob/inventory/model');
    expect(models).toMatchObject({
      i1: { 'System Model/MTM': '7X00LAB' },
      rf: { 'System Model/MTM': 'LabServer 2000' },
      ob: { 'SYSTEM Model': 'LabServer 2000' },
    });
    await server.ok('PUT', '/nodes/i1,i2,rf,ob/nextboot', { order: 'net' });
    expect(bmcs.state(1).bootFlags).toMatchObject({ device: 1 });
    expect((await services.state(1)).boot.target).toBe('Pxe');
  });

  const known = 'which is not one of ipmi, redfish, openbmc, kvm, pdu';
  const problems = [
    'bare: rpower is not possible: its attribute mgt is not set.',
    'nobmc: its attribute bmc, the address of its BMC, is not set.',
    `odd: rpower is not possible: mgt is "carrier-pigeon", ${known}.`,
  ];

  it('names what fails and nothing else; the good results are in the run', async () => {
    const reply = await server.call('GET', '/nodes/i1,rf,ob,bare,odd,nobmc/power');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error).toEqual(problems);
    const run = await runOf(reply.headers['x-muster-run']);
    expect(run).toMatchObject({ command: 'rpower', state: 'finished', nodes: 6, ok: 3, failed: 3, errorcode: 1 });
    expect(run.results).toContainEqual({ node: 'ob', value: { power: 'off' } });
    expect(run.results).toHaveLength(6);
  });

  it('has a line for each node on the stream', async () => {
    const { status, lines } = await readStream(server, 'GET', '/nodes/i1,rf,ob,bare,odd,nobmc/power');
    expect(status).toBe(200);
    const errors = lines.flatMap(({ json: { node, error } }) => (error ? [`${node}: ${error}`] : []));
    expect(errors.sort()).toEqual(problems);
    const good = lines.filter(({ json }) => json.value).map(({ json }) => String(json.node));
    expect(good.sort()).toEqual(['i1', 'ob', 'rf']);
    expect(lines.at(-1)!.json).toEqual({ summary: { nodes: 6, ok: 3, failed: 3, errorcode: 1 } });
  });

  it('may have many nodes behind one BMC', async () => {
    await server.ok('POST', '/nodes/b[1-60]', labNode('ipmi', bmcs.addresses[0]!));
    const states = await server.ok('GET', '/nodes/b[1-60]/power', undefined, { query: { xcoll: 1 } });
    expect(Object.values(states)).toEqual([{ power: 'off' }]);
  });

  it('answers in the order of names, and merged where equal', async () => {
    const { text } = await server.call('GET', '/nodes/rf,slow1,i1/power');
    expect(text.trim()).toBe('{"i1":{"power":"off"},"rf":{"power":"off"},"slow1":{"power":"off"}}');
  });
});

describe('a run', () => {
  it('shows its progress and can be cancelled by its owner alone', async () => {
    const other = await addUser(server, 'mallory');
    // A fresh BMC takes four exchanges of 0.7 s.
    const stream = await openStream(server, 'GET', '/nodes/i1,slow2,slow3/vitals');
    await expect.poll(() => stream.lines.length).toBe(1);
    expect(await runOf(stream.run)).toMatchObject({ state: 'running', nodes: 3, ok: 1, failed: 0 });
    expect(errorOf(await server.call('DELETE', `/runs/${stream.run}`, { token: other }))[0]).toBeGreaterThanOrEqual(
      403,
    );
    await server.ok('DELETE', `/runs/${stream.run}`);
    await stream.ended;
    expect(stream.lines.slice(1).map(({ json }) => json)).toEqual([
      { node: 'slow2', error: 'The run was cancelled.' },
      { node: 'slow3', error: 'The run was cancelled.' },
      { summary: { nodes: 3, ok: 1, failed: 2, errorcode: 1 } },
    ]);
    expect(await runOf(stream.run)).toMatchObject({ state: 'cancelled', ok: 1, failed: 2 });
    const again = await server.call('DELETE', `/runs/${stream.run}`);
    expect(again.json.error[0]).toContain('has ended');
  });

  it('that reads ends when its client leaves', async () => {
    const stream = await openStream(server, 'GET', '/nodes/i1,slow2/vitals');
    await expect.poll(() => stream.lines.length).toBe(1);
    stream.leave();
    await expect.poll(async () => (await runOf(stream.run)).state, { timeout: 2_500 }).toBe('cancelled');
    expect((await runOf(stream.run)).results).toContainEqual({ node: 'slow2', error: 'The client left.' });
  });

  it('that changes something goes on when its client leaves, whatever the client accepts', async () => {
    for (const [node, accept] of [
      ['slow2', 'application/x-ndjson'],
      ['slow3', 'application/json'],
    ] as const) {
      const socket = await server.client.connect();
      const head = [
        `PUT /muster/nodes/${node}/power HTTP/1.1`,
        'Host: localhost',
        `Accept: ${accept}`,
        `X-Auth-Token: ${server.token}`,
        'Content-Type: application/json',
        'Content-Length: 15',
      ];
      socket.write(`${head.join('\r\n')}\r\n\r\n{"action":"on"}`);
      await pause(200);
      socket.destroy();
    }
    for (const index of [1, 2]) await expect.poll(async () => (await slow.state(index)).power).toBe('on');
  });
});
