import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tmpdir } from 'node:os';
import { work as gen } from '../../src/images/build/gen.ts';
import type { GenJob, Recipe, Wanted } from '../../src/images/build/gen-job.ts';
import { hashFile } from '../../src/images/build/fingerprint.ts';
import { work as run } from '../../src/images/build/run.ts';
import { readManifest } from '../../src/images/manifest.ts';
import { work as remove } from '../../src/images/removal.ts';
import { directWork } from '../harness/work.ts';
import { genJob, packagesFrom } from '../lab/gen-job.ts';
import { makeRpmDistribution } from './rpm-distribution.ts';
import { during, listing, refusal, temporary } from './small-image.ts';
import { inMemory } from './steps.ts';

let top: string;
let distribution: ReturnType<typeof makeRpmDistribution>;
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'muster-distribution-'));
  distribution = makeRpmDistribution(top);
});
afterAll(() => rmSync(top, { recursive: true }));

const families = [
  ['dnf', 'rocky9', '/var/lib/rpm'],
  ['zypper', 'sles15.4', '/usr/lib/sysimage/rpm'],
] as const;
type Tool = (typeof families)[number][0];

const labPackages = (...names: string[]): Wanted =>
  packagesFrom({ kind: 'directory', path: distribution.repository }, ...names);

function jobOf(tool: Tool, change: Partial<Recipe> = {}, packages = ['lab-tool', 'lab-kernel']): GenJob {
  const osvers = families.find(([name]) => name === tool)![1];
  const directory = join(temporary(), 'netboot', osvers, 'x86_64', 'compute');
  return genJob(directory, osvers, labPackages(...packages), change);
}

const built = new Map<Tool, Promise<string>>();

/** The job of an image that has been built: once for each tool, and copied for whoever begins with one. */
async function builtJob(tool: Tool): Promise<GenJob> {
  const buildFirst = async (): Promise<string> => {
    const directory = join(top, 'built', tool);
    await during((task) => gen({ ...jobOf(tool), directory }, task));
    return directory;
  };
  const first = built.get(tool) ?? buildFirst();
  built.set(tool, first);
  const job = jobOf(tool);
  mkdirSync(dirname(job.directory), { recursive: true });
  execFileSync('cp', ['-a', await first, job.directory]);
  return job;
}

const withPackages = (job: GenJob, ...packages: string[]): GenJob => ({
  ...job,
  recipe: { ...job.recipe, packages: labPackages(...packages) },
});

const names = async (directory: string): Promise<string[]> =>
  (await readManifest(directory))!.packages.map(({ name, version }) => `${name} ${version}`);

describe.each(families)('an image of RPM packages by %s', (tool, _osvers, database) => {
  it('has the packages, their scripts have run, and the distribution’s own rpm finds them', async () => {
    const job = jobOf(tool);
    expect(await during((task) => gen(job, task))).toMatchObject({ did: 'built', packages: 5 });
    const tree = join(job.directory, 'rootimg');
    expect(readFileSync(join(tree, 'usr/bin/lab-tool'), 'utf8')).toBe('1.0\n');
    expect(readFileSync(join(tree, 'etc/scriptlet-ran'), 'utf8')).toBe('post 1.0\n');
    expect(existsSync(join(tree, database, 'rpmdb.sqlite'))).toBe(true);
    expect(existsSync(join(tree, 'root/.rpmdb'))).toBe(false);
    expect(execFileSync('getcap', [join(tree, 'usr/bin/lab-ping')], { encoding: 'utf8' })).toContain('cap_net_raw=ep');
    expect(await names(job.directory)).toContain('lab-tool 1.0-1');
    expect(readdirSync(job.directory).sort()).toEqual([
      '.private',
      'initrd-stateless.gz',
      'kernel',
      'muster-image.json',
      'rootimg',
    ]);
    expect(readFileSync(join(job.directory, 'kernel'), 'utf8')).toBe('kernel\n');
    expect(readdirSync(join(job.directory, '..'))).toEqual(['compute']);
    expect(readdirSync(join(tree, 'dev'))).toEqual([]);
  });

  it('is not there if the disk became full, and is built when there is room', async () => {
    const full = inMemory(1);
    const job = { ...jobOf(tool), directory: join(full, 'netboot/compute') };
    const building = (kilobytes: number) => {
      execFileSync('mount', ['-o', `remount,size=${kilobytes}k`, full]);
      return during((task) => gen(job, task));
    };
    for (const kilobytes of [64, 1_024]) {
      expect(await refusal(building(kilobytes))).toMatch(/bytes left: that may be|no space left on the disk/);
      expect(readdirSync(full)).toEqual([]);
    }
    expect(await building(65_536)).toMatchObject({ did: 'built' });
  });

  it('is left alone if nothing has changed, and updated by the tool if the list has', async () => {
    const job = await builtJob(tool);
    const before = listing(job.directory);
    const again = directWork();
    expect(await during(() => gen(job, again), again)).toMatchObject({ did: 'nothing' });
    expect(again.programs).toEqual([]);
    expect(listing(job.directory)).toEqual(before);
    writeFileSync(join(job.directory, 'rootimg/etc/kept'), 'by an update');
    const changed = directWork();
    expect(await during(() => gen(withPackages(job, 'lab-kernel', 'lab-extra'), changed), changed)).toMatchObject({
      did: 'updated',
    });
    expect(changed.lines).toContain(`The tree is brought up to date by ${tool}: 1 to install, 1 to remove.`);
    const tree = join(job.directory, 'rootimg');
    expect(existsSync(join(tree, 'etc/kept'))).toBe(true);
    expect(existsSync(join(tree, 'usr/bin/lab-extra'))).toBe(true);
    expect(existsSync(join(tree, 'usr/bin/lab-tool'))).toBe(false);
  });

  it('gets what the repositories have newer', async () => {
    const repository = join(temporary(), 'repository');
    execFileSync('cp', ['-r', distribution.repository, repository]);
    const base = jobOf(tool);
    const sources = [{ kind: 'directory' as const, path: repository }];
    const job = { ...base, recipe: { ...base.recipe, packages: { ...base.recipe.packages, sources } } };
    await during((task) => gen(job, task));
    execFileSync('cp', ['-r', `${distribution.updates}/noarch`, repository]);
    execFileSync('createrepo_c', ['-q', '--update', repository], { stdio: 'ignore' });
    const task = directWork();
    expect(await during(() => gen(job, task), task)).toMatchObject({ did: 'updated' });
    expect(await names(job.directory)).toContain('lab-tool 2.0-1');
  });

  it.each([
    ['lab-broken', /lab-broken/],
    ['lab-needs-absent', /nowhere-to-be-found/],
    ['lab-absent', /lab-absent/],
  ])('is not made if %s is wanted, and the one before stays', async (name, sentence) => {
    const job = await builtJob(tool);
    const before = listing(job.directory);
    expect(await refusal(during((task) => gen(withPackages(job, 'lab-kernel', name), task)))).toMatch(sentence);
    expect(listing(job.directory)).toEqual(before);
    const fresh = jobOf(tool, {}, ['lab-kernel', name]);
    expect(await refusal(during((task) => gen(fresh, task)))).toMatch(sentence);
    expect(existsSync(join(fresh.directory, '../../../..', 'netboot'))).toBe(false);
  });
});

describe('building an image', () => {
  it('makes an initial RAM disk with the drivers that are wanted and what they need', async () => {
    const own = temporary();
    writeFileSync(join(own, 'mine.ko'), 'module mine');
    const job = jobOf('dnf', { netdrivers: ['e1000e.ko'], drivers: [own] });
    await during((task) => gen(job, task));
    const into = temporary();
    execFileSync('cpio', ['-id', '--quiet', '--no-absolute-filenames'], {
      cwd: into,
      input: gunzipSync(readFileSync(join(job.directory, 'initrd-stateless.gz'))),
    });
    const at = join(into, 'lib/modules/6.1.0');
    expect(readdirSync(join(at, 'kernel')).sort()).toEqual([
      'e1000e.ko',
      'loop.ko',
      'mii.ko',
      'overlay.ko',
      'squashfs.ko',
    ]);
    expect(readFileSync(join(at, 'modules.dep'), 'utf8')).toContain('kernel/e1000e.ko: kernel/mii.ko\n');
    expect(readFileSync(join(at, 'modules.alias'), 'utf8')).toBe('alias pci:v00008086d* e1000e\n');
    expect(readFileSync(join(at, 'updates/mine.ko'), 'utf8')).toBe('module mine');
    expect(readFileSync(join(into, 'etc/modules'), 'utf8')).toBe(
      'squashfs\noverlay\nloop\ne1000e.ko\nmine\n'.replace('.ko', ''),
    );
    expect(execFileSync(join(into, 'bin/busybox'), ['sh', '-n', join(into, 'init')], { encoding: 'utf8' })).toBe('');
    expect(execFileSync(join(into, 'bin/busybox'), ['sha256sum', join(into, 'init')], { encoding: 'utf8' })).toContain(
      'init',
    );
  });

  it('refuses drivers, kernels and packages of kernels that are not there', async () => {
    expect(await refusal(during((task) => gen(jobOf('dnf', { netdrivers: ['nocard'] }), task)))).toContain(
      'no driver nocard',
    );
    expect(await refusal(during((task) => gen(jobOf('dnf', { kernelver: '7' }), task)))).toContain('it has 6.1.0');
    expect(await refusal(during((task) => gen(jobOf('dnf', {}, ['lab-tool']), task)))).toContain('has no kernel');
  });

  it('runs the site’s scripts in the tree, with what lies beside them', async () => {
    const scripts = temporary();
    const script = join(scripts, 'finish');
    const busybox = '/bin/busybox';
    // The tree has no shell; the script brings its own.
    execFileSync('cp', [busybox, join(scripts, 'busybox')]);
    writeFileSync(
      script,
      `#!/run/muster/0/busybox sh\necho "$@" > /etc/postinstall-ran\n/run/muster/0/busybox ls /proc/1 > /etc/proc\n[ -c /dev/null ] && echo told\n`,
    );
    chmodSync(script, 0o755);
    const task = directWork();
    const job = jobOf('dnf', { postinstall: [{ path: script, sha256: await hashFile(script) }] });
    await during(() => gen(job, task), task);
    expect(readFileSync(join(job.directory, 'rootimg/etc/postinstall-ran'), 'utf8')).toBe(
      `/ rocky9 ${job.osarch} compute /run/muster/0\n`,
    );
    expect(task.lines).toContain('told');
    writeFileSync(script, '#!/run/muster/0/busybox sh\nexit 3\n');
    expect(await refusal(during((work) => gen({ ...job, anew: true }, work)))).toContain('was changed just now');
    const failing = {
      ...job,
      recipe: { ...job.recipe, postinstall: [{ path: script, sha256: await hashFile(script) }] },
    };
    expect(await refusal(during((work) => gen(failing, work)))).toContain('ended with code 3');
    expect(existsSync(join(job.directory, 'rootimg/etc/postinstall-ran'))).toBe(true);
  });

  it('never replaces a tree that muster did not make', async () => {
    const job = jobOf('dnf');
    mkdirSync(join(job.directory, 'rootimg'), { recursive: true });
    expect(await refusal(during((task) => gen(job, task)))).toContain('muster did not make it');
  });

  it.each(['unshare', 'rpm', 'cp'])('leaves what was there if it is cancelled while %s runs', async (program) => {
    const job = await builtJob('dnf');
    const before = listing(join(job.directory, '..'));
    const task = directWork({ onProgram: ([word]) => void (word === program && setImmediate(() => task.cancel())) });
    await expect(during(() => gen(withPackages(job, 'lab-kernel', 'lab-extra'), task), task)).rejects.toThrow();
    expect(listing(join(job.directory, '..'))).toEqual(before);
  });

  it('two at once do not disturb each other', async () => {
    const [one, two] = [jobOf('dnf'), jobOf('dnf', {}, ['lab-extra', 'lab-kernel'])];
    await Promise.all([during((task) => gen(one, task)), during((task) => gen(two, task))]);
    expect(await names(one.directory)).toContain('lab-tool 1.0-1');
    expect(await names(two.directory)).toContain('lab-extra 1.0-1');
    expect(await names(two.directory)).not.toContain('lab-tool 1.0-1');
  });

  it('two images with one directory: the first one that is built has it', async () => {
    const job = jobOf('dnf');
    const jobs = [job, { ...job, image: 'other' }];
    const ended = await Promise.allSettled(jobs.map((each) => during((task) => gen(each, task))));
    const [won, lost] = ended[0]!.status === 'fulfilled' ? [0, 1] : [1, 0];
    expect(ended[won]!.status).toBe('fulfilled');
    expect(String((ended[lost] as PromiseRejectedResult).reason)).toMatch(
      /Another request changed|Another request made|belongs to the image/,
    );
    expect((await readManifest(job.directory))!.image).toBe(jobs[won]!.image);
  });

  it('is undone by removing the image', async () => {
    const job = await builtJob('zypper');
    await during((task) => remove(job, task));
    expect(existsSync(job.directory)).toBe(false);
  });
});

describe('a program in an image', () => {
  const setUp = async () => {
    const job = await builtJob('dnf');
    execFileSync('cp', ['/bin/busybox', join(job.directory, 'rootimg/usr/bin/busybox')]);
    return job;
  };
  const busybox = (...words: string[]): string[] => ['/usr/bin/busybox', ...words];

  it('works in the tree alone, with processes and a network of its own, and is noted', async () => {
    const job = await setUp();
    const script =
      'echo x > /etc/mended; ls /proc | grep -c "^[0-9]"; ls /sys/class/net; hostname lab; mount -t tmpfs t /tmp || echo no';
    const task = directWork();
    const made = await during(() => run({ ...job, command: busybox('sh', '-c', script), network: false }, task), task);
    expect(readFileSync(join(job.directory, 'rootimg/etc/mended'), 'utf8')).toBe('x\n');
    expect(made.lines[1]).toBe('lo');
    expect(task.lines).toEqual(expect.arrayContaining(made.lines as string[]));
    expect((await readManifest(job.directory))!.runs).toMatchObject([
      { command: busybox('sh', '-c', script), made: { by: 'root' } },
    ]);
    expect(execFileSync('hostname', { encoding: 'utf8' })).not.toBe('lab\n');
    expect(readdirSync(join(job.directory, 'rootimg/proc'))).toEqual([]);
  });

  it('that fails changes nothing', async () => {
    const job = await setUp();
    const before = listing(job.directory);
    const script = 'echo x >> /etc/lab.conf; rm /usr/bin/lab-tool; exit 4';
    const command = busybox('sh', '-c', script);
    expect(await refusal(during((task) => run({ ...job, command, network: false }, task)))).toContain('code 4');
    expect(listing(job.directory)).toEqual(before);
    expect(readFileSync(join(job.directory, 'rootimg/etc/lab.conf'), 'utf8')).toBe('v=1.0\n');
    expect(await refusal(during((task) => run({ ...job, command: ['/absent'], network: false }, task)))).toContain(
      '/absent',
    );
  });

  it('leaves nothing running', async () => {
    const job = await setUp();
    const command = busybox('sh', '-c', 'busybox sleep 7654321 > /dev/null 2>&1 &');
    await during((task) => run({ ...job, command, network: false }, task));
    const all = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(all).not.toContain('sleep 7654321');
  });

  it('is followed by a build from the beginning, which forgets it', async () => {
    const job = await setUp();
    await during((task) => run({ ...job, command: busybox('true'), network: false }, task));
    expect(await during((task) => gen(withPackages(job, 'lab-kernel'), task))).toMatchObject({ did: 'built' });
    expect((await readManifest(job.directory))!.runs).toEqual([]);
  });
});
