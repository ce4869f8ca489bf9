import { expect, it } from 'vitest';
import { aptLine, parseSources, repoFile, withUpdates } from '../../src/images/build/package-sources.ts';

const lines = (text: string, suite = 'bookworm'): string[] =>
  withUpdates(
    parseSources(text, 'pkgdir', (path) => path),
    suite,
  ).map((source) => aptLine(source, suite));

it('the archives of Debian and Ubuntu come with their updates and security updates', () => {
  expect(lines('http://deb.debian.org/debian')).toEqual([
    'deb http://deb.debian.org/debian bookworm main',
    'deb http://deb.debian.org/debian bookworm-updates main',
    'deb http://deb.debian.org/debian-security bookworm-security main',
  ]);
  expect(lines('http://de.archive.ubuntu.com/ubuntu/', 'noble')).toEqual([
    'deb http://de.archive.ubuntu.com/ubuntu noble main',
    'deb http://de.archive.ubuntu.com/ubuntu noble-updates main',
    'deb http://de.archive.ubuntu.com/ubuntu noble-security main',
  ]);
});

it('other mirrors, and suites that somebody names, are taken as they are', () => {
  expect(lines('http://mirror.example/debian')).toEqual(['deb http://mirror.example/debian bookworm main']);
  expect(lines('http://deb.debian.org/debian bookworm main contrib')).toHaveLength(1);
});

it('a repository of packages that does not answer is an error for dnf', () => {
  const [source] = parseSources('http://mirror.example/rocky', 'pkgdir', (path) => path);
  expect(repoFile([source!], [])).toContain('\nskip_if_unavailable=0\n');
});
