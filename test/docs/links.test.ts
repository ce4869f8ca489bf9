import { existsSync, globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { anchors } from '../../src/rest/describe/manual-pages.ts';
import { pageText } from './page.ts';

const checkout = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: checkout });

const withoutCode = (text: string): string => text.replaceAll(/^```[^]*?^```/gm, '');

function anchorsOf(page: string): string[] {
  const anchor = anchors();
  const headings = withoutCode(pageText(page)).matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, title]) => anchor(title!.replaceAll('`', '')));
}

it.each(pages)('links of %s lead to files and headings that are there', (page) => {
  const targets = withoutCode(pageText(page)).matchAll(/\]\(([^)\s]+)\)/g);
  const missing = [...targets].flatMap(([, target]) => {
    if (/^https?:/.test(target!)) return [];
    const [path, anchor] = target!.split('#');
    const file = path === '' ? page : normalize(join(dirname(page), path!));
    if (!existsSync(join(checkout, file))) return [target];
    return anchor === undefined || anchorsOf(file).includes(anchor) ? [] : [target];
  });
  expect(missing).toEqual([]);
});
