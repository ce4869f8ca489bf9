import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
let token: string;
beforeAll(async () => {
  world = await startWorld({ count: 2, prefix: '127.126', port: 2602 });
  token = await addUser(world.server, 'alice');
});
afterAll(() => world.stop());

const remoteusers = (value: string) => world.server.ok('PUT', '/globalconf/attrs/remoteusers', { remoteusers: value });

/** The rules for alice, in their order. */
async function rules(...given: object[]): Promise<void> {
  for (const priority of await world.server.ok('GET', '/policy'))
    if (priority !== '1') await world.server.ok('DELETE', `/policy/${priority}`);
  let priority = 5;
  for (const rule of given) await world.server.ok('POST', `/policy/${priority++}`, { name: 'alice', ...rule });
}

const allow = { commands: 'xdsh', rule: 'allow' };
const asRoot = { raw: ['-l', 'root'] };

describe('who runs a command on nodes', () => {
  it('is who asks, and root may be anybody', async () => {
    expect((await world.shell('t0', 'id -un')).json).toEqual({ t0: ['root'] });
    await rules(allow);
    const reply = await world.shell('t0', 'id -un', {}, { token });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^t0: its sshd at \S+ does not accept user "alice"/);
    const other = await world.shell('t0', 'id -un', { raw: ['-l', 'alice'] });
    expect(other.json.error[0]).toContain('does not accept user "alice"');
  });

  it.each<[string, object[], object, string]>([
    ['a rule for the command alone', [allow], asRoot, 'date'],
    ['a pattern that matches everything', [{ ...allow, parameters: '.*' }], asRoot, 'date'],
    ['a pattern for the command', [{ ...allow, parameters: 'date' }], asRoot, 'date'],
    ['a pattern for another user', [allow, { ...allow, parameters: '-l bob' }], asRoot, 'date'],
    [
      'a pattern for another user and a command that holds it',
      [{ ...allow, parameters: '-l bob' }],
      asRoot,
      'echo -l bob',
    ],
    ['a pattern for other nodes', [{ ...allow, parameters: '-l root', noderange: 't1' }, allow], asRoot, 'date'],
    [
      'a refusal before',
      [
        { ...allow, rule: 'deny', parameters: '-l' },
        { ...allow, parameters: '-l root' },
      ],
      asRoot,
      'date',
    ],
    ['a pattern for the beginning of the user', [allow, { ...allow, parameters: '-l ro' }], asRoot, 'date'],
    ['a pattern for another command', [allow, { ...allow, commands: 'xdcp', parameters: '-l root' }], asRoot, 'date'],
    ['a rule for the command alone, by the environment', [allow], { ENV: { DSH_TO_USERID: 'root' } }, 'date'],
    ['a rule for the command alone, with other spellings', [allow], { raw: '-zlroot' }, 'date'],
    ['a rule for the command alone, with the long name', [allow], { raw: ['--user=root'] }, 'date'],
  ])('is not another because of %s', async (_name, given, more, command) => {
    await rules(...given);
    for (const [root, status] of [
      ['/muster', 403],
      ['/xcatws', 401],
    ] as const) {
      const reply = await world.shell('t0', command, more, { token, root });
      expect([reply.status, reply.json.errorcode]).toEqual([status, 2]);
    }
  });

  it.each<[string, object[], object]>([
    ['a pattern for the user', [{ ...allow, parameters: '-l root' }], asRoot],
    [
      'a pattern for the user, by the environment',
      [{ ...allow, parameters: '-l root' }],
      { ENV: { DSH_TO_USERID: 'root' } },
    ],
    ['a pattern for any user', [{ ...allow, parameters: '-l \\S+' }], asRoot],
    ['a pattern for the user with one command', [{ ...allow, parameters: '^-l root id -un$' }], asRoot],
    ['a pattern with and without the user', [{ ...allow, parameters: '^(-l root )?id -un$' }], asRoot],
    [
      'rules that share the nodes',
      [
        { ...allow, parameters: '-l root', noderange: 't1' },
        { ...allow, parameters: '-l root', noderange: 't0' },
      ],
      asRoot,
    ],
  ])('is another because of %s', async (_name, given, more) => {
    await rules(...given);
    expect((await world.shell('t0', 'id -un', more, { token })).json).toEqual({ t0: ['root'] });
  });

  it('is the one the site attribute remoteusers names, if a rule allows it', async () => {
    await rules(allow);
    for (const value of ['alice:root', 'bob:x, *:root']) {
      await remoteusers(value);
      const reply = await world.shell('t0', 'id -un', {}, { token });
      expect(errorOf(reply)).toEqual([403, 2]);
      expect(reply.json.error[0]).toContain('"-l root"');
    }
    await rules(allow, { ...allow, parameters: '-l root' });
    expect((await world.shell('t0', 'id -un', {}, { token })).json).toEqual({ t0: ['root'] });
    await remoteusers('root:nosuchuser');
    expect((await world.shell('t0', 'id -un')).json.error[0]).toContain('does not accept user "nosuchuser"');
    expect((await world.shell('t0', 'id -un', asRoot)).json).toEqual({ t0: ['root'] });
    await remoteusers('');
  });

  it('is oneself against the site attribute remoteusers only if a rule allows that too', async () => {
    await remoteusers('alice:guest');
    for (const more of [{ raw: ['-l', 'alice'] }, { ENV: { DSH_TO_USERID: 'alice' } }]) {
      await rules(allow, { ...allow, parameters: '-l guest' });
      const refused = await world.shell('t0', 'id -un', more, { token });
      expect(errorOf(refused)).toEqual([403, 2]);
      expect(refused.json.error[0]).toContain('remoteusers makes "alice" act as "guest"');
      await rules(allow, { ...allow, parameters: '-l alice' });
      const reply = await world.shell('t0', 'id -un', more, { token });
      expect(reply.json.error[0]).toContain('does not accept user "alice"');
    }
    await rules(allow, { ...allow, parameters: '-l guest' });
    const mapped = await world.shell('t0', 'id -un', {}, { token });
    expect(mapped.json.error[0]).toContain('does not accept user "guest"');
    await remoteusers('');
  });

  it.each(['alice', 'alice:', ':root', 'alice=guest'])('is nobody if remoteusers cannot be read: %s', async (value) => {
    await remoteusers(`bob:guest,${value}`);
    await rules(allow);
    const reply = await world.shell('t0', 'id -un', {}, { token });
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toContain(`has the item "${value}"`);
    await remoteusers('');
  });

  it('may not reach another script past a rule for the scripts of one directory', async () => {
    mkdirSync(join(world.sources, 'public'), { recursive: true });
    for (const name of ['public/fine.sh', 'other.sh']) writeFileSync(join(world.sources, name), '#!/bin/sh\nid -un\n');
    await rules({ ...allow, parameters: `^-l root -e ${world.sources}/public/\\S+$` });
    const run = (path: string, raw = ['-l', 'root', '-e']) =>
      world.shell('t0', join(world.sources, 'public').concat(path), { raw }, { token });
    expect((await run('/fine.sh')).json).toEqual({ t0: ['root'] });
    for (const path of ['/../other.sh', '/./../other.sh', '//fine.sh']) {
      expect((await run(path)).json.error[0]).toContain('must have no "." or ".."');
    }
  });

  it('may not reach a script elsewhere whose path is the beginning of one that a rule allows', async () => {
    const directory = temporaryDirectory();
    for (const name of ['run', 'run.sh']) writeFileSync(join(directory, name), '#!/bin/sh\nid -un\n');
    const path = join(directory, 'run');
    await rules({ ...allow, parameters: `-l root -e( .*-e)? ${path}\\.sh$` });
    const run = (command: string) => world.shell('t0', command, { raw: ['-l', 'root', '-e'] }, { token });
    expect((await run(`${path}.sh`)).json).toEqual({ t0: ['root'] });
    const reply = await run(`${path} -e ${path}.sh`);
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toContain('outside the directories');
    rmSync(directory, { recursive: true });
  });

  it('may not reach other paths past a rule for those of one directory', async () => {
    const copy = { commands: 'xdcp', rule: 'allow' };
    writeFileSync(join(world.sources, 'public/file'), 'x');
    const { lab, sources, server } = world;
    await remoteusers('alice:root');
    await rules({ ...copy, parameters: `^(-l root )?${sources}/public/\\S+ ${lab.home(0)}/public/\\S+$` });
    const send = async (src: string, target: string) =>
      (
        await server.call('POST', '/nodes/t0/nodecopy', {
          token,
          body: { src: [sources + src], target: lab.home(0) + target },
        })
      ).status;
    expect(await send('/public/file', '/public/new')).toBe(403);
    await world.shell('t0', 'mkdir public');
    expect(await send('/public/file', '/public/new')).toBe(201);
    expect(await send('/public/./file', '/public//new')).toBe(201);
    expect(await send('/public/../other.sh', '/public/new')).toBe(403);
    expect(await send('/public/file', '/public/../new')).toBe(403);
    expect(readdirSync(lab.home(0))).not.toContain('new');
    await remoteusers('');
  });

  it('may not slip variables past a rule for one command', async () => {
    await rules({ ...allow, parameters: '^-l root id -un$' });
    const reply = await world.shell('t0', 'id -un', { ...asRoot, ENV: { PATH: '/tmp/evil' } }, { token });
    expect([reply.status, reply.json.errorcode]).toEqual([403, 2]);
    await rules({ ...allow, parameters: '^-l root (env LANG=\\S+ )?id -un$' });
    expect((await world.shell('t0', 'id -un', { ...asRoot, ENV: { LANG: 'C' } }, { token })).json).toEqual({
      t0: ['root'],
    });
  });

  it('is noted in the audit log, and so is a refusal', async () => {
    await rules(allow);
    await world.shell(
      't1',
      'echo audited',
      { ENV: { DSH_TO_USERID: 'root', DSH_REMOTE_PASSWORD: 'hushhush' } },
      { token },
    );
    const text = JSON.stringify(await world.server.ok('GET', '/tables/auditlog/rows'));
    expect(text).toContain('-l root echo audited');
    expect(text).not.toContain('hushhush');
  });
});
