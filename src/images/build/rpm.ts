import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Work } from '../../work/index.ts';
import { inNamespaces } from '../tree/in-namespaces.ts';
import { installedIn } from '../tree/installed.ts';
import { inTree } from '../tree/tree-path.ts';
import { versionOf } from '../../objects/distributions.ts';
import type { Recipe, TreeBuilder } from './gen-job.ts';
import { repoFile } from './package-sources.ts';

const keyDirectory = '/etc/pki/rpm-gpg';

/** How one package manager works on a tree from outside. */
interface Tool {
  readonly name: string;
  words(recipe: Recipe, tree: string, files: ToolFiles): readonly string[];
  readonly install: readonly string[];
  readonly remove: readonly string[];
  readonly upgrade: readonly string[];
  readonly expect: readonly number[];
  group(name: string): string;
  /** What it leaves in the tree and no node needs. */
  readonly leftovers: readonly string[];
}

interface ToolFiles {
  readonly repositories: string;
  readonly configuration: string;
  readonly cache: string;
}

const dnfTool: Tool = {
  name: 'dnf',
  words: ({ osvers, osarch }, tree, { configuration }) => [
    '-c',
    configuration,
    `--installroot=${tree}`,
    `--releasever=${versionOf(osvers) || '/'}`,
    `--forcearch=${osarch}`,
    '--setopt=install_weak_deps=False',
    '-y',
  ],
  install: ['install'],
  remove: ['remove'],
  upgrade: ['upgrade', '--refresh'],
  expect: [0],
  group: (name) => `@${name}`,
  leftovers: [
    '/var/cache/dnf',
    '/var/log/dnf.log',
    '/var/log/dnf.librepo.log',
    '/var/log/dnf.rpm.log',
    '/var/log/hawkey.log',
  ],
};

const zypperTool: Tool = {
  name: 'zypper',
  words: (_recipe, tree, { repositories, cache }) => [
    '--root',
    tree,
    '--reposd-dir',
    repositories,
    '--cache-dir',
    cache,
    '--non-interactive',
    '--gpg-auto-import-keys',
  ],
  install: ['install', '--no-recommends', '--auto-agree-with-licenses'],
  remove: ['remove', '--clean-deps'],
  upgrade: ['dist-upgrade', '--no-recommends', '--auto-agree-with-licenses'],
  // Something would have to be restarted, if it were running.
  expect: [0, 102, 103],
  group: (name) => `pattern:${name}`,
  leftovers: ['/var/cache/zypp', '/var/log/zypper.log', '/var/log/zypp'],
};

const builder = (tool: Tool): TreeBuilder => ({
  tool: tool.name,

  async create(task, recipe, tree, scratch) {
    mkdirSync(tree, { mode: 0o755 });
    const { packages, others } = recipe;
    await withTool(task, tool, recipe, tree, scratch, async (run) => {
      for (const { install, removeBefore, removeAfter, environment } of [...packages.steps, ...others.steps]) {
        const words = install.map((name) => (name.startsWith('@') ? tool.group(name.slice(1)) : name));
        if (words.length > 0) await run([...tool.install, '--', ...words], environment);
        await removeThose(task, tool, tree, [...removeBefore, ...removeAfter], run);
      }
    });
  },

  async update(task, recipe, tree, scratch, { add, drop, upgrade }) {
    await withTool(task, tool, recipe, tree, scratch, async (run) => {
      if (upgrade) await run(tool.upgrade);
      await removeThose(task, tool, tree, drop, run);
      if (add.length > 0) await run([...tool.install, '--', ...add]);
    });
  },
});

export const dnf = builder(dnfTool);
export const zypper = builder(zypperTool);

type Run = (words: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<void>;

async function removeThose(task: Work, tool: Tool, tree: string, names: readonly string[], run: Run): Promise<void> {
  if (names.length === 0) return;
  const installed = new Set((await installedIn(task, tree)).map(({ name }) => name));
  const gone = names.filter((name) => installed.has(name));
  if (gone.length > 0) await run([...tool.remove, '--', ...gone]);
}

async function withTool(
  task: Work,
  tool: Tool,
  recipe: Recipe,
  tree: string,
  scratch: string,
  work: (run: Run) => Promise<void>,
): Promise<void> {
  const [repositories, cache, home] = ['repositories', 'cache', 'home'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ];
  for (const directory of [repositories, cache, home]) mkdirSync(directory, { recursive: true });
  const keys = existsSync(keyDirectory) ? readdirSync(keyDirectory).map((name) => join(keyDirectory, name)) : [];
  writeFileSync(
    join(repositories, 'muster.repo'),
    repoFile([...recipe.packages.sources, ...recipe.others.sources], keys),
  );
  const configuration = join(scratch, 'dnf.conf');
  writeFileSync(
    configuration,
    `[main]\nreposdir=${repositories}\nvarsdir=${home}\npluginconfpath=${home}\nkeepcache=0\n`,
  );
  // Debian's rpm would keep the database where no RPM distribution looks for it.
  writeFileSync(join(home, '.rpmmacros'), `%_dbpath ${databaseOf(recipe)}\n`);
  const words = tool.words(recipe, tree, { repositories, configuration, cache });
  await work(async (rest, environment = {}) => {
    await inNamespaces(task, [tool.name, ...words, ...rest], {
      tree,
      outside: true,
      network: true,
      env: { ...environment, HOME: home },
      expect: tool.expect,
    });
  });
  for (const path of tool.leftovers) await rm(inTree(tree, path, { follow: false }), { recursive: true, force: true });
}

/** Where the distribution's own rpm looks. */
function databaseOf({ osvers }: Recipe): string {
  const major = Number(versionOf(osvers).split('.')[0]);
  const isNew = osvers.startsWith('fedora')
    ? major >= 36
    : /^(sle|leap|opensuse|suse|tumbleweed)/.test(osvers)
      ? !(major < 15)
      : major >= 10;
  return isNew ? '/usr/lib/sysimage/rpm' : '/var/lib/rpm';
}
