import {
  copyFileSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { hostArchitecture } from '../../src/objects/distributions.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { smallImage } from '../images/small-image.ts';

// Every step is begun three times, and muster twice.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let server: TestServer;
const data = temporaryDirectory();
const installdir = temporaryDirectory();
const config = '[longWork]\nreserve = 1\natOnce = 8\n';
const osarch = hostArchitecture();
const images = ['packed', 'exported', 'rolled', 'removed', 'mended'];
const directoryOf = (image: string): string => join(installdir, 'netboot/debian12/x86_64', image);
const bundle = join(installdir, 'export/exported.tgz');

interface Step {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}
const instance = (image: string, body: object): Step => ({ method: 'POST', path: `/osimages/${image}/instance`, body });
let steps: Step[];

beforeAll(async () => {
  server = await startServer({ data, config });
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir });
  for (const image of images) {
    const directory = smallImage(installdir, image, image);
    copyFileSync('/bin/busybox', join(directory, 'rootimg/bin/busybox'));
    // Large enough to be caught in the middle.
    truncateSync(join(directory, 'kernel'), 128 << 20);
    await server.ok('POST', `/osimages/${image}`, {
      imagetype: 'linux',
      provmethod: 'netboot',
      osvers: 'debian12',
      osarch,
      profile: image,
      rootimgdir: directory,
    });
  }
  const done = async ({ method, path, body }: Step): Promise<void> => void (await server.ok(method, path, body));
  await Promise.all(images.map((image) => done(instance(image, { action: 'pack' }))));
  const { current } = await server.ok('GET', '/osimages/rolled/instance');
  writeFileSync(join(directoryOf('rolled'), 'rootimg/etc/changed'), '');
  await done(instance('rolled', { action: 'pack' }));
  await done(instance('exported', { action: 'export' }));
  steps = [
    instance('packed', { action: 'pack' }),
    instance('exported', { action: 'export' }),
    instance('rolled', { action: 'rollback', params: [{ pack: current }] }),
    instance('mended', { action: 'run', command: ['/bin/busybox', 'sh', '-c', 'echo begun; sleep 1'] }),
    { method: 'POST', path: '/osimages', body: { file: bundle, params: [{ name: 'two', profile: 'two' }] } },
    { method: 'DELETE', path: '/osimages/removed/instance' },
  ];
});
afterAll(async () => {
  await server.stop();
  for (const each of [data, installdir]) rmSync(each, { recursive: true });
});

/** Directories may go while they are looked through. */
const stagings = (): string[] => globSync('**/.muster-*', { cwd: installdir });
const stateOf = async (run: string): Promise<string> => (await server.ok('GET', `/runs/${run}`)).state;

/** What a process has started. */
function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch (error) {
    // It has ended.
    if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code!)) throw error;
    return [];
  }
}

const descendants = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);

/** Begins each step and holds it when it has something half made, if it does not end before. The runs that are held. */
async function heldInTheMiddle(): Promise<string[]> {
  const held: string[] = [];
  for (const { method, path, body } of steps) {
    const reply = await server.call(method, path, { ...(body ? { body } : {}), headers: { Prefer: 'respond-async' } });
    const run = String(reply.headers['x-muster-run']);
    for (let look = 1; !stagings().some((name) => name.includes(run)); look++) {
      if (look % 50 === 0 && (await stateOf(run)) !== 'running') break;
      await pause(5);
    }
    // Not the ones that muster itself waits for.
    for (const pid of childrenOf(server.child.pid!).flatMap(descendants)) {
      try {
        process.kill(pid, 'SIGSTOP');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    if ((await stateOf(run)) === 'running') held.push(run);
  }
  return held;
}

test('steps on several images are cancelled in the middle, killed with muster, and done', async () => {
  const cancelled = await heldInTheMiddle();
  expect(cancelled.length).toBeGreaterThanOrEqual(4);
  await Promise.all(cancelled.map((run) => server.ok('DELETE', `/runs/${run}`)));
  for (const run of cancelled) while ((await stateOf(run)) === 'running') await pause(50);
  // What had ended when it was held had ended.
  const states = await Promise.all(cancelled.map(stateOf));
  expect(states.filter((state) => state === 'cancelled').length, states.join()).toBeGreaterThanOrEqual(4);
  expect(states.filter((state) => !['cancelled', 'finished'].includes(state))).toEqual([]);
  const ended = cancelled.filter((_, index) => states[index] === 'cancelled');
  expect(stagings().filter((name) => ended.some((run) => name.includes(run)))).toEqual([]);
  await expect.poll(stagings).toEqual([]);

  const killed = await heldInTheMiddle();
  server.child.kill('SIGKILL');
  await new Promise((resolve) => server.child.once('exit', resolve));
  server = await startServer({ data, config });
  expect(killed.length).toBeGreaterThanOrEqual(4);
  for (const run of killed) expect(await stateOf(run)).toBe('interrupted');
  while (stagings().length > 0) await pause(50);

  const replies = await Promise.all(
    steps.map(({ method, path, body }) => server.call(method, path, body ? { body } : {})),
  );
  for (const [index, { status, text }] of replies.entries())
    if (index < 5) expect([status, text]).toEqual([201, expect.anything()]);
    else expect(status === 200 || text.includes('nothing to remove'), text).toBe(true);
  expect((await server.ok('GET', '/osimages/mended/instance')).runs).toHaveLength(1);
  const { current, packs } = await server.ok('GET', '/osimages/rolled/instance');
  expect(current).toBe(packs[1].id);
  expect(await server.ok('GET', '/osimages/two')).toMatchObject({ two: { profile: 'two' } });
  expect(existsSync(join(installdir, 'netboot/debian12', osarch, 'two/rootimg.sfs'))).toBe(true);
  expect(existsSync(directoryOf('removed'))).toBe(false);
  await expect.poll(stagings).toEqual([]);
});
