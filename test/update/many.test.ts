import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

const count = 100;
const perRoot = 16;
let world: UpdateWorld;
beforeAll(async () => {
  world = await startUpdateWorld(count, '127.127', 2731, { perRoot, connectSeconds: 120, fanOut: 32 });
});
afterAll(() => world?.stop());

/** The most memory the server has used so far, in MiB. */
const peakMemory = (): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${world.server.child.pid}/status`, 'utf8'))![1]) / 1_024;

it('100 nodes, more than are worked on at once, get their files and run their scripts in one call', async () => {
  for (let index = 0; index < 5; index++) world.source(`tree/${index}`, `file ${index}`);
  world.script('sign', '#!/bin/sh\nmkdir -p /opt/seen && cat /opt/tree/4 > "/opt/seen/$NODE"\n');
  const synclists = world.source('many.synclist', `${world.files}/tree -> /opt/tree`);
  await world.define({ synclists, postscripts: 'syncfiles,sign' });
  const before = peakMemory();
  const reply: Record<string, string[]> = await world.server.ok('POST', '/nodes/all/postscript', {});
  const nodes = Array.from({ length: count }, (_, index) => `n${index + 1}`).sort();
  expect(Object.keys(reply).sort()).toEqual(nodes);
  const expected = [
    'File synchronization has completed.',
    'postscript start..: sign',
    'postscript end....: sign exited with code 0',
    'Running of postscripts has completed.',
  ];
  for (const node of nodes) expect(reply[node]).toEqual(expected);
  const seen: string[] = [];
  for (let first = 0; first < count; first += perRoot) seen.push(...readdirSync(world.lab.path(first, '/opt/seen')));
  expect(seen.sort()).toEqual(nodes);
  const { n100 } = await world.server.ok('GET', '/nodes/n100/attrs/updatestatus');
  expect(n100.updatestatus).toBe('synced');
  expect(peakMemory() - before).toBeLessThan(400);
});
