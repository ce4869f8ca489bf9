import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Sources } from '../../../src/access/file-sources.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'muster-sources-')));
const at = (path: string): string => join(base, path);
mkdirSync(at('sources'));
mkdirSync(at('data/files'), { recursive: true });
writeFileSync(at('sources/file'), '');
writeFileSync(at('secret'), '');
writeFileSync(at('data/secret.key'), '');
writeFileSync(at('data/files/file'), '');
symlinkSync('../secret', at('sources/link'));
symlinkSync(at('absent'), at('dangling'));
const sources = new Sources([at('sources'), at('data/files'), at('absent'), at('dangling')], at('data'));

afterAll(() => rmSync(base, { recursive: true }));

it.each(['sources/file', 'data/files/file'])('%s may be sent', (path) => {
  expect(sources.admit(at(path))).toBe(at(path));
});

it.each([
  ['a missing file', 'sources/none', 'There is no file'],
  ['a file of a directory that is not there yet', 'absent/file', 'There is no file'],
  ['a file of a directory that leads nowhere', 'dangling/file', 'There is no file'],
  ['a file elsewhere', 'secret', 'outside the directories'],
  ['a missing file elsewhere', 'none', 'outside the directories'],
  ['a file that a link leads to', 'sources/link', 'outside the directories'],
  ['a way out of a directory that is not there', 'absent/../secret', 'outside the directories'],
  ['data of the service', 'data/secret.key', 'outside the directories'],
])('%s is refused by its reason', (_name, path, reason) => {
  expect(() => sources.admit(`${base}/${path}`)).toThrow(reason);
});
