import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { scratchDirectory } from '../harness/store.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

let world: UpdateWorld;
const install = scratchDirectory();
const template = join(install, 'overlays/base/etc/rack.tmpl');
beforeAll(async () => {
  mkdirSync(join(template, '..'), { recursive: true });
  writeFileSync(template, 'first #NODE#\n');
  world = await startUpdateWorld(2, '127.127', 2744, { environment: { MUSTER_BOOT_OVERLAY_SECONDS: '1' } });
  await world.define(
    {},
    {
      nodelist: [
        { node: 'n1', groups: 'all', status: 'booted' },
        { node: 'n2', groups: 'all', status: 'powering-off' },
      ],
      site: [{ key: 'installdir', value: install }],
      nodeoverlay: [{ node: 'all', overlay: 'base' }],
    },
  );
});
afterAll(() => world?.stop());

const onNode = (): string =>
  existsSync(world.lab.path(0, '/etc/rack')) ? world.lab.read(0, '/etc/rack').toString() : '';

it('nodes that have booted get what changes in their overlays by themselves, and others do not', async () => {
  await vi.waitFor(() => expect(onNode()).toBe('first n1\n'), { timeout: 60_000, interval: 100 });
  writeFileSync(template, 'second #NODE#\n');
  await vi.waitFor(() => expect(onNode()).toBe('second n1\n'), { timeout: 60_000, interval: 100 });
  expect(existsSync(world.lab.path(1, '/etc/rack'))).toBe(false);
}, 150_000);
