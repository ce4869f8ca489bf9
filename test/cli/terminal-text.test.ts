import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atTerminal, ended, muster } from '../harness/muster-command.ts';
import { type RemoteWorld, startWorld } from '../remote/world.ts';
import { environmentFor } from './command-line.ts';

/** Sets the title, colours, and turns the direction of what follows. */
const hostile = '\u009B31mred\u202Eback';

describe('what others wrote', { timeout: 120_000 }, () => {
  let world: RemoteWorld;
  let env: Record<string, string>;

  beforeAll(async () => {
    world = await startWorld({ count: 1, prefix: '127.182' }, '');
    env = environmentFor(world.server, world.server.data);
    await world.server.ok('PUT', '/nodes/t0', { usercomment: hostile });
  }, 120_000);
  afterAll(() => world?.stop());

  it('draws nothing at a terminal', async () => {
    const { screen } = await atTerminal(['lsdef', 't0', '-i', 'usercomment'], env);
    expect(screen).toContain(String.raw`usercomment=\u009b31mred\u202eback`);
    const shown = await atTerminal(['xdsh', 't0', String.raw`printf '\033]0;title\007x\033[2Ky\rz\n'`], env);
    expect(shown.screen).toContain(String.raw`t0: \u001b]0;title\u0007x\u001b[2Ky\u000dz`);
    expect(shown.screen.replaceAll('\u001B[K', '')).not.toContain('\u001B');
  });

  it('is passed on as it is where no terminal reads', async () => {
    const { stdout } = await ended(muster, ['lsdef', 't0', '-i', 'usercomment'], env);
    expect(stdout).toContain(`usercomment=${hostile}`);
  });
});
