import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runHere } from '../cli/replay/run.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

const here = hostname();

let world: UpdateWorld;
let env: Record<string, string>;
beforeAll(async () => {
  world = await startUpdateWorld(2, '127.127', 2739);
  env = { HOME: world.server.data, MUSTER_SOCKET: join(world.server.data, 'muster.sock') };
  for (const name of ['syslog', 'setupntp', 'extra', 'own'])
    world.script(name, `#!/bin/sh\necho "${name} $MASTER" >> /opt/run\n`);
  // The second service node is the management node itself, through which no other machine is needed.
  await world.define(
    {},
    {
      noderes: [{ node: 'all', servicenode: `n9,${here}`, xcatmaster: '127.0.0.9' }],
      networks: [{ netname: 'loopback', net: '127.0.0.0', mask: '255.0.0.0' }],
      postscripts: [
        { node: 'xcatdefaults', postscripts: 'syslog' },
        { node: 'n1', postbootscripts: 'own,setupntp' },
      ],
    },
  );
});
afterAll(() => world?.stop());

const command = (...argv: string[]) => runHere({ argv, stdin: '', env });
/** The scripts that have run on a node since the last look, and which server they were told. */
function ran(node: number): string[] {
  const lines = world.lab.read(node, '/opt/run').toString().trim().split('\n');
  const fresh = lines.slice(seen[node]);
  seen[node] = lines.length;
  return fresh;
}
const seen = [0, 0];

it('runs the postscripts of each node that write the name of its server, with the new server', async () => {
  const { code, stdout, stderr } = await command('snmove', 'n1,n2');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Moved n\[1-2\] to the second service node of each\.\n/);
  expect(stdout).toContain('n1: postscript end....: setupntp exited with code 0');
  expect([ran(0), ran(1)]).toEqual([['syslog 127.0.0.1', 'setupntp 127.0.0.1'], ['syslog 127.0.0.1']]);
});

it('runs more with -P, all of each node with -P all, and none with -i', async () => {
  expect(await command('snmove', 'n2', '-d', here, '-P', 'extra')).toMatchObject({ code: 0, stderr: '' });
  expect(ran(1)).toEqual(['syslog 127.0.0.1', 'extra 127.0.0.1']);
  expect(await command('snmove', '-s', here, '-d', here, '-P', 'all')).toMatchObject({ code: 0 });
  expect([ran(0), ran(1)]).toEqual([['syslog 127.0.0.1', 'own 127.0.0.1', 'setupntp 127.0.0.1'], ['syslog 127.0.0.1']]);
  expect(await command('snmove', 'n1', '-d', here, '-i')).toEqual({
    code: 0,
    stdout: `Moved n1 to ${here}.\n`,
    stderr: '',
  });
  expect(ran(0)).toEqual([]);
});

it('says on which nodes there is nothing to run', async () => {
  await world.server.ok('DELETE', '/tables/postscripts/rows/node=xcatdefaults');
  const { code, stdout } = await command('snmove', 'n2', '-d', here);
  expect([code, stdout]).toEqual([
    0,
    `Moved n2 to ${here}.\nNo postscript was run on n2: it has none of syslog, setupntp, mkresolvconf.\n`,
  ]);
});

it('ends with 1 if a script is not there, and says that the nodes were moved', async () => {
  const { code, stdout, stderr } = await command('snmove', 'n2', '-d', here, '-P', 'nosuch');
  expect([code, stdout]).toEqual([1, `Moved n2 to ${here}.\n`]);
  expect(stderr).toContain('nosuch');
});
