import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Work } from '../../work/index.ts';
import type { PackageStep } from '../../nodes/index.ts';
import { hasUserNamespaces, inNamespaces, inUserNamespace } from '../tree/in-namespaces.ts';
import { ofDpkg } from '../tree/installed.ts';
import { inTree, readInTree, writeInTree } from '../tree/tree-path.ts';
import { architecture } from '../../objects/distributions.ts';
import type { Recipe, TreeBuilder, Wanted } from './gen-job.ts';
import { aptLine, type PackageSource } from './package-sources.ts';

/** Below /run/muster: keys and the list of sources, then the sources that are directories. */
const ownFiles = '/run/muster/0';
const keyrings = ['/usr/share/keyrings/debian-archive-keyring.gpg', '/usr/share/keyrings/ubuntu-archive-keyring.gpg'];

/** All of a tree goes to the disk at its end; after a power cut in between nobody would look at it. */
const withoutSync = 'force-unsafe-io';
/** Where mmdebstrap puts the options that it is given, for good. */
const ownOptions = ['/etc/apt/apt.conf.d/99mmdebstrap', '/etc/dpkg/dpkg.cfg.d/99mmdebstrap'];
/** What mmdebstrap copies from this machine. Nodes have names of their own, and a node asks whom DHCP names unless its image says otherwise. */
const copied = ['/etc/hostname', '/etc/resolv.conf'];

/** A mirror that does not answer is an error: without it older packages would be taken, or none of its updates. */
const everySource = 'APT::Update::Error-Mode';

/** What mmdebstrap can install with the base. Groups and variables are for apt in the finished base. */
const isPlain = (step: PackageStep | undefined): step is PackageStep =>
  step !== undefined &&
  Object.keys(step.environment).length === 0 &&
  !step.install.some((name) => name.startsWith('@'));

export const debian: TreeBuilder = {
  tool: 'apt-get',

  async create(task, recipe, tree, scratch) {
    const { packages, others, suite = '', osarch } = recipe;
    const [first, ...rest] = packages.steps;
    const inBase = isPlain(first) ? first.install : [];
    const lines = packages.sources.map((source) => aptLine(source, suite));
    const words = [
      '--mode=root',
      '--variant=minbase',
      '--format=directory',
      `--architectures=${architecture(osarch).debian}`,
      '--aptopt=Acquire::Languages "none"',
      `--aptopt=${everySource} "any"`,
      '--aptopt=APT::Sandbox::User "root"',
      `--dpkgopt=${withoutSync}`,
      ...(inBase.length > 0 ? [`--include=${inBase.join(',')}`] : []),
      suite,
      tree,
      ...lines,
    ];
    await bootstrap(task, scratch, words);
    const left = isPlain(first) ? [{ ...first, install: [] }, ...rest] : packages.steps;
    await carryOut(task, recipe, tree, scratch, { ...packages, steps: left });
    await carryOut(task, recipe, tree, scratch, {
      sources: [...packages.sources, ...others.sources],
      steps: others.steps,
    });
    await tidy(tree, [...packages.sources, ...others.sources], suite);
  },

  async update(task, recipe, tree, scratch, { add, drop, upgrade }) {
    const { packages, others, suite = '' } = recipe;
    const apt = await aptIn(task, recipe, tree, scratch, [...packages.sources, ...others.sources]);
    if (upgrade) await apt.run(['dist-upgrade']);
    const gone = await installedOf(tree, drop);
    if (gone.length > 0) await apt.run(['remove', '--auto-remove', '--purge', '--', ...gone]);
    if (add.length > 0) await apt.run(['install', '--', ...add]);
    await apt.end();
    await tidy(tree, [...packages.sources, ...others.sources], suite);
  },
};

/** Packages come from elsewhere, and their scripts run as root: of a user namespace, where there can be one. */
async function bootstrap(task: Work, scratch: string, words: readonly string[]): Promise<void> {
  const options = { network: true, env: { TMPDIR: scratch } };
  // Its name says that it is missing.
  await task.program('mmdebstrap', ['--version'], { output: () => undefined });
  if (await hasUserNamespaces(task, scratch)) {
    task.tell('mmdebstrap runs as root of its own user namespace, without rights over devices and the kernel.');
    await inUserNamespace(task, scratch, ['mmdebstrap', ...words], { ...options, output: withoutRefusedMount(task) });
  } else {
    task.tell('mmdebstrap runs as root: this machine does not allow user namespaces.');
    await task.program('mmdebstrap', words, options);
  }
}

/**
 * A sysfs of its own belongs to a network namespace, which is not the tool's: it is refused, and mmdebstrap goes on with the one of this
 * machine. Whoever reads the two lines of mount would look for a fault.
 */
function withoutRefusedMount(task: Work): (line: string) => void {
  let refused = false;
  return (line) => {
    const follows = refused && line.includes('dmesg(1) may have more information');
    refused = /^mount: \S+\/sys: permission denied\.$/.test(line);
    if (!refused && !follows) task.tell(line);
  };
}

async function carryOut(
  task: Work,
  recipe: Recipe,
  tree: string,
  scratch: string,
  { sources, steps }: Wanted,
): Promise<void> {
  const busy = steps.filter(
    ({ install, removeBefore, removeAfter }) => install.length + removeBefore.length + removeAfter.length > 0,
  );
  if (busy.length === 0) return;
  let apt: Apt | undefined;
  for (const { removeBefore, install, removeAfter, environment } of busy) {
    // In a new tree what is to go before and after is the same: it shall not be there.
    const words = install.map((name) => (name.startsWith('@') ? `${name.slice(1)}^` : name));
    const unwanted = async () => installedOf(tree, [...removeBefore, ...removeAfter]);
    if (install.length === 0 && (await unwanted()).length === 0) continue;
    apt ??= await aptIn(task, recipe, tree, scratch, sources);
    if (words.length > 0) await apt.run(['install', '--', ...words], environment);
    const gone = await unwanted();
    if (gone.length > 0) await apt.run(['remove', '--purge', '--', ...gone], environment);
  }
  await apt?.end();
}

interface Apt {
  run(words: readonly string[], environment?: Readonly<Record<string, string>>): Promise<void>;
  end(): Promise<void>;
}

/** apt-get of the tree itself; the repositories of this machine are shown to it. */
async function aptIn(
  task: Work,
  { suite }: Recipe,
  tree: string,
  scratch: string,
  sources: readonly PackageSource[],
): Promise<Apt> {
  const own = join(scratch, 'apt');
  mkdirSync(join(own, 'keys'), { recursive: true });
  const kept = '/etc/apt/trusted.gpg.d';
  const keys = existsSync(kept) ? readdirSync(kept).map((name) => join(kept, name)) : [];
  for (const [index, key] of [...keys, ...keyrings.filter((each) => existsSync(each))].entries())
    copyFileSync(key, join(own, 'keys', `${index}${key.slice(key.lastIndexOf('.'))}`));
  const directories = sources.flatMap((source) => (source.kind === 'directory' ? source.path : []));
  const lines = sources.map((source) =>
    aptLine(source, suite, source.kind === 'directory' ? `/run/muster/${directories.indexOf(source.path) + 1}` : ''),
  );
  writeFileSync(join(own, 'sources.list'), `${lines.join('\n')}\n`);
  const policy = '/usr/sbin/policy-rc.d';
  const hadPolicy = (await readInTree(tree, policy)) !== undefined;
  // No service is started in a tree.
  if (!hadPolicy) await writeInTree(tree, policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const options = [
    '-q',
    '-y',
    ...option('Dir::Etc::SourceList', `${ownFiles}/sources.list`),
    ...option('Dir::Etc::SourceParts', '-'),
    ...option('Dir::Etc::TrustedParts', `${ownFiles}/keys`),
    ...option('Acquire::Languages', 'none'),
    ...option(everySource, 'any'),
    ...option('APT::Sandbox::User', 'root'),
    ...option('APT::Install-Recommends', 'false'),
    ...option('Dpkg::Options::', '--force-confdef'),
    ...option('Dpkg::Options::', '--force-confold'),
    ...option('Dpkg::Options::', `--${withoutSync}`),
  ];
  const run: Apt['run'] = async (words, environment = {}) => {
    await inNamespaces(task, ['apt-get', ...options, ...words], {
      tree,
      binds: [own, ...directories],
      network: true,
      env: { ...environment, DEBIAN_FRONTEND: 'noninteractive' },
    });
  };
  await run(['update']);
  return {
    run,
    async end() {
      await run(['clean']);
      if (!hadPolicy) await rm(inTree(tree, policy), { force: true });
    },
  };
}

const option = (name: string, value: string): string[] => ['-o', `${name}=${value}`];

async function installedOf(tree: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const status = await readInTree(tree, '/var/lib/dpkg/status');
  const installed = new Set(ofDpkg(status?.toString() ?? '').map(({ name }) => name));
  return names.filter((name) => installed.has(name));
}

/** A node cannot reach directories of this machine, and what was only for building is not for it. */
async function tidy(tree: string, sources: readonly PackageSource[], suite: string): Promise<void> {
  const lines = sources.flatMap((source) => (source.kind === 'url' ? aptLine(source, suite) : []));
  const text = [...new Set(lines)].map((line) => `${line}\n`).join('');
  await writeInTree(tree, '/etc/apt/sources.list', text, { mode: 0o644 });
  const own = ['/etc/apt/sources.list.d/0000sources.list', ...ownOptions];
  for (const path of [...own, ...copied.filter((each) => isOfThisMachine(tree, each))])
    await rm(inTree(tree, path, { follow: false }), { force: true });
  const lists = inTree(tree, '/var/lib/apt/lists');
  if (existsSync(lists)) for (const name of readdirSync(lists)) await rm(join(lists, name), { recursive: true });
}

/** Whether a file of a tree, which is no link, is the one of this machine. */
function isOfThisMachine(tree: string, path: string): boolean {
  const place = inTree(tree, path, { follow: false });
  return (
    lstatSync(place, { throwIfNoEntry: false })?.isFile() === true &&
    existsSync(path) &&
    readFileSync(place).equals(readFileSync(path))
  );
}
