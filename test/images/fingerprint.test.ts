import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { asText, fingerprintOf, hashFile } from '../../src/images/build/fingerprint.ts';
import type { Recipe } from '../../src/images/build/gen-job.ts';
import { ramdiskScripts } from '../../src/images/build/ramdisk-tools.ts';
import { directWork } from '../harness/work.ts';
import { refusal, temporary } from './small-image.ts';

const recipe: Recipe = {
  family: 'apt',
  osvers: 'debian12',
  osarch: 'x86_64',
  suite: 'bookworm',
  packages: { sources: [], steps: [] },
  others: { sources: [], steps: [] },
  postinstall: [],
  kernelver: '',
  netdrivers: [],
  drivers: [],
  method: 'netboot',
};

it('an image is made again when the scripts of its initial RAM disk are others, and only then', async () => {
  const of = async (scripts?: Map<string, Buffer>): Promise<string> =>
    asText(await fingerprintOf({ recipe, permission: 0o755 }, directWork(), scripts));
  expect(await of(ramdiskScripts())).toBe(await of());
  expect(await of(ramdiskScripts().set('init', Buffer.from('#!/bin/sh\n')))).not.toBe(await of());
});

it('what is no file is not read for its sum, so that nobody waits for it', async () => {
  const directory = temporary();
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const path of [directory, pipe, '/dev/zero'])
    expect(await refusal(hashFile(path))).toBe(`${path} is not a file.`);
  expect(await hashFile(join(directory, 'missing'))).toBe('');
});
