import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const checkout = join(import.meta.dirname, '../..');
const files = ['src', 'web', 'test', 'scripts'].flatMap((room) =>
  readdirSync(join(checkout, room), { recursive: true, encoding: 'utf8' }).map((file) => `${room}/${file}`),
);

/** Whoever reads about a file looks for it. */
test('every source file that ARCHITECTURE.md names is there', () => {
  const text = readFileSync(join(checkout, 'ARCHITECTURE.md'), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file]) => file!);
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)))).toEqual([]);
});
