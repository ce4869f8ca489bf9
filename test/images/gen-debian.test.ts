import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { work as gen } from '../../src/images/build/gen.ts';
import type { GenJob } from '../../src/images/build/gen-job.ts';
import type { PackageSource } from '../../src/images/build/package-sources.ts';
import { readManifest } from '../../src/images/manifest.ts';
import { work as pack } from '../../src/images/pack/pack.ts';
import { directWork, type DirectWork } from '../harness/work.ts';
import { debianMirror } from '../lab/debian-mirror.ts';
import { debianPackages, genJob, packagesFrom } from '../lab/gen-job.ts';
import { makeRepository } from '../lab/packages.ts';
import { during, packJob, refusal } from './small-image.ts';
import { inMemory } from './steps.ts';

const arm = process.arch === 'arm64';
let top: string;
let job: GenJob;
let building: DirectWork;

const withOthers = (path: string, ...install: string[]): GenJob => ({
  ...job,
  recipe: { ...job.recipe, others: packagesFrom({ kind: 'directory', path }, ...install) },
});

/** A repository of the site, with packages of two versions. */
function extras(version: string): string {
  const directory = join(top, 'extras');
  mkdirSync(directory, { recursive: true });
  const packages = [
    { name: 'lab-one', version, postinst: 'id -u > /etc/lab-one; ls /proc/self > /dev/null' },
    { name: 'lab-two', version },
  ];
  for (const [name, bytes] of makeRepository(packages)) writeFileSync(join(directory, name), bytes);
  return directory;
}

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'muster-debian-'));
  const packages = debianPackages(`linux-image-cloud-${arm ? 'arm64' : 'amd64'}`, 'busybox-static');
  job = {
    ...genJob(join(top, 'install/netboot/debian12/arch/compute'), 'debian12', packages),
    lists: [{ path: '/install/compute.pkglist', sha256: '0'.repeat(64) }],
  };
  job = withOthers(extras('1.0'), 'lab-one');
  building = directWork();
  await during(() => gen(job, building), building);
}, 900_000);
afterAll(() => rmSync(top, { recursive: true, force: true }));

// Tools work on hundreds of megabytes.
describe('an image of Debian from its mirror', { timeout: 300_000 }, () => {
  it('has the packages of the mirror and of the site, a kernel, and nothing of this machine', async () => {
    const tree = join(job.directory, 'rootimg');
    const manifest = (await readManifest(job.directory))!;
    const names = manifest.packages.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['apt', 'busybox-static', 'lab-one']));
    expect(names).not.toContain('tzdata');
    expect(manifest).toMatchObject({ made: { by: 'root' }, source: { kind: 'packages', lists: job.lists } });
    expect(manifest.kernel).toContain('cloud');
    // Its script ran as root, with the file systems that scripts expect.
    expect(readFileSync(join(tree, 'etc/lab-one'), 'utf8')).toBe('0\n');
    expect(readFileSync(join(tree, 'etc/apt/sources.list'), 'utf8')).toBe(`deb ${debianMirror()} bookworm main\n`);
    expect(readdirSync(join(tree, 'var/lib/apt/lists'))).toEqual([]);
    expect(existsSync(join(tree, 'usr/sbin/policy-rc.d'))).toBe(false);
    expect(existsSync(join(tree, 'run/muster'))).toBe(false);
    for (const directory of ['etc/apt/apt.conf.d', 'etc/dpkg/dpkg.cfg.d'])
      expect(readdirSync(join(tree, directory)).filter((name) => name.includes('mmdebstrap'))).toEqual([]);
    // Those of this machine: a node has a name of its own, and takes its name servers from DHCP if the image has none.
    for (const path of ['etc/hostname', 'etc/resolv.conf']) expect(existsSync(join(tree, path)), path).toBe(false);
    // dpkg need not sync every file, neither in the base nor later.
    expect(building.programs.flat()).toContain('--dpkgopt=force-unsafe-io');
    expect(building.programs.flat()).toContain('Dpkg::Options::=--force-unsafe-io');
    expect(readdirSync(join(job.directory, '..'))).toEqual(['compute']);
  });

  it('has an initial RAM disk with the drivers of that kernel and all that they need', async () => {
    const into = join(top, 'initrd');
    mkdirSync(into);
    const input = gunzipSync(readFileSync(join(job.directory, 'initrd-stateless.gz')));
    execFileSync('cpio', ['-id', '--quiet', '--no-absolute-filenames'], { cwd: into, input });
    const { kernel } = (await readManifest(job.directory))!;
    const modules = readdirSync(join(into, 'lib/modules', kernel!, 'kernel'));
    expect(modules).toEqual(expect.arrayContaining(['squashfs.ko', 'overlay.ko', 'virtio_net.ko']));
    const dependencies = readFileSync(join(into, 'lib/modules', kernel!, 'modules.dep'), 'utf8');
    expect(dependencies).toMatch(/^kernel\/virtio_net\.ko: .*kernel\/net_failover\.ko/m);
    const needed = dependencies.match(/kernel\/\S+\.ko/g)!;
    for (const path of needed) expect(modules).toContain(path.slice('kernel/'.length));
    const head = readFileSync(join(job.directory, 'kernel')).subarray(0, 2).toString('latin1');
    expect(head).toBe('MZ');
  });

  it('stays as it is if nothing has changed', async () => {
    const task = directWork();
    expect(await during(() => gen(job, task), task)).toMatchObject({ did: 'nothing' });
    expect(task.programs).toEqual([]);
  });

  it('packs to the same bytes twice, and its packages are told', async () => {
    const of = {
      ...packJob(job.directory),
      osarch: job.osarch,
      exclusions: {
        out: ['./boot/*', './usr/share/doc/*', './usr/lib/*', './usr/bin/*'],
        kept: ['./usr/share/doc/apt/*'],
      },
    };
    const [one, two] = [await during((task) => pack(of, task)), await during((task) => pack(of, task))];
    expect(two.parts).toEqual(one.parts);
    const list = execFileSync('unsquashfs', ['-l', '-d', '', join(job.directory, 'rootimg.sfs')], {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    });
    const doc = list.split('\n').filter((line) => /^\/usr\/share\/doc\/./.test(line));
    expect(doc.every((line) => line.startsWith('/usr/share/doc/apt'))).toBe(true);
    expect(doc.length).toBeGreaterThan(1);
    expect(list.split('\n').filter((line) => line.startsWith('/boot/'))).toEqual([]);
  });

  it('is updated by apt-get when a list or a repository changes, in a copy', async () => {
    const path = extras('2.0');
    const task = directWork();
    expect(await during(() => gen(withOthers(path, 'lab-two'), task), task)).toMatchObject({ did: 'updated' });
    const line = 'The tree is brought up to date by apt-get: 1 to install, 2 to remove, upgrades.';
    expect(task.lines).toContain(line);
    const { packages } = (await readManifest(job.directory))!;
    expect(packages).toContainEqual({ name: 'lab-two', version: '2.0', arch: 'all' });
    expect(packages.map(({ name }) => name)).not.toContain('lab-one');
  });
});

it('a disk that becomes full leaves nothing', { timeout: 300_000 }, async () => {
  const full = inMemory(100);
  const sentence = await refusal(during((task) => gen({ ...job, directory: join(full, 'compute') }, task)));
  expect(sentence).toMatch(/bytes left: that may be|no space left|enough free space/i);
  expect(readdirSync(full)).toEqual([]);
});

it('a mirror that cannot be reached is told by its address, and nothing is made', async () => {
  const sources: PackageSource[] = [{ kind: 'url', url: 'http://127.0.0.1:1/debian', components: [] }];
  const directory = join(top, 'install/netboot/other');
  const unreachable: GenJob = {
    ...job,
    directory,
    recipe: { ...job.recipe, packages: { ...job.recipe.packages, sources } },
  };
  expect(await refusal(during((task) => gen(unreachable, task)))).toContain(
    'http://127.0.0.1:1/debian/dists/bookworm/InRelease',
  );
  expect(existsSync(directory)).toBe(false);
});
