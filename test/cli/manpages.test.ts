import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands/index.ts';
import { muster, program } from './command-line.ts';

let directory: string;
const env = (): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', HOME: directory, LANG: 'C.UTF-8' });

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-man-'));
  const { code, stderr } = await program(muster, ['manpages', directory], env());
  expect([code, stderr]).toEqual([0, '']);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const pages = (): string[] => readdirSync(join(directory, 'man1')).map((name) => join(directory, 'man1', name));

it('there is a page of the manual for every command, with its help, and one about all', async () => {
  expect(pages()).toHaveLength(Object.keys(commands).length + 1);
  expect(readFileSync(join(directory, 'man1/muster.1'), 'utf8')).toContain('rpower');
  expect(readFileSync(join(directory, 'man1/rpower.1'), 'utf8')).toContain('Usage: rpower NODERANGE ACTION');
});

it('groff finds nothing wrong with them, and shows texts as they are', { timeout: 120_000 }, async () => {
  const { stdout, stderr, code } = await program('groff', ['-man', '-Tutf8', '-ww', ...pages()], env());
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('--format json|ndjson|csv|table|yaml');
});
