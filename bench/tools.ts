import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './process.ts';

/** Programs the benchmarks use, by the Debian package that has them. */
const tools: Readonly<Record<string, string>> = {
  nginx: 'nginx-light',
  wrk: 'wrk',
  curl: 'curl',
  jq: 'jq',
  gcc: 'gcc',
  fping: 'fping',
  nmap: 'nmap',
  bsdtar: 'libarchive-tools',
  umoci: 'umoci',
  xorriso: 'xorriso',
  taskset: 'util-linux',
  chrt: 'util-linux',
};

const isInstalled = (tool: string): boolean =>
  ['/usr/sbin', ...(process.env['PATH'] ?? '').split(':')].some((directory) => existsSync(join(directory, tool)));

export async function ensureTools(): Promise<void> {
  const missing = [...new Set(Object.keys(tools).flatMap((tool) => (isInstalled(tool) ? [] : tools[tool]!)))];
  if (missing.length === 0) return;
  console.log(`Installing ${missing.join(', ')} with apt-get.`);
  await run(['apt-get', 'update']);
  await run(['apt-get', 'install', '-y', '--no-install-recommends', ...missing], {
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  });
}
