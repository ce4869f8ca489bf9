import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { debianMirror } from './debian-mirror.ts';

const suite = 'trixie';
const indexes = { packages: 'main/binary-amd64/Packages', components: 'main/debian-installer/binary-amd64/Packages' };

/** What a Debian system with LVM and GRUB is made of beside what is required, and what the installer asks for in it. */
const wanted =
  'apt linux-image-amd64 busybox zstd grub-pc os-prober lvm2 initramfs-tools systemd-sysv tasksel laptop-detect locales console-setup keyboard-configuration ' +
  'debconf-i18n ifupdown isc-dhcp-client dhcpcd-base iproute2 netbase kmod udev eject installation-report bzip2 ' +
  'openssh-server chrony rsync curl ca-certificates rsyslog';

/** Components that the installer has in itself, and those of screens, sound and radio. */
const unneeded =
  /^(kernel-image|nic-|usb-|sound-|speakup-|drm-|fb-|input-|font|xserver|libx|libgtk|libgdk|libpango|libcairo|matchbox|wireless|brltty|espeak|debian-edu|libvte|at-spi)/;

type Stanza = ReadonlyMap<string, string> & { readonly text: string };

function parseIndex(text: string): Stanza[] {
  return text
    .split('\n\n')
    .filter((each) => each.trim() !== '')
    .map((each) => {
      const fields = each.matchAll(/^([\w-]+): (.*)$/gm).map(([, name, value]): [string, string] => [name!, value!]);
      return Object.assign(new Map(fields), { text: each.trim() });
    });
}

/**
 * A mirror of Debian 13 as small as its installer allows, with the installer itself in `netboot`. Components that this machine's mirror
 * lists and does not hand out are packed here from the packages with the same programs. What was made before is used again.
 */
export class DebianInstallerMirror {
  readonly #directory: string;
  readonly #from = debianMirror();
  readonly #log: (line: string) => void;

  constructor(directory: string, log: (line: string) => void) {
    this.#directory = directory;
    this.#log = log;
  }

  get tree(): string {
    return join(this.#directory, 'tree');
  }

  get netboot(): string {
    return join(this.#directory, 'netboot');
  }

  async make(): Promise<void> {
    if (existsSync(join(this.tree, 'dists', suite, 'Release'))) return;
    mkdirSync(this.netboot, { recursive: true });
    const packages = parseIndex(gunzipSync(await this.#got(`dists/${suite}/${indexes.packages}.gz`)).toString());
    const components = parseIndex(gunzipSync(await this.#got(`dists/${suite}/${indexes.components}.gz`)).toString());
    const kernel = await this.#fetchInstaller(packages);
    const taken = await this.#components(components, packages, kernel);
    this.#write({ [indexes.packages]: this.#packages(packages), [indexes.components]: taken });
  }

  async #got(path: string): Promise<Buffer> {
    const found = await this.#find(path);
    if (!found) throw new Error(`${this.#from} does not hand out ${path}.`);
    return found;
  }

  async #find(path: string): Promise<Buffer | undefined> {
    const reply = await fetch(`${this.#from}/${path}`);
    if (reply.status === 404) return undefined;
    if (!reply.ok) throw new Error(`${path}: HTTP status ${reply.status}`);
    return Buffer.from(await reply.arrayBuffer());
  }

  #named(packages: readonly Stanza[], name: string): Stanza {
    const found = packages.find((each) => each.get('Package') === name);
    if (!found) throw new Error(`${this.#from} has no package ${name}.`);
    return found;
  }

  /** The files of a package of the mirror, in a directory of their own. */
  async #unpacked(stanza: Stanza): Promise<string> {
    const directory = mkdtempSync(join(this.#directory, 'unpacked-'));
    const file = join(directory, 'package');
    writeFileSync(file, await this.#got(stanza.get('Filename')!));
    execFileSync('dpkg-deb', ['-x', file, join(directory, 'files')]);
    return join(directory, 'files');
  }

  /** Kernel and initial RAM disk; answers the version of that kernel. */
  async #fetchInstaller(packages: readonly Stanza[]): Promise<string> {
    this.#log('fetching the installer');
    const files = await this.#unpacked(this.#named(packages, 'debian-installer-13-netboot-amd64'));
    const from = join(files, 'usr/lib/debian-installer/images/13/amd64/text/debian-installer/amd64');
    for (const name of ['linux', 'initrd.gz']) execFileSync('cp', [join(from, name), this.netboot]);
    rmSync(dirname(files), { recursive: true });
    const names = execFileSync('cpio', ['--quiet', '-t'], {
      input: gunzipSync(readFileSync(join(this.netboot, 'initrd.gz'))),
      maxBuffer: 2 ** 26,
    }).toString();
    const [, version] = /\blib\/modules\/([^/\n]+)$/m.exec(names) ?? [];
    if (version === undefined) throw new Error('The initial RAM disk of the installer has no modules.');
    return version;
  }

  /** The stanzas of the components that are here afterwards. */
  async #components(all: readonly Stanza[], packages: readonly Stanza[], kernel: string): Promise<string[]> {
    const fitting = all.filter(
      (each) => !unneeded.test(each.get('Package')!) && (each.get('Kernel-Version') ?? kernel) === kernel,
    );
    this.#log(`fetching ${fitting.length} components of the installer`);
    const image = await this.#unpacked(this.#named(packages, `linux-image-${kernel}`));
    const taken: string[] = [];
    for (const stanza of fitting) {
      const path = stanza.get('Filename')!;
      const found = await this.#find(path);
      if (found) {
        this.#store(path, found);
        taken.push(stanza.text);
        continue;
      }
      const made = stanza.has('Kernel-Version')
        ? await this.#modules(stanza, all, kernel, image)
        : await this.#repacked(stanza, all, packages);
      if (made === undefined) continue;
      this.#log(`packed ${stanza.get('Package')}, which the mirror lacks`);
      this.#store(path, made);
      const sum = createHash('sha256').update(made).digest('hex');
      taken.push(
        stanza.text
          .replace(/^Size: .*$/m, `Size: ${made.length}`)
          .replace(/^SHA256: .*$/m, `SHA256: ${sum}`)
          .replace(/^MD5sum: .*$/m, `MD5sum: ${createHash('md5').update(made).digest('hex')}`),
      );
    }
    rmSync(dirname(image), { recursive: true });
    return taken;
  }

  /** Which modules belong to it says the same component of another kernel; they are those of the kernel's package. */
  async #modules(stanza: Stanza, all: readonly Stanza[], kernel: string, image: string): Promise<Buffer | undefined> {
    const name = stanza.get('Package')!.replace(kernel, '');
    for (const other of all) {
      const version = other.get('Kernel-Version');
      if (version === undefined || version === kernel || other.get('Package')!.replace(version, '') !== name) continue;
      if (!(await this.#find(other.get('Filename')!))) continue;
      const like = await this.#unpacked(other);
      const paths = globSync('lib/modules/*/**/*.ko*', { cwd: like }).map((path) => path.replace(version, kernel));
      rmSync(dirname(like), { recursive: true });
      return this.#pack(stanza, (root) => {
        for (const path of paths.filter((each) => existsSync(join(image, 'usr', each)))) {
          mkdirSync(dirname(join(root, path)), { recursive: true });
          execFileSync('cp', [join(image, 'usr', path), join(root, path)]);
        }
      });
    }
    return undefined;
  }

  /** A component has the programs and libraries of the package that is called alike, and libraries that are no components. */
  async #repacked(stanza: Stanza, all: readonly Stanza[], packages: readonly Stanza[]): Promise<Buffer | undefined> {
    const called = (name: string) => packages.find((each) => [name, `${name}t64`].includes(each.get('Package')!));
    const found = called(stanza.get('Package')!.replace(/-udeb$/, ''));
    if (!found) return undefined;
    const isComponent = (name: string): boolean =>
      all.some((each) => each.get('Package') === `${name.replace(/t64$/, '')}-udeb`);
    const libraries = `${found.get('Pre-Depends') ?? ''}, ${found.get('Depends') ?? ''}`
      .split(',')
      .flatMap((each) => /^ *(lib[\w.+-]+)/.exec(each)?.[1] ?? [])
      .filter((name) => !isComponent(name))
      .flatMap((name) => called(name) ?? []);
    const directories = await Promise.all([found, ...libraries].map((each) => this.#unpacked(each)));
    const made = this.#pack(stanza, (root) => {
      for (const files of directories)
        for (const path of globSync(['usr/sbin/*', 'usr/bin/*', 'usr/lib/*/*.so.*', 'etc/*.conf'], { cwd: files })) {
          // There the directories are not one.
          const place = join(root, path.replace(/^usr\/lib\/[^/]+/, 'usr/lib').replace(/^usr\/(sbin|bin|lib)/, '$1'));
          mkdirSync(dirname(place), { recursive: true });
          execFileSync('cp', ['-a', join(files, path), place]);
        }
    });
    for (const files of directories) rmSync(dirname(files), { recursive: true });
    return made;
  }

  #pack(stanza: Stanza, fill: (root: string) => void): Buffer {
    const directory = mkdtempSync(join(this.#directory, 'packing-'));
    const root = join(directory, 'root');
    mkdirSync(join(root, 'DEBIAN'), { recursive: true });
    const control = stanza.text.replaceAll(/^(Filename|Size|MD5sum|SHA256|Description-md5): .*\n?/gm, '').trim();
    writeFileSync(join(root, 'DEBIAN/control'), `${control}\n`);
    fill(root);
    const file = join(directory, 'made');
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-b', root, file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const made = readFileSync(file);
    rmSync(directory, { recursive: true });
    return made;
  }

  /** What is required and what is wanted, with all that they depend on. Apt finds out what that is. */
  #packages(all: readonly Stanza[]): string[] {
    this.#log('fetching the packages of the system');
    const apt = join(this.#directory, 'apt');
    for (const each of ['lists/partial', 'cache/archives/partial', 'etc'])
      mkdirSync(join(apt, each), { recursive: true });
    writeFileSync(join(apt, 'status'), '');
    const source = join(apt, 'etc/sources.list');
    writeFileSync(source, `deb [trusted=yes arch=amd64] ${this.#from} ${suite} main\n`);
    const settings = {
      'Dir::State::lists': join(apt, 'lists'),
      'Dir::State::status': join(apt, 'status'),
      'Dir::Cache': join(apt, 'cache'),
      'Dir::Etc::sourcelist': source,
      'Dir::Etc::sourceparts': '/dev/null',
      'APT::Architecture': 'amd64',
      'APT::Architectures': 'amd64',
      'APT::Install-Recommends': 'false',
      'Acquire::Languages': 'none',
      'APT::Sandbox::User': 'root',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    const run = (...args: string[]): string =>
      execFileSync('apt-get', ['-qq', ...options, ...args], { encoding: 'utf8' });
    run('update');
    const required = all.filter((each) => each.get('Priority') === 'required').map((each) => each.get('Package')!);
    run('install', '-y', '--download-only', ...new Set([...required, ...wanted.split(' ')]));
    const files = new Set(globSync('*.deb', { cwd: join(apt, 'cache/archives') }));
    const taken = all.filter((each) => files.has(archiveName(each)));
    for (const each of taken)
      this.#store(each.get('Filename')!, readFileSync(join(apt, 'cache/archives', archiveName(each))));
    rmSync(apt, { recursive: true });
    return taken.map(({ text }) => text);
  }

  #store(path: string, bytes: Buffer): void {
    mkdirSync(dirname(join(this.tree, path)), { recursive: true });
    writeFileSync(join(this.tree, path), bytes);
  }

  #write(texts: Readonly<Record<string, readonly string[]>>): void {
    const place = `dists/${suite}`;
    const sums = Object.entries(texts).flatMap(([path, stanzas]) => {
      // The installer reads a stanza only if an empty line follows.
      const text = Buffer.from(stanzas.map((each) => `${each}\n\n`).join(''));
      return [[path, text] as const, [`${path}.gz`, gzipSync(text)] as const].map(([name, bytes]) => {
        this.#store(`${place}/${name}`, bytes);
        return ` ${createHash('sha256').update(bytes).digest('hex')} ${bytes.length} ${name}\n`;
      });
    });
    const head = `Origin: Debian\nLabel: Debian\nSuite: stable\nCodename: ${suite}\nVersion: 13.0\nArchitectures: amd64\nComponents: main\n`;
    // By it the installer sees that there is something for its architecture.
    this.#store(
      `${place}/main/binary-amd64/Release`,
      Buffer.from('Component: main\nOrigin: Debian\nArchitecture: amd64\n'),
    );
    // The last of all: it says that the mirror is whole.
    const release = join(this.tree, place, 'Release');
    writeFileSync(`${release}.new`, `${head}Date: ${new Date().toUTCString()}\nSHA256:\n${sums.join('')}`);
    renameSync(`${release}.new`, release);
  }
}

/** As apt calls the file of a package. */
function archiveName(stanza: Stanza): string {
  const [name, version, arch] = ['Package', 'Version', 'Architecture'].map((field) => stanza.get(field)!);
  return `${name}_${version!.replaceAll(':', '%3a')}_${arch}.deb`;
}
