import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { planName, temporaryEnding, temporaryToken } from '../../src/protocols/ssh/sftp/temporary-names.ts';
import { type RemoteWorld, startWorld } from './world.ts';

let world: RemoteWorld;
beforeAll(async () => {
  world = await startWorld({ count: 1, prefix: '127.126', port: 2612, perProcess: 1 }, 'connectSeconds = 60');
});
afterAll(() => world.stop());

const hour = 3_600_000;
const token = (hours: number): string => temporaryToken(Date.now() - hours * hour);
let there: string;
let test = 0;
beforeEach(() => {
  there = join(world.lab.home(0), `there-${++test}`);
  mkdirSync(there);
});

/** What copies that were killed leave, and what only looks like it. */
function leave(directory: string): { readonly old: string[]; readonly kept: string[] } {
  const file = (name: string): string => {
    writeFileSync(join(directory, name), 'left');
    return name;
  };
  const link = (name: string): string => {
    symlinkSync('nowhere', join(directory, name));
    return name;
  };
  const tree = (name: string): string => {
    mkdirSync(join(directory, name, "it's/deep"), { recursive: true });
    writeFileSync(join(directory, name, "it's/deep/file"), 'left');
    return name;
  };
  const [past, now] = [token(25), token(23)];
  return {
    old: [
      file(`.motd${temporaryEnding(past)}`),
      file(`.a\nb.c${temporaryEnding(token(10_000))}`),
      link(temporaryEnding(past)),
      tree(planName(past)),
      tree(temporaryEnding(token(48))),
    ],
    kept: [
      file(`.motd${temporaryEnding(now)}`),
      tree(temporaryEnding(now)),
      tree(planName(now)),
      file(`motd${temporaryEnding(past)}`),
      file(`.motd${temporaryEnding(past)}.old`),
      file(`.motd${temporaryEnding(past.slice(1))}`),
      file(`.motd${temporaryEnding(past).toUpperCase()}`),
      file('.motd.notes.muster'),
      tree('.muster'),
    ],
  };
}

const copy = async (src: string[], target: string): Promise<void> => {
  const reply = await world.server.call('POST', '/nodes/t0/nodecopy', { body: { src, target } });
  expect([reply.status, reply.text]).toEqual([201, '']);
};

function source(name: string, files: number): string {
  const directory = join(world.sources, name);
  mkdirSync(join(directory, 'inner'), { recursive: true });
  for (let index = 0; index < files; index++) writeFileSync(join(directory, 'inner', String(index)), 'new');
  return directory;
}

it('a file that is copied sweeps the directory it goes to', async () => {
  const { kept } = leave(there);
  const file = join(source('single', 1), 'inner/0');
  await copy([file], join(there, 'renamed'));
  expect(readdirSync(there).sort()).toEqual([...kept, 'renamed'].sort());
});

it.each([
  ['file by file', 3],
  ['as an archive', 40],
])('a tree that travels %s sweeps all directories it goes to, and no other', async (name, files) => {
  const tree = source(name, files);
  mkdirSync(join(there, name, 'inner'), { recursive: true });
  mkdirSync(join(there, name, 'other'));
  const { kept } = leave(there);
  leave(join(there, name, 'inner'));
  const { old } = leave(join(there, name, 'other'));
  await copy([tree, join(tree, 'inner/0')], there);
  expect(readdirSync(there).sort()).toEqual([...kept, '0', name].sort());
  expect(readdirSync(join(there, name, 'inner'))).toHaveLength(files + kept.length);
  for (const each of old) expect(readdirSync(join(there, name, 'other'))).toContain(each);
});

it('one that cannot be removed stays, and neither the others nor the copy mind', async () => {
  const { old, kept } = leave(there);
  const stuck = [old[0]!, old[3]!];
  const onStuck = async (command: string): Promise<void> => {
    const commands = stuck.map((name) => `at='${join(there, name)}'; ${command}`);
    expect((await world.shell('t0', commands.join(' && '))).status).toBe(201);
  };
  await onStuck('mount --bind "$at" "$at"');
  try {
    await copy([join(source('stuck', 1), 'inner/0')], `${there}/`);
    expect(readdirSync(there).sort()).toEqual([...kept, ...stuck, '0'].sort());
  } finally {
    await onStuck('umount "$at"');
  }
});
