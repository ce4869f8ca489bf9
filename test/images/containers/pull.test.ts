import { execFileSync } from 'node:child_process';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readManifest } from '../../../src/images/manifest.ts';
import { BlobCache } from '../../../src/images/containers/fetch-layers.ts';
import type { PullJob } from '../../../src/images/containers/pull-job.ts';
import { work } from '../../../src/images/containers/pull.ts';
import { directWork, type DirectWork } from '../../harness/work.ts';
import { sha256, writeLayout } from '../../lab/oci/layout.ts';
import { isBlob, type RoughRegistry, startRoughRegistry } from '../../lab/oci/rough-registry.ts';
import { directory, file, symbolicLink, type TestEntry } from '../../lab/oci/tar.ts';
import { during, refusal, temporary } from '../small-image.ts';

const release = 'NAME="Debian"\nID=debian\nVERSION_ID="12"\n';
const status = 'Package: base-files\nStatus: install ok installed\nArchitecture: amd64\nVersion: 12.4\n';
const system: TestEntry[] = [
  directory('etc'),
  symbolicLink('etc/os-release', '../usr/lib/os-release'),
  file('usr/lib/os-release', release),
  symbolicLink('lib', 'usr/lib'),
  file('var/lib/dpkg/status', status),
];
const kernelVersion = '6.1.0-lab';
const kernel: TestEntry[] = [
  file(`boot/vmlinuz-${kernelVersion}`, 'a kernel'),
  file(`usr/lib/modules/${kernelVersion}/modules.dep`, ''),
  file(`usr/lib/modules/${kernelVersion}/modules.builtin`, ''),
];

const osarch = process.arch === 'x64' ? 'x86_64' : 'aarch64';

let top: string;
let job: PullJob;
beforeEach(() => {
  top = temporary();
  for (const name of ['install', 'registry', 'blobs']) mkdirSync(join(top, name));
  job = {
    image: 'web',
    by: 'root',
    from: { kind: 'file', path: join(top, 'registry/deb') },
    osarch,
    profile: 'web',
    installDirectory: join(top, 'install'),
    anew: false,
    blobs: join(top, 'blobs'),
    directories: [],
    limits: { bytes: 64 << 20, entries: 10_000 },
  };
});

const layout = (layers: readonly (readonly TestEntry[])[], name = 'deb'): string =>
  writeLayout(join(top, 'registry', name), layers);
const place = (name = 'web'): string => join(top, 'install/netboot/debian12', osarch, name);
const run = (given: PullJob, task?: DirectWork) => during((each) => work(given, each), task);
/** All that is left below the directories that may be written. */
const everything = (): string[] => ['install', 'blobs'].flatMap((name) => readdirSync(join(top, name)));

describe('an image made of a container in a file', () => {
  it('has its tree, its packages, and a manifest that says where it is from', async () => {
    const digest = layout([system, [file('etc/motd', 'hello\n')]]);
    const made = await run(job);
    expect(made).toEqual({
      did: 'made',
      image: 'web',
      attributes: {
        imagetype: 'linux',
        osname: 'Linux',
        provmethod: 'netboot',
        osvers: 'debian12',
        osarch,
        profile: 'web',
        rootimgdir: place(),
      },
    });
    expect(readFileSync(join(place(), 'rootimg/etc/motd'), 'utf8')).toBe('hello\n');
    expect(await readManifest(place())).toMatchObject({
      image: 'web',
      source: {
        kind: 'container',
        reference: 'deb',
        digest,
        layers: [expect.stringMatching(/^sha256:/), expect.stringMatching(/^sha256:/)],
      },
      packages: [{ name: 'base-files', version: '12.4', arch: 'amd64' }],
      runs: [],
      packs: [],
    });
    expect(everything()).toEqual(['netboot']);
  });

  it('stays as it is if the container is the same, and is replaced if not', async () => {
    layout([system]);
    await run(job);
    const existing = { ...job, directory: place() };
    const before = statSync(join(place(), 'rootimg')).ino;
    const task = directWork();
    expect((await run(existing, task)).did).toBe('nothing');
    expect(task.lines).toContain('The image web is up to date and stays as it is.');
    expect(statSync(join(place(), 'rootimg')).ino).toBe(before);
    expect((await run({ ...existing, anew: true })).did).toBe('made');
    layout([[...system, file('etc/new')]]);
    expect((await run(existing)).did).toBe('made');
    expect(existsSync(join(place(), 'rootimg/etc/new'))).toBe(true);
    expect(readdirSync(place()).sort()).toEqual(['.private', 'muster-image.json', 'rootimg']);
  });

  it('boots with the kernel of its tree', async () => {
    layout([[...system, ...kernel]]);
    await run(job);
    expect(readFileSync(join(place(), 'kernel'), 'utf8')).toBe('a kernel');
    expect(await readManifest(place())).toMatchObject({
      kernel: kernelVersion,
      files: ['kernel', 'initrd-stateless.gz'],
    });
    expect(statSync(join(place(), 'initrd-stateless.gz')).size).toBeGreaterThan(1_000);
  });

  it("boots with another image's kernel, whose modules it gets", async () => {
    layout([[...system, ...kernel]]);
    await run(job);
    layout([system], 'small');
    const from = { kind: 'file', path: join(top, 'registry/small') } as const;
    const given = { ...job, from, image: 'small', profile: 'small' };
    const task = directWork();
    await run(given, task);
    expect(task.lines.join()).toContain('It has no kernel');
    await run({ ...given, directory: place('small'), kernel: { image: 'web', directory: place() } });
    expect(readFileSync(join(place('small'), 'kernel'), 'utf8')).toBe('a kernel');
    expect(readdirSync(join(place('small'), 'rootimg/usr/lib/modules', kernelVersion))).toContain('modules.dep');
    const none = {
      ...given,
      directory: place('small'),
      anew: true,
      kernel: { image: 'small', directory: join(top, 'none') },
    };
    expect(await refusal(run(none))).toBe('The image small has no kernel with modules that could be taken.');
  });

  it('needs a name for its operating system', async () => {
    layout([[file('etc/os-release', 'ID="../../x"\n')]]);
    expect(await refusal(run(job))).toContain('give the parameter osvers');
    expect(everything()).toEqual([]);
    await run({ ...job, osvers: 'debian12' });
    expect(existsSync(place())).toBe(true);
  });

  it('is not put where something else lies', async () => {
    layout([system]);
    mkdirSync(place(), { recursive: true });
    writeFileSync(join(place(), 'mine'), '');
    expect(await refusal(run(job))).toContain('exists and muster did not make it');
    expect(readdirSync(place())).toEqual(['mine']);
    await run({ ...job, profile: 'other' });
    expect(await refusal(run({ ...job, image: 'second', profile: 'other' }))).toContain('belongs to the image web');
  });

  it('leaves nothing if a layer is spoiled or the disk is full', async () => {
    writeLayout(join(top, 'registry/deb'), [system, [file('x')]], {
      config: ({ config }) => void (config.rootfs.diff_ids[1] = sha256('no')),
    });
    expect(await refusal(run(job))).toContain('Layer 2 of deb holds something else');
    expect(everything()).toEqual([]);
    layout([system, [file('big', Buffer.alloc(8 << 20, 'x'))]], 'big');
    const install = join(top, 'small');
    mkdirSync(install);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', install]);
    try {
      const full = {
        ...job,
        installDirectory: install,
        from: { kind: 'file', path: join(top, 'registry/big') } as const,
      };
      expect(await refusal(run(full))).toContain('no space left');
      expect(readdirSync(install)).toEqual([]);
    } finally {
      execFileSync('umount', [install]);
    }
  });

  it('is the same from umoci, by skopeo as a docker archive, and from a layout', async () => {
    const tree = join(top, 'tree');
    for (const name of ['etc', 'usr/bin', 'usr/lib']) mkdirSync(join(tree, name), { recursive: true });
    writeFileSync(join(tree, 'usr/lib/os-release'), release);
    execFileSync('cp', ['-a', '/bin/ls', '/usr/bin/env', join(tree, 'usr/bin')]);
    execFileSync('ln', [join(tree, 'usr/bin/ls'), join(tree, 'usr/bin/dir')]);
    execFileSync('setfattr', ['-n', 'user.lab', '-v', 'x', join(tree, 'usr/bin/ls')]);
    const umoci = join(top, 'registry/umoci');
    execFileSync('umoci', ['init', '--layout', umoci]);
    execFileSync('umoci', ['new', '--image', `${umoci}:t`]);
    execFileSync('umoci', ['insert', '--image', `${umoci}:t`, tree, '/']);
    const docker = join(top, 'registry/a.docker.tar');
    execFileSync('skopeo', ['--insecure-policy', 'copy', '-q', `oci:${umoci}:t`, `docker-archive:${docker}:a:1`]);
    for (const [name, path] of Object.entries({ umoci, docker })) {
      await run({ ...job, image: name, profile: name, from: { kind: 'file', path } });
      execFileSync('diff', ['-r', '--no-dereference', tree, `${place(name)}/rootimg/.`]);
      const made = join(place(name), 'rootimg/usr/bin');
      expect(statSync(join(made, 'ls')).ino).toBe(statSync(join(made, 'dir')).ino);
      const value = execFileSync('getfattr', ['--only-values', '-n', 'user.lab', 'ls'], {
        cwd: made,
        encoding: 'utf8',
      });
      expect(value).toBe('x');
    }
  });
});

describe('an image made of a container in a registry', () => {
  let registry: RoughRegistry;
  let remote: PullJob;
  beforeEach(async () => {
    registry = await startRoughRegistry(join(top, 'registry'));
    remote = {
      ...job,
      from: {
        kind: 'registry',
        reference: `${registry.address}/deb:t`,
        registries: [],
        insecureRegistries: [registry.address],
      },
    };
  });
  afterEach(() => registry.stop());

  const layersAsked = (): number => registry.requests.filter(isBlob).length;
  const from = (name: string): PullJob['from'] =>
    ({ ...remote.from, reference: `${registry.address}/${name}:t` }) as PullJob['from'];

  it('keeps its layers, which other images share', async () => {
    layout([system, [file('a')]]);
    layout([system, [file('b')]], 'other');
    await run(remote);
    const kept = readdirSync(join(top, 'blobs'));
    // Whatever may be in them, only root reads it.
    expect(kept.map((name) => statSync(join(top, 'blobs', name)).mode & 0o777)).toEqual([0o600, 0o600]);
    registry.requests.length = 0;
    const task = directWork();
    await run({ ...remote, image: 'other', profile: 'other', from: from('other') }, task);
    // The configuration and the one layer that is new.
    expect(layersAsked()).toBe(2);
    expect(task.lines.join()).toContain('is here already');
    expect(readFileSync(join(place('other'), 'rootimg/b'), 'utf8')).toBe('x\n');
  });

  it('does not trust a kept layer that was changed', async () => {
    layout([system]);
    await run(remote);
    const [blob] = readdirSync(join(top, 'blobs'));
    const path = join(top, 'blobs', blob!);
    const bytes = readFileSync(path);
    bytes[20]! ^= 1;
    writeFileSync(path, bytes);
    await run({ ...remote, directory: place(), anew: true });
    expect(sha256(readFileSync(path))).toBe(`sha256:${blob}`);
  });

  it('drops layers that no image is made from, unless they are young', async () => {
    layout([system]);
    await run(remote);
    const [first] = readdirSync(join(top, 'blobs'));
    layout([[...system, file('new')]], 'second');
    const second = { ...remote, image: 'second', profile: 'second', from: from('second') };
    await run(second);
    expect(readdirSync(join(top, 'blobs')).length).toBe(2);
    utimesSync(join(top, 'blobs', first!), 1, 1);
    await run({ ...second, directory: place('second'), anew: true, directories: [place()] });
    expect(readdirSync(join(top, 'blobs')).length).toBe(2);
    utimesSync(join(top, 'blobs', first!), 1, 1);
    await run({ ...second, directory: place('second'), anew: true });
    expect(readdirSync(join(top, 'blobs'))).not.toContain(first);
  });

  it('leaves nothing if a layer is not what it should be', async () => {
    layout([system, [file('a')]]);
    registry.trick = (request, response, body) => {
      if (!isBlob(request) || body[0] !== 0x1f) return undefined;
      const other = Buffer.from(body);
      other[20]! ^= 1;
      response.writeHead(200).end(other);
      return true;
    };
    expect(await refusal(run(remote))).toContain('sent something else');
    expect(registry.requests.filter(isBlob).length).toBeGreaterThan(1);
    expect(everything()).toEqual([]);
  });

  it('leaves nothing if it is cancelled while a layer comes', async () => {
    layout([[...system, file('big', Buffer.alloc(1 << 20, 'x'))]]);
    const task = directWork();
    registry.trick = (request, response, body) => {
      if (!isBlob(request) || body[0] !== 0x1f) return undefined;
      response.write(body.subarray(0, 500), () => setImmediate(() => task.cancel()));
      return true;
    };
    await expect(run(remote, task)).rejects.toThrow('aborted');
    expect(everything()).toEqual([]);
  });

  it('leaves nothing if it is cancelled while a layer is applied', async () => {
    layout([system, [file('a')]]);
    const task = directWork();
    const cancelling = { ...task, tell: (line: string) => (line.startsWith('Layer 1') ? task.cancel() : undefined) };
    await expect(run(remote, cancelling)).rejects.toThrow('aborted');
    expect(readdirSync(join(top, 'install'))).toEqual([]);
  });
});

describe('kept layers', () => {
  it('are refused as too short, too long or others', async () => {
    const cache = new BlobCache(join(top, 'blobs'));
    const path = join(top, 'some');
    writeFileSync(path, 'content');
    const digest = sha256('content');
    const staging = (): string => {
      const made = join(top, `staging${Math.random()}`);
      mkdirSync(made);
      return made;
    };
    const keep = (size: number, named = digest) =>
      cache.keep({ digest: named, size }, createReadStream(path), staging());
    expect(await refusal(keep(6))).toContain('sent something else');
    expect(await refusal(keep(8))).toContain('sent something else');
    expect(await refusal(keep(7, sha256('other')))).toContain('sent something else');
    const { signal } = new AbortController();
    expect(await cache.has({ digest, size: 7 }, signal)).toBe(false);
    await keep(7);
    expect(await cache.has({ digest, size: 7 }, signal)).toBe(true);
    expect(await cache.has({ digest, size: 6 }, signal)).toBe(false);
    expect(readdirSync(join(top, 'blobs'))).toEqual([]);
  });
});
