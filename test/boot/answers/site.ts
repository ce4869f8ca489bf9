import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Snapshot } from '../../../src/database/snapshot.ts';
import type { Row } from '../../../src/database/tables.ts';
import { familyOf } from '../../../src/objects/distributions.ts';
import { effectiveReader } from '../../../src/objects/effective.ts';
import { answerFiles } from '../../../src/boot/answers/answer-files.ts';
import { installBoot } from '../../../src/boot/answers/install-boot.ts';
import { ImagePaths } from '../../../src/images/paths.ts';
import { Sources } from '../../../src/access/file-sources.ts';
import { shippedImageFiles } from '../../../src/core/home.ts';
import { imageNamed } from '../../../src/objects/node-image.ts';
import { snapshotOf } from '../../harness/snapshot.ts';
import { scratchDirectory } from '../../harness/store.ts';

export const hash = '$6$saltsalt$' + 'a'.repeat(86);
export const publicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHc muster@management';
export const token = 'tOkEn-_0123456789abcdef';

type Tables = Readonly<Record<string, readonly Row[]>>;

/** A site with one node, one image of an operating system, and files in a directory for installing. */
export class Site {
  readonly installdir = scratchDirectory();
  readonly paths: ImagePaths;
  readonly os: string;
  readonly tree: string;

  constructor(os: string) {
    this.os = os;
    this.tree = join(this.installdir, os, 'x86_64');
    mkdirSync(this.tree, { recursive: true });
    const data = scratchDirectory();
    this.paths = new ImagePaths([], data, new Sources([], data, [shippedImageFiles]));
  }

  get #pkglist(): string {
    const family = { dnf: 'redhat', zypper: 'suse', apt: /^[a-z]+/.exec(this.os)![0] }[familyOf(this.os)];
    return join(shippedImageFiles, family, `install/compute.${family}.pkglist`);
  }

  /** Below the directory for installing. */
  file(path: string, text: string): string {
    const full = join(this.installdir, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  snapshot({ image = {}, site = {}, tables = {} }: Given = {}): Snapshot {
    const settings: Record<string, string> = {
      installdir: this.installdir,
      domain: 'cluster.example',
      timezone: 'Europe/Vienna',
      ntpservers: '10.0.0.254,time.example',
      nameservers: '10.0.0.254',
      ...site,
    };
    return snapshotOf({
      site: Object.entries(settings).map(([key, value]) => ({ key, value })),
      nodelist: [{ node: 'n1', groups: 'all' }],
      nodetype: [{ node: 'n1', provmethod: 'img', os: this.os, arch: 'x86_64', profile: 'compute' }],
      hosts: [{ node: 'n1', ip: '10.0.0.5' }],
      mac: [{ node: 'n1', mac: '0a:0b:0c:0d:0e:0f' }],
      networks: [{ netname: 'net', net: '10.0.0.0', mask: '255.255.255.0', gateway: '10.0.0.1' }],
      osimage: [
        {
          imagename: 'img',
          osvers: this.os,
          osarch: 'x86_64',
          profile: 'compute',
          provmethod: 'install',
          imagetype: 'linux',
        },
      ],
      linuximage: [{ imagename: 'img', pkgdir: this.tree, pkglist: this.#pkglist, ...image }],
      ...tables,
    });
  }

  async answers(given: Given = {}): Promise<Record<string, string>> {
    const snapshot = this.snapshot(given);
    const image = imageNamed(effectiveReader(snapshot), 'img');
    const { paths } = this;
    const access = { rootPassword: 'rootPassword' in given ? given.rootPassword : hash, publicKey };
    const files = await answerFiles({
      snapshot,
      paths,
      node: 'n1',
      image,
      server: '10.0.0.254:8080',
      token,
      ...access,
    });
    return Object.fromEntries(files.map(({ name, text }) => [name, text]));
  }

  /** What the template makes of it. */
  async rendered(template: string, given: Given = {}): Promise<string> {
    const path = this.file('custom/own.tmpl', template);
    const files = await this.answers({ ...given, image: { template: path, ...given.image } });
    return Object.values(files)[0]!;
  }

  boot(given: Given = {}, server = '10.0.0.254:8080') {
    const snapshot = this.snapshot(given);
    const image = imageNamed(effectiveReader(snapshot), 'img');
    return installBoot({ snapshot, paths: this.paths, node: 'n1', image, server, token });
  }
}

interface Given {
  readonly image?: Readonly<Record<string, string>>;
  readonly site?: Readonly<Record<string, string>>;
  readonly tables?: Tables;
  readonly rootPassword?: string | undefined;
}

/** One of each kind of installer. */
export const systems = ['rocky9.6', 'debian12.12', 'ubuntu24.04.3', 'sles15.6'] as const;
