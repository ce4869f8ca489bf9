import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { settingsTable } from '../scripts/generated-docs.ts';
import { Count, kind, oneOf, Path, Paths, setting, Switch, type ValuesOf } from '../src/core/settings.ts';
import { entriesOf, loadSettings, unknownVariables } from '../src/load-settings.ts';

const cacheSettings = Type.Object({
  maxEntries: setting(Count, 'entries that are kept', { default: 100, flag: 'number' }),
  directories: setting(Paths, 'where they are kept', { defaultText: 'in memory', variable: 'MUSTER_CACHE_DIRS' }),
  mode: setting(oneOf('lazy', 'eager'), 'when they are made', { default: 'lazy' }),
  enabled: setting(Switch, 'whether they are kept', { default: true }),
});
const tree = Type.Object({
  cache: cacheSettings,
  home: setting(Path, 'where it lives', { flag: 'dir', default: '/home' }),
  key: setting(kind('a key', Type.String()), 'its key', { onlyVariable: true, defaultText: 'none' }),
});

let config: string;
beforeAll(() => {
  config = join(mkdtempSync(join(tmpdir(), 'muster-settings-')), 'muster.toml');
});
afterAll(() => rmSync(join(config, '..'), { recursive: true }));

describe('one declared line', () => {
  it('gives the type that the service gets', () => {
    expectTypeOf<ValuesOf<typeof cacheSettings>>().branded.toEqualTypeOf<{
      readonly maxEntries: number;
      readonly directories?: readonly string[] | undefined;
      readonly mode: 'lazy' | 'eager';
      readonly enabled: boolean;
    }>();
  });

  it('gives the default', () => {
    expect(loadSettings(tree, {}, {})).toEqual({
      cache: { maxEntries: 100, mode: 'lazy', enabled: true },
      home: '/home',
    });
  });

  it('is read from the file', () => {
    writeFileSync(config, '[cache]\nmaxEntries = 1\ndirectories = "a"\nmode = "eager"\nenabled = false');
    expect(loadSettings(tree, { config }, {}).cache).toEqual({
      maxEntries: 1,
      directories: [join(config, '../a')],
      mode: 'eager',
      enabled: false,
    });
  });

  it('is read from the environment, under the name it is derived or declared to have', () => {
    const environment = {
      MUSTER_CACHE_MAX_ENTRIES: '2',
      MUSTER_CACHE_DIRS: '/a, /b',
      MUSTER_CACHE_ENABLED: 'false',
      MUSTER_KEY: '17',
    };
    expect(loadSettings(tree, {}, environment)).toEqual({
      cache: { maxEntries: 2, directories: ['/a', '/b'], mode: 'lazy', enabled: false },
      home: '/home',
      key: '17',
    });
    expect(unknownVariables(tree, { ...environment, MUSTER_CACHE_DIRECTORIES: '/c' })).toEqual([
      'MUSTER_CACHE_DIRECTORIES',
    ]);
  });

  it('is read from the command line if it says so', () => {
    expect(loadSettings(tree, { cacheMaxEntries: '3', home: '/h', cacheMode: 'eager' }, {})).toMatchObject({
      cache: { maxEntries: 3, mode: 'lazy' },
      home: '/h',
    });
  });

  it.each([
    [
      { MUSTER_CACHE_MAX_ENTRIES: '2.5' },
      /variable MUSTER_CACHE_MAX_ENTRIES must be a whole number .*; it is "2\.5"\./,
    ],
    [{ MUSTER_CACHE_MAX_ENTRIES: '9007199254740992' }, /MUSTER_CACHE_MAX_ENTRIES must be a whole number/],
    [{ MUSTER_CACHE_DIRS: '/a,' }, /MUSTER_CACHE_DIRS must be one or more paths; it is "\/a,"\./],
    [{ MUSTER_CACHE_MODE: '1' }, /MUSTER_CACHE_MODE must be one of lazy, eager; it is "1"\./],
    [{ MUSTER_CACHE_ENABLED: '1' }, /MUSTER_CACHE_ENABLED must be true or false; it is "1"\./],
  ])('refuses %j', (environment, message) => {
    expect(() => loadSettings(tree, {}, environment)).toThrow(message);
  });

  it('refuses what is wrong on the command line, and a secret in the file', () => {
    expect(() => loadSettings(tree, { home: '' }, {})).toThrow(/^--home must be a path, as a string; it is ""\.$/);
    expect(() => loadSettings(tree, { cacheMaxEntries: 'x' }, {})).toThrow(
      /^--cache-max-entries must be a whole number/,
    );
    writeFileSync(config, 'key = "k"');
    expect(() => loadSettings(tree, { config }, {})).toThrow(/no setting key\. The settings are cache.*, home\.$/);
  });

  it('is a row of the table', () => {
    expect(settingsTable(entriesOf(tree)).split('\n').slice(2)).toEqual([
      '| `cache.maxEntries`, `--cache-max-entries NUMBER` | `MUSTER_CACHE_MAX_ENTRIES` | `100` | entries that are kept |',
      '| `cache.directories` (list) | `MUSTER_CACHE_DIRS` | in memory | where they are kept |',
      '| `cache.mode` | `MUSTER_CACHE_MODE` | `lazy` | when they are made. One of: `lazy`, `eager` |',
      '| `cache.enabled` | `MUSTER_CACHE_ENABLED` | `true` | whether they are kept |',
      '| `home`, `--home DIR` | `MUSTER_HOME` | `/home` | where it lives |',
      '| | `MUSTER_KEY` | none | its key |',
      '',
    ]);
  });
});
