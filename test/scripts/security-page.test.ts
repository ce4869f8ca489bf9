import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import tables from '../../src/database/tables.json' with { type: 'json' };

it('docs/security.md lists exactly the columns that decide trust', () => {
  const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
  const listed = page.split('\n').filter((line) => /^\| `\w+` \|/.test(line));
  const marked = Object.entries(tables as Record<string, { trust?: string[] | true }>).flatMap(([table, { trust }]) => {
    if (trust === undefined) return [];
    return `| \`${table}\` | ${trust === true ? 'all' : trust.map((column) => `\`${column}\``).join(', ')} |`;
  });
  expect(listed).toEqual(marked);
});
