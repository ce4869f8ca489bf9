import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeFileAtomically } from '../../src/core/files.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-files-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

it('replaces a file with the new content and mode and leaves nothing else behind', () => {
  const file = join(directory, 'a');
  writeFileSync(file, 'a much longer old content', { mode: 0o644 });
  writeFileAtomically(file, 'new', 0o600);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory)).toEqual(['a']);
});

it('removes its temporary file when it cannot finish', () => {
  const file = join(directory, 'a', 'b');
  expect(() => writeFileAtomically(file, 'x', 0o600)).toThrow(/ENOENT/);
  expect(() => writeFileAtomically(directory, 'x', 0o600)).toThrow();
  expect(readdirSync(directory)).toEqual([]);
});

it('does not follow a link that somebody has put at its temporary name', () => {
  const [file, foreign] = [join(directory, 'a'), join(directory, 'foreign')];
  writeFileSync(foreign, 'not ours');
  symlinkSync(foreign, `${file}.${process.pid}.tmp`);
  writeFileAtomically(file, 'new', 0o600);
  expect([readFileSync(file, 'utf8'), readFileSync(foreign, 'utf8')]).toEqual(['new', 'not ours']);
  expect(readdirSync(directory)).toEqual(['a', 'foreign']);
});
