import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { placeStockScripts } from '../../src/nodes/update/postscripts.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

let world: UpdateWorld;
beforeAll(async () => {
  world = await startUpdateWorld(1, '127.127', 2741);
  await world.define(
    {},
    {
      postscripts: [
        {
          node: 'xcatdefaults',
          postscripts: 'syslog,remoteshell,syncfiles,setupntp,confignetwork',
          postbootscripts: 'otherpkgs',
        },
      ],
    },
  );
  await world.server.ok('PUT', '/globalconf/attrs/master,ntpservers', {
    master: '10.0.0.1',
    ntpservers: 'a.example,<xcatmaster>',
  });
  await world.server.ok('POST', '/networks/net2', { net: '10.2.0.0', mask: '255.255.0.0' });
  await world.server.ok('PUT', '/nodes/n1', { 'nicips.eth9': '10.2.0.11|10.2.0.12' });
});
afterAll(() => world?.stop());

const onNode = (command: string): Promise<{ n1: string[] }> =>
  world.server.ok('POST', '/nodes/n1/nodeshell', { command: [command] });

it('the lists of a migrated cluster are carried out, twice with the same end', async () => {
  await onNode('mkdir -p /etc/rsyslog.d /etc/chrony/sources.d /etc/network');
  for (let i = 0; i < 2; i++) {
    const lines: string[] = await world.server.ok('POST', '/nodes/n1/updating');
    expect(lines.filter((line) => line.includes('exited with code')).length).toBeGreaterThanOrEqual(4);
    expect(lines.filter((line) => /exited with code [^0]|does not exist|is no address/.test(line))).toEqual([]);
  }
  expect((await onNode('cat /etc/rsyslog.d/90-muster.conf')).n1).toEqual(['*.* @10.0.0.1']);
  expect((await onNode('cat /etc/chrony/sources.d/muster.sources')).n1).toEqual([
    'server a.example iburst',
    'server 10.0.0.1 iburst',
  ]);
  expect((await onNode('cat /etc/network/interfaces.d/muster-eth9')).n1).toEqual([
    'auto eth9',
    'iface eth9 inet static',
    '  address 10.2.0.11/16',
    'iface eth9 inet static',
    '  address 10.2.0.12/16',
  ]);
});

it('a value that is no address stops the script that would write it', async () => {
  await world.server.ok('PUT', '/globalconf/attrs/logservers', { logservers: 'x"; evil' });
  const reply = await world.server.call('POST', '/nodes/n1/postscript', { body: { scripts: ['syslog'] } });
  expect(reply.text).toContain('is no address');
});

it('what the site has written itself stays, and what it has not is renewed', () => {
  const [own, ours] = ['syslog', 'setupntp'].map((name) => join(world.scripts, name));
  const shipped = readFileSync(ours!, 'utf8');
  writeFileSync(own!, '#!/bin/sh\n');
  writeFileSync(ours!, shipped.replace('iburst', ''));
  placeStockScripts(world.scripts);
  expect([readFileSync(own!, 'utf8'), readFileSync(ours!, 'utf8')]).toEqual(['#!/bin/sh\n', shipped]);
});
