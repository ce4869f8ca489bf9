import { closeSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openReal, openRealSync, readRealDirectory } from '../../src/core/open-real.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-test-'));
  mkdirSync(join(directory, 'real/inner'), { recursive: true });
  writeFileSync(join(directory, 'real/file'), 'content');
  symlinkSync('file', join(directory, 'real/link'));
  symlinkSync('real', join(directory, 'way'));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('a path that was resolved', () => {
  it('is opened where it is still the same', async () => {
    const path = join(directory, 'real/file');
    const file = await openReal(path);
    expect(await file.readFile('utf8')).toBe('content');
    await file.close();
    const fd = openRealSync(path);
    expect(readFileSync(fd, 'utf8')).toBe('content');
    closeSync(fd);
    const names = await readRealDirectory(Buffer.from(join(directory, 'real')));
    expect(names.map(String).sort()).toEqual(['file', 'inner', 'link']);
  });

  it.each([
    ['a link', 'real/link'],
    ['behind a link', 'way/file'],
  ])('is not opened where it has become %s', async (_name, path) => {
    await expect(openReal(join(directory, path))).rejects.toThrow(/ELOOP|moved or replaced/);
    expect(() => openRealSync(join(directory, path))).toThrow(/ELOOP|moved or replaced/);
  });

  it.each(['way', 'way/inner'])('is not listed where a link leads elsewhere: %s', async (path) => {
    await expect(readRealDirectory(Buffer.from(join(directory, path)))).rejects.toThrow(/ELOOP|moved or replaced/);
  });
});
