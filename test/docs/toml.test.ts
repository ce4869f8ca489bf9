import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { docs } from '../../scripts/generated-docs.ts';
import { loadConfig } from '../../src/config.ts';
import { blocksOf } from './page.ts';

const directory = mkdtempSync(join(tmpdir(), 'muster-toml-'));
afterAll(() => rmSync(directory, { recursive: true }));

const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));

it.each(pages)('docs/%s shows settings that muster takes', (page) => {
  for (const { language, text } of blocksOf(`docs/${page}`)) {
    if (language !== 'toml') continue;
    const config = join(directory, 'muster.toml');
    writeFileSync(config, text);
    expect(loadConfig({ config }, {}).earlierSettings).toEqual([]);
  }
});
