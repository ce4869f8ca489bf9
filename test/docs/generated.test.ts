import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { docs, gatheredLimits, outdatedPages, settingsBySection, withPart } from '../../scripts/generated-docs.ts';
import { Count, setting } from '../../src/core/settings.ts';

it('has the parts of the manual that follow from the program', async () => {
  expect([...(await outdatedPages()).keys()]).toEqual([]);
});

it('puts a part between its marks', () => {
  const begin = '<!-- begin list: npm run format writes this -->';
  const page = `before\n${begin}\nold\n<!-- end list -->\nbehind\n`;
  expect(withPart(page, 'list', 'new\n')).toBe(`before\n${begin}\n\nnew\n\n<!-- end list -->\nbehind\n`);
  expect(() => withPart(page, 'other', 'new')).toThrow(/no marks "<!-- begin other: .*" and "<!-- end other -->"/);
});

it('gathers the limits of pages, with links that lead to them', () => {
  const one = '# One\n\nText.\n\n## Limits\n\n- Names: [short](#names).\n\n## With curl\n\nMore.\n';
  const last = '# Last\n\n## Limits\n\n- Sizes: [few](one.md#sizes).\n';
  const pages = [['one.md', one] as const, ['two.md', '# Two\n\n## Other\n'] as const, ['last.md', last] as const];
  expect(gatheredLimits(pages)).toBe(
    [
      '## One\n\nFrom [One](one.md#limits).\n\n- Names: [short](one.md#names).\n',
      '## Last\n\nFrom [Last](last.md#limits).\n\n- Sizes: [few](one.md#sizes).\n',
    ].join('\n'),
  );
});

it('groups settings by their first word', () => {
  const tree = Type.Object({
    size: setting(Count, 'a size', { default: 1 }),
    boot: Type.Object({ port: setting(Count, 'a port', { default: 80 }) }),
  });
  const headings = settingsBySection(tree)
    .split('\n')
    .filter((line) => line.startsWith('###'));
  expect(headings).toEqual(['### general', '### `boot`']);
});

it('docs/reference/commands.md has the commands of the server', () => {
  const page = readFileSync(join(docs, 'reference/commands.md'), 'utf8');
  const main = readFileSync(join(docs, '../src/main.ts'), 'utf8');
  const commands = [...main.matchAll(/\.command\('([\w-]+)/g)].map(([, name]) => name!);
  expect(commands.length).toBeGreaterThan(3);
  for (const name of commands) expect(page).toContain(`| \`muster ${name}`);
});
