import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';

let checkout: string;
let calls: string;

/** A checkout with one dependency, and an `npm` that takes its time, counts its calls and installs as the real one would. */
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'muster-setup-'));
  calls = join(checkout, 'calls');
  mkdirSync(join(checkout, 'scripts'));
  mkdirSync(join(checkout, 'fake'));
  copyFileSync(join(import.meta.dirname, '../../scripts/setup.mjs'), join(checkout, 'scripts/setup.mjs'));
  writeFileSync(join(checkout, 'scripts/build.ts'), '');
  lock('1.0.0');
  npm(`rm -rf node_modules; sleep 0.3; mkdir -p node_modules/a node_modules/.bin
    cp package-lock.json node_modules/.package-lock.json; ln -s ${process.execPath} node_modules/.bin/node`);
});
afterEach(() => rmSync(checkout, { recursive: true }));

function lock(version: string): void {
  const packages = { '': {}, 'node_modules/a': { version }, 'node_modules/b': { version, optional: true } };
  writeFileSync(join(checkout, 'package-lock.json'), JSON.stringify({ packages }));
}

function npm(script: string): void {
  writeFileSync(join(checkout, 'fake/npm'), `#!/bin/sh\necho "$@" >> ${calls}\n${script}\n`);
  chmodSync(join(checkout, 'fake/npm'), 0o755);
}

const command = () => [join(checkout, 'scripts/setup.mjs')];
const environment = () => ({ PATH: `${join(checkout, 'fake')}:/usr/bin:/bin` });
const setup = () => spawnSync(process.execPath, command(), { env: environment(), encoding: 'utf8' });
const installs = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n').length : 0);

it('installs once and says why, then has nothing to do', () => {
  const first = setup();
  expect(first).toMatchObject({ status: 0, stdout: '' });
  expect(first.stderr).toBe('muster: installing dependencies with npm ci, because node_modules is missing\n');
  expect(readFileSync(calls, 'utf8')).toMatch(/^ci .*--no-audit --no-fund/);
  expect(setup()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(installs()).toBe(1);
});

it('installs again when package-lock.json has changed', () => {
  setup();
  lock('1.0.1');
  expect(setup().stderr).toMatch(/because node_modules differs from package-lock\.json/);
  expect(installs()).toBe(2);
});

it('takes over what somebody installed by hand', () => {
  const { status } = spawnSync(join(checkout, 'fake/npm'), ['ci'], { cwd: checkout, env: environment() });
  expect(status).toBe(0);
  expect(setup()).toMatchObject({ status: 0, stderr: '' });
  expect(installs()).toBe(1);
});

it('installs once when started twice at the same time', async () => {
  const run = () => promisify(execFile)(process.execPath, command(), { env: environment() });
  const both = await Promise.all([run(), run()]);
  expect(installs()).toBe(1);
  expect(both.map(({ stderr }) => stderr).join('')).toMatch(/waiting for process \d+, which is installing/);
});

it('is not stopped by the turn of a process that died', () => {
  const { pid } = spawnSync('/bin/true');
  mkdirSync(join(checkout, '.cache'));
  writeFileSync(join(checkout, '.cache/setup.lock'), `${pid}`);
  expect(setup().status).toBe(0);
  expect(existsSync(join(checkout, '.cache/setup.lock'))).toBe(false);
});

it('uses the Node that runs it where the packages bring none', () => {
  npm('mkdir -p node_modules/a; cp package-lock.json node_modules/.package-lock.json');
  expect(setup().status).toBe(0);
  expect(readlinkSync(join(checkout, 'node_modules/.bin/node'))).toBe(process.execPath);
});

it('fails and tries again the next time when npm fails', () => {
  npm('exit 3');
  expect(setup()).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(/npm ci failed/) });
  expect(setup().status).toBe(1);
  expect(installs()).toBe(2);
});

it('knows the lock file by its content', () => {
  setup();
  const hash = createHash('sha256')
    .update(readFileSync(join(checkout, 'package-lock.json')))
    .digest('hex');
  expect(readFileSync(join(checkout, 'node_modules/.muster-setup'), 'utf8')).toContain(hash);
});
