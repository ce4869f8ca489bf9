import { expect, it } from 'vitest';
import { pageText } from './page.ts';

it('a table of placeholders has each of them once for an installer', () => {
  const rows = [...pageText('docs/boot.md').matchAll(/^\| (`#[A-Z].*?) \| ([^:|]*)/gm)];
  const named = rows.flatMap(([, names, installer]) =>
    names!.split(', ').flatMap((name) => (name.includes('#END#') ? [] : `${installer}: ${name}`)),
  );
  expect(named).toContain('AutoYaST: `#YAST2NET#`');
  expect(named).toEqual([...new Set(named)]);
});
