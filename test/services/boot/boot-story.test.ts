import { expect, it } from 'vitest';
import { bootStory } from '../../../src/services/boot/boot-story.ts';
import { goalOf } from '../../../src/services/boot/boot-watcher.ts';
import type { BootNote } from '../../../src/services/boot/reports.ts';

const at = new Date();
const seen = (...steps: BootNote['step'][]): BootNote[] => steps.map((step) => ({ step, at, source: 'http' }));
const told = (step: BootNote['step'], text?: string): BootNote => ({ step, text, at, source: 'report' });

it.each<[BootNote[], string]>([
  [[], 'never asked for anything: neither DHCP nor the boot script'],
  [seen('dhcp', 'dhcp'), 'asked DHCP twice, never fetched the boot loader'],
  [seen('dhcp', 'loader'), 'asked DHCP, fetched the boot loader, never fetched the boot script'],
  [seen('script', 'script', 'script'), 'fetched the boot script 3 times, never fetched the kernel'],
  [
    [...seen('script', 'kernel'), { step: 'initrd', at, source: 'http', complete: false }],
    'fetched the boot script, fetched the kernel, fetched the initial RAM disk, but not to its end',
  ],
  [
    [...seen('script', 'kernel', 'initrd'), told('initramfs'), told('writing', '40 %')],
    'fetched the boot script, fetched the kernel, fetched the initial RAM disk, started the initial RAM disk, had all of it, never told that its system has started; the last line it sent is "writing 40 %"',
  ],
  [[...seen('script'), told('booted')], 'fetched the boot script, booted'],
])('how far a boot has come: %#', (notes, story) => {
  expect(bootStory(notes)).toBe(story);
});

it.each([
  ['netboot debian12-x86_64-compute', 'booted'],
  ['install rhels9-x86_64-compute', 'booted'],
  ['boot', 'script'],
  ['shell', 'initrd'],
  ['runcmd=bmcsetup', 'installed'],
])('a node that is told %s is where it should be with %s', (state, goal) => {
  expect(goalOf(state)).toBe(goal);
});
