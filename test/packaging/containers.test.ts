import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { baseRecipe, makeBase, ociImage } from '../../scripts/package/image.ts';
import { ownArchitecture } from '../../scripts/package/native.ts';
import { rpmPackages } from '../../scripts/package/rpm.ts';
import { version as number } from '../../src/version.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { Container } from '../lab/container.ts';
import { keptOnce } from '../lab/kept.ts';

const [older, newer] = ['0.1.0~git20260101000000.00000001', '0.1.0~git20260102000000.00000002'] as const;

let directory: string;
let base: string;
beforeAll(async () => {
  directory = temporaryDirectory();
  const key = createHash('sha256').update(baseRecipe.join()).digest('hex').slice(0, 12);
  base = await keptOnce(`package-base-${ownArchitecture}-${key}`, async (building) => {
    const file = join(building, 'base.tar');
    makeBase(file);
    return file;
  });
}, 600_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const options = (version: string) => ({ version, directory: join(directory, 'made'), fast: true });

describe('the image', { timeout: 600_000 }, () => {
  let bundle: string;
  let volume: string;
  let container: Container | undefined;
  const inBundle = (path: string): string => join(bundle, 'rootfs', path);

  beforeAll(() => {
    const file = ociImage(ownArchitecture, options(newer), base);
    const layout = join(directory, 'layout');
    execFileSync('skopeo', ['copy', '--quiet', `oci-archive:${file}`, `oci:${layout}:muster`]);
    bundle = join(directory, 'bundle');
    execFileSync('umoci', ['unpack', '--image', `${layout}:muster`, bundle], { stdio: 'ignore' });
    volume = join(directory, 'volume');
    mkdirSync(volume);
  }, 600_000);
  afterAll(async () => void (await container?.stop()));

  const start = async (): Promise<Container> => {
    const { process } = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')) as {
      process: { args: string[]; env: string[] };
    };
    container = await Container.start({
      tree: inBundle(''),
      volume: [volume, '/var/lib/muster'],
      words: process.args,
      variables: process.env,
      log: join(directory, 'log'),
    });
    await expect
      .poll(() => (/muster ready|muster: /.test(container!.output) ? container!.output : ''), { timeout: 300_000 })
      .toMatch(/^muster ready https:\/\/\S+:8443\/muster$/m);
    return container;
  };

  it('says what an engine of containers has to know', () => {
    const { process, mounts } = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')) as {
      process: { args: string[] };
      mounts: { destination: string }[];
    };
    expect(process.args).toEqual(['/usr/bin/muster', 'serve']);
    expect(mounts.map(({ destination }) => destination)).toContain('/var/lib/muster');
  });

  it('has no unit, and no file that is not root’s', () => {
    expect(existsSync(inBundle('lib/systemd/system/muster.service'))).toBe(false);
    expect([statSync(inBundle('usr/lib/muster/dist/main.js')), statSync(inBundle('etc/muster/muster.toml'))]).toEqual([
      expect.objectContaining({ uid: 0, gid: 0 }),
      expect.objectContaining({ uid: 0, gid: 0, mode: 0o100640 }),
    ]);
  });

  it('serves, stops cleanly, and has its data again when it is started on the same volume', async () => {
    const first = await start();
    expect(first.run('muster', 'mkdef', '-t', 'node', 'n1-n3', 'groups=rack1').code).toBe(0);
    expect(first.run('muster', 'nodels')).toEqual({ code: 0, text: 'n1\nn2\nn3\n' });
    expect(first.run('muster', 'backup', '/tmp/saved.tar')).toEqual({ code: 0, text: '' });
    expect(await first.stop()).toBe(0);
    expect(existsSync(join(volume, 'muster.sqlite-wal'))).toBe(false);
    const second = await start();
    expect(second.run('muster', 'nodels', 'rack1')).toEqual({ code: 0, text: 'n1\nn2\nn3\n' });
    expect(await second.stop()).toBe(0);
  });
});

describe('the package for RPM', { timeout: 600_000 }, () => {
  let root: string;
  let packages: Readonly<Record<string, readonly string[]>>;
  /** What Debian has installed is unknown to RPM. */
  const rpm = (...words: string[]): { status: number | null; text: string } => {
    const { status, stdout, stderr } = spawnSync('rpm', ['--root', root, '--nodeps', ...words], { encoding: 'utf8' });
    return { status, text: stdout + stderr };
  };
  const inside = (...words: string[]): string =>
    execFileSync('chroot', [root, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', ...words], { encoding: 'utf8' });

  beforeAll(() => {
    packages = Object.fromEntries(
      [older, newer].map((version) => [version, rpmPackages(ownArchitecture, options(version))]),
    );
    root = join(directory, 'root');
    mkdirSync(root);
    execFileSync('tar', ['-xf', base, '-C', root]);
  }, 600_000);

  it('says what it needs', () => {
    const needs = execFileSync('rpm', ['-qpR', packages[older]![0]!], { encoding: 'utf8' }).split('\n');
    expect(needs).toEqual(expect.arrayContaining(['glibc >= 2.28', 'libstdc++']));
    const [, commands] = packages[older]!;
    expect(execFileSync('rpm', ['-qpR', commands!], { encoding: 'utf8' })).toContain(`muster = ${older}-1`);
    expect(execFileSync('rpm', ['-qp', '--conflicts', commands!], { encoding: 'utf8' })).toContain('xCAT');
  });

  it('installs a program that runs, a unit, pages and completion, and all is as it was packed', () => {
    expect(rpm('--install', ...packages[older]!)).toMatchObject({ status: 0 });
    expect(inside('muster', '--version')).toBe(`${number}\n`);
    expect(inside('rpower', '--help')).toContain('Usage: rpower');
    const files = [
      'usr/lib/systemd/system/muster.service',
      'etc/pam.d/muster',
      'usr/share/man/man1/rpower.1.gz',
      'usr/share/bash-completion/completions/muster',
      'usr/share/zsh/site-functions/_muster',
    ];
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(statSync(join(root, 'var/lib/muster')).mode & 0o7777).toBe(0o700);
    expect(statSync(join(root, 'etc/muster/muster.toml')).mode & 0o7777).toBe(0o640);
    expect(rpm('--verify', 'muster', 'muster-xcat-commands')).toEqual({ status: 0, text: '' });
  });

  it('keeps changed settings and the data in an upgrade, and an older one is refused', () => {
    const settings = join(root, 'etc/muster/muster.toml');
    writeFileSync(settings, 'data = "/var/lib/muster"\n');
    inside('muster', 'sshkey');
    expect(rpm('--upgrade', ...packages[newer]!)).toMatchObject({ status: 0 });
    expect(readFileSync(settings, 'utf8')).toBe('data = "/var/lib/muster"\n');
    expect(execFileSync('rpm', ['--root', root, '--query', 'muster'], { encoding: 'utf8' })).toContain(newer);
    const refused = rpm('--upgrade', ...packages[older]!);
    expect(refused.status).not.toBe(0);
    expect(refused.text).toContain('is already installed');
  });

  it('leaves the data when it is removed', () => {
    const { status, text } = rpm('--erase', 'muster', 'muster-xcat-commands');
    expect([status, text]).toEqual([0, expect.stringContaining('The data of muster stay in /var/lib/muster.')]);
    expect(existsSync(join(root, 'usr/lib/muster'))).toBe(false);
    expect(existsSync(join(root, 'var/lib/muster/ssh'))).toBe(true);
  });
});
