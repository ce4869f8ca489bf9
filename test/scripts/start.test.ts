import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const source = join(import.meta.dirname, '../../src');

/** What a module and all that it imports as it is loaded import from elsewhere. */
function loadedWith(files: readonly string[]): ReadonlySet<string> {
  const packages = new Set<string>();
  const modules = new Set(files.map((file) => join(source, file)));
  for (const file of modules) {
    if (!file.endsWith('.ts')) continue;
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*?'([^']+)';$/gm))
      if (name.startsWith('.')) modules.add(resolve(dirname(file), name));
      else packages.add(name);
  }
  return packages;
}

it('starts the server without what most servers need later, or never', () => {
  const packages = loadedWith(['main.ts', 'serve.ts']);
  expect(packages).toContain('better-sqlite3');
  // Plain HTTP is taken from core/http.ts.
  const later = ['@peculiar/x509', '@nats-io/transport-node', 'marked', 'minisearch', 'node:http', 'openid-client'];
  expect([...later, 'ssh2', 'undici', 'yaml'].filter((name) => packages.has(name))).toEqual([]);
});
