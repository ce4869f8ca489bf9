import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const checkout = join(import.meta.dirname, '../..');

const refused = [
  ['src/core/a.ts', "import { x } from '../database/x.ts'"],
  ['src/core/b.ts', "import type { x } from '../rest/x.ts'"],
  ['src/noderange/a.ts', "import { x } from '../database/x.ts'"],
  ['src/noderange/b.ts', "import { x } from '../protocols/dns/x.ts'"],
  ['src/protocols/ipmi/a.ts', "import { x } from '../../objects/x.ts'"],
  ['src/database/a.ts', "import { x } from '../access/x.ts'"],
  ['src/database/sqlite/b.ts', "export { x } from '../../objects/x.ts'"],
  ['src/access/a.ts', "import { x } from '../objects/x.ts'"],
  ['src/objects/a.ts', "import { x } from '../names/index.ts'"],
  ['src/boot/a.ts', "import { x } from '../commands/x.ts'"],
  ['src/images/a.ts', "import { x } from '../boot/index.ts'"],
  ['src/images/pack/b.ts', "import { x } from '../../machines/index.ts'"],
  ['src/machines/a.ts', "import { x } from '../images/index.ts'"],
  ['src/consoles/a.ts', "import { x } from '../machines/index.ts'"],
  ['src/consoles/b.ts', "import { x } from '../events/hub.ts'"],
  ['src/events/b.ts', "import { x } from '../consoles/index.ts'"],
  ['src/nodes/update/a.ts', "import { x } from '../../images/index.ts'"],
  ['src/names/dns/a.ts', "import { x } from '../../nodes/index.ts'"],
  ['src/names/b.ts', "import { x } from '../drivers/index.ts'"],
  ['src/events/a.ts', "import { x } from '../names/index.ts'"],
  ['src/drivers/kvm/b.ts', "import { x } from '../../machines/index.ts'"],
  ['src/accounts/a.ts', "import { x } from '../drivers/index.ts'"],
  ['src/objects/b.ts', "import { x } from '../accounts/index.ts'"],
  ['src/rest/f.ts', "import { x } from '../accounts/site-accounts.ts'"],
  ['src/work/a.ts', "import { x } from '../database/x.ts'"],
  ['src/bus/a.ts', "import { x } from '../work/index.ts'"],
  ['src/nodes/b.ts', "import { x } from '../bus/channel.ts'"],
  ['src/dispatch/b.ts', "import { x } from '../worker/x.ts'"],
  ['src/cli/nodes/c.ts', "import { x } from '../../nodes/index.ts'"],
  ['src/boot/c.ts', "import { x } from '../images/paths.ts'"],
  ['src/commands/d.ts', "import { x } from '../nodes/update/x.ts'"],
  ['src/rest/endpoints/e.ts', "import type { x } from '../../names/dns/x.ts'"],
  ['src/serve.ts', "import { x } from './images/x.ts'"],
  ['src/drivers/ipmi/a.ts', "import { x } from '../../commands/x.ts'"],
  ['src/commands/a.ts', "import { x } from './rpower.ts'"],
  ['src/commands/b.ts', "import { x } from '../dispatch/x.ts'"],
  ['src/commands/c.ts', "import { x } from '../context.ts'"],
  ['src/dispatch/a.ts', "import { x } from '../rest/x.ts'"],
  ['src/rest/a.ts', "import { x } from '../main.ts'"],
  ['src/rest/b.ts', "import { x } from '../config.ts'"],
  ['src/rest/endpoints/c.ts', "import { x } from '../../admin/x.ts'"],
  ['src/cli/a.ts', "import { x } from '../objects/x.ts'"],
  ['src/cli/commands/b.ts', "import { x } from '../../rest/x.ts'"],
  ['src/rest/f.ts', "import { x } from '../self-check/x.ts'"],
  ['src/rest/d.ts', "import { x } from '../cli/x.ts'"],
  ['web/a.ts', "import { x } from '../src/rest/x.ts'"],
  ['web/pages/b.tsx', "import { x } from '../../src/core/x.ts'"],
  ['test/a.ts', "import { x } from '../src/main.ts'"],
] as const;

const allowed = [
  ['src/noderange/ok.ts', "import { x } from '../core/x.ts'"],
  ['src/database/ok.ts', "import { x } from '../core/x.ts'"],
  ['src/access/ok.ts', "import { x } from '../database/x.ts'"],
  ['src/objects/ok.ts', "import { x } from '../noderange/x.ts'"],
  ['src/drivers/ipmi/ok.ts', "import { x } from '../../protocols/ipmi/x.ts'"],
  ['src/commands/ok.ts', "import { x } from '../boot/index.ts'"],
  ['src/boot/ok.ts', "import { x } from '../images/index.ts'"],
  ['src/images/ok.ts', "import { x } from '../nodes/index.ts'"],
  ['src/machines/ok.ts', "import { x } from '../drivers/index.ts'"],
  ['src/consoles/ok.ts', "import { x } from '../drivers/index.ts'"],
  ['src/nodes/ok.ts', "import { x } from '../names/index.ts'"],
  ['src/accounts/ok.ts', "import { x } from '../objects/x.ts'"],
  ['src/bus/ok.ts', "import { x } from '../core/x.ts'"],
  ['src/worker/ok.ts', "import { x } from '../dispatch/x.ts'"],
  ['src/cli/commands/near.ts', "import { x } from '../nodes/x.ts'"],
  ['src/boot/routes/inner.ts', "import { x } from '../discovery/x.ts'"],
  ['src/context.ts', "import { x } from './images/index.ts'"],
  ['src/commands/made.ts', "import { x } from './command.ts'"],
  ['src/commands/each.ts', "import { x } from './per-node.ts'"],
  ['src/commands/typed.ts', "import type { x } from '../context.ts'"],
  ['src/commands/registry.ts', "import { x } from './rpower.ts'"],
  ['src/rest/ok.ts', "import { x } from '../dispatch/x.ts'"],
  ['src/rest/endpoints/ok.ts', "import { x } from '../endpoint.ts'"],
  ['src/cli/ok.ts', "import { x } from '../core/x.ts'"],
  ['src/cli/commands/typed.ts', "import type { x } from '../../rest/x.ts'"],
  ['src/main.ts', "import { x } from './rest/x.ts'"],
  ['test/ok.ts', "import { x } from '../src/rest/x.ts'"],
] as const;

let house: string;
let complaints: { filename: string; code: string }[];

beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'muster-floors-'));
  copyFileSync(join(checkout, '.oxlintrc.json'), join(house, '.oxlintrc.json'));
  const files = [
    ...refused,
    ...allowed,
    ['src/core/one.ts', "import { y } from './two.ts'; export const x = y"],
    ['src/core/two.ts', "import { x } from './one.ts'; export const y = x"],
  ] as const;
  for (const [file, line] of files) {
    mkdirSync(join(house, dirname(file)), { recursive: true });
    writeFileSync(join(house, file), `${line};\n`);
  }
  const { stdout } = spawnSync(join(checkout, 'node_modules/.bin/oxlint'), ['-f', 'json'], {
    cwd: house,
    encoding: 'utf8',
  });
  complaints = JSON.parse(stdout).diagnostics;
});
afterAll(() => rmSync(house, { recursive: true }));

const codesFor = (file: string) => complaints.filter(({ filename }) => filename === file).map(({ code }) => code);

it.each(refused)('refuses in %s: %s', (file) => {
  expect(codesFor(file)).toContain('eslint(no-restricted-imports)');
});

it.each(allowed)('allows in %s: %s', (file) => {
  expect(codesFor(file)).not.toContain('eslint(no-restricted-imports)');
});

it('refuses a circle', () => {
  expect(codesFor('src/core/one.ts')).toContain('import(no-cycle)');
});
