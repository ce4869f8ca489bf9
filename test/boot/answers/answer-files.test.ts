import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { scratchDirectory } from '../../harness/store.ts';
import { chosenDisk } from '../../../src/boot/answers/wanted-disk.ts';
import { type Element, parse } from './parse.ts';
import { hash, publicKey, Site, systems, token } from './site.ts';

const scratch = scratchDirectory();
const report = `http://10.0.0.254:8080/boot/report/n1/${token}`;
const answers = `http://10.0.0.254:8080/boot/answer/n1/${token}`;

/** What of a file is told about what is wrong with it by a program. */
function accepted(program: string, args: (file: string) => string[], text: string): void {
  const file = join(scratch, 'file');
  writeFileSync(file, text);
  execFileSync(program, args(file), { stdio: ['ignore', 'pipe', 'pipe'] });
}

const checkShell = (text: string): void => accepted('sh', (file) => ['-n', file], text);

const states = [
  ['an address by DHCP', {}],
  ['an address of its own', { site: { managedaddressmode: 'static' } }],
  ['an interface that is named', { tables: { noderes: [{ node: 'n1', installnic: 'eno1' }] } }],
  [
    'no servers of the site, and no password',
    { site: { ntpservers: '', nameservers: '', domain: '' }, rootPassword: undefined },
  ],
] as const;

describe.each(systems)('the answers for %s', (os) => {
  it.each(states)('are right for a node with %s', async (name, given) => {
    const files = await new Site(os).answers(given);
    const [main = ''] = Object.values(files);
    checks[os](main, files);
    const { 'installed.sh': installed = '', 'finish.sh': finish = '' } = files;
    for (const text of [main, installed, finish]) expect(text).not.toMatch(/#[A-Z_]+(:[^#\n]*)?#/);
    for (const text of [installed, finish]) checkShell(text);
    expect(main).toContain(report);
    expect(main).toContain(`${answers}/finish.sh`);
    expect(finish).toContain(`${answers}/installed.sh`);
    expect(main.includes(hash)).toBe(name !== states[3][0]);
    // Debian's installer stops and asks for a password where it reads "!".
    if (name === states[3][0] && os === 'debian12.12') expect(main).toContain('root-password-crypted password *\n');
    if (name === states[1][0]) for (const part of ['10.0.0.5', '10.0.0.1', '10.0.0.254']) expect(main).toContain(part);
    if (name === states[2][0] && os !== 'sles15.6') expect(main).toContain('eno1');
  });

  it('name what is wrong with a value of the site', async () => {
    const site = new Site(os);
    const cases = { timezone: 'Mars/\n', locale: 'x y', domain: '../x', ntpservers: 'a;b', keyboard: '"' };
    for (const [key, value] of Object.entries(cases)) {
      const fault = await site.answers({ site: { [key]: value } }).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(Fault);
      expect((fault as Fault).message).toContain(`site.${key} is `);
    }
  });
});

/** Each format by programs that read it, and by rules where there is none. */
const checks: Readonly<
  Record<(typeof systems)[number], (main: string, files: Readonly<Record<string, string>>) => void>
> = {
  'rocky9.6': checkKickstart,
  'debian12.12'(main) {
    accepted('debconf-set-selections', (file) => ['-c', file], main);
    const questions = main.split('\n').filter((line) => /^\S+ \S+\/\S+ /.test(line));
    expect(questions.length).toBe(main.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length);
    for (const [, command] of main.matchAll(/_command string (.*)/g)) checkShell(command!);
  },
  'ubuntu24.04.3'(main, files) {
    expect(main).toMatch(/^#cloud-config\n/);
    const [data] = parse('yaml', [main]) as [{ autoinstall: Record<string, unknown> }];
    const { 'user-data': own, ...rest } = data.autoinstall;
    // What the installed system gets is a document of its own; here they are checked together, since that takes long.
    const both = { ...data, ...(own as object) };
    accepted('cloud-init', (file) => ['schema', '--config-file', file], `#cloud-config\n${JSON.stringify(both)}\n`);
    expect(own).toMatchObject({ users: [{ name: 'root', ssh_authorized_keys: [publicKey] }] });
    expect(rest).toMatchObject({
      version: 1,
      storage: { layout: { name: 'lvm', 'sizing-policy': 'all' } },
      network: { version: 2 },
    });
    expect(rest['packages']).toContain('openssh-server');
    for (const kind of ['early', 'late', 'error'])
      for (const command of rest[`${kind}-commands`] as string[]) checkShell(command);
    expect(parse('yaml', [files['meta-data']!, files['vendor-data']!])).toEqual([
      { 'instance-id': 'muster-n1', 'local-hostname': expect.stringMatching(/^n1(\.cluster\.example)?$/) as string },
      null,
    ]);
  },
  'sles15.6'(main) {
    accepted('xmllint', (file) => ['--noout', '--nonet', file], main);
    const [profile] = parse('xml', [main]) as [Element];
    const at = (...path: string[]): Element =>
      path.reduce((element, name) => {
        const found = element.children.find(({ tag }) => tag === `{http://www.suse.com/1.0/yast2ns}${name}`);
        expect(found, path.join('/')).toBeDefined();
        return found!;
      }, profile);
    expect(at('users', 'user', 'authorized_keys', 'listentry').text).toBe(publicKey);
    expect(at('users', 'user', 'encrypted').text).toBe('true');
    expect(at('networking', 'dns', 'hostname').text).toBe('n1');
    expect(at('software', 'packages').children.map(({ text }) => text)).toContain('openssh');
    expect(at('partitioning', 'drive', 'use').text).toBe('all');
    for (const list of ['pre-scripts', 'chroot-scripts']) checkShell(at('scripts', list, 'script', 'source').text);
    // A list says so, or it is read as something else.
    for (const list of main.matchAll(/<(\w+s|partitioning|pre-scripts|chroot-scripts)>/g))
      expect(['scripts', 'services', 'dns', 'address']).toContain(list[1]);
  },
};

/** The commands that we use; all versions from 7 on know them, but for timesource, which is there since 9. */
const commands = new Set(
  'text firstboot reboot lang keyboard timezone timesource url repo network rootpw firewall services %include'.split(
    ' ',
  ),
);

function checkKickstart(main: string): void {
  let section = '';
  const scripts: string[][] = [];
  for (const line of main.split('\n')) {
    if (line === '%end') section = '';
    else if (/^%(?!include)/.test(line)) {
      expect(section).toBe('');
      section = line.split(' ', 1)[0]!;
      scripts.push([]);
    } else if (section === '%packages') expect(line).toMatch(/^(-?@?[\w.+-]+)?$/);
    else if (section !== '') scripts.at(-1)!.push(line);
    else if (line !== '' && !line.startsWith('#')) expect(commands).toContain(line.split(' ', 1)[0]);
  }
  expect(section).toBe('');
  expect(scripts).toHaveLength(5);
  for (const script of scripts) checkShell(script.join('\n'));
}

it('older systems get what they know', async () => {
  const old = await new Site('rhels7.9').answers();
  expect(old['ks.cfg']).toContain('timezone Europe/Vienna --utc --ntpservers=10.0.0.254,time.example\n');
  expect(old['ks.cfg']).not.toMatch(/timesource|%onerror/);
  const ubuntu = await new Site('ubuntu18.04.6').answers();
  accepted('debconf-set-selections', (file) => ['-c', file], ubuntu['preseed.cfg']!);
});

it("Debian's installer makes apt accept a tree without signatures, and no mirror", async () => {
  const site = new Site('debian12.12');
  const early = async (image = {}): Promise<string> =>
    /^d-i preseed\/early_command string (.*)$/m.exec((await site.answers({ image }))['preseed.cfg']!)![1]!;
  const root = scratchDirectory();
  execFileSync('mkdir', ['-p', `${root}/target/etc/apt/apt.conf.d`]);
  const moved = (text: string): string => text.replaceAll(/\/(usr\/lib|target)\//g, `${root}/$1/`);
  execFileSync('sh', ['-c', moved((await early()).replace(/wget .*/, ''))]);
  execFileSync(`${root}/usr/lib/base-installer.d/10muster`, { shell: true });
  const settings = `${root}/target/etc/apt/apt.conf.d/00muster`;
  const told = execFileSync('apt-config', ['-c', settings, 'dump', 'Acquire::AllowInsecureRepositories'], {
    encoding: 'utf8',
  });
  expect(told).toBe('Acquire::AllowInsecureRepositories "true";\n');
  const mirrored = await early({ pkgdir: `http://mirror.example/debian bookworm main,${site.tree}` });
  expect(mirrored).toMatch(/^wget /);
});

it("a site's own template goes before ours, and the one that the image names before all", async () => {
  const site = new Site('rocky9.6');
  const first = async (image = {}): Promise<string> =>
    Object.values(await site.answers({ image }))[0]!.split('\n', 1)[0]!;
  expect(await first()).toMatch(/^# Answers for Anaconda/);
  for (const name of ['compute', 'compute.x86_64', 'compute.rocky', 'compute.rocky9', 'compute.rocky9.6.x86_64']) {
    site.file(`custom/install/rocky/${name}.tmpl`, `# ${name}\n`);
    expect(await first()).toBe(`# ${name}`);
  }
  const template = site.file('own.tmpl', '# own\n');
  expect(await first({ template })).toBe('# own');
  await expect(site.answers({ image: { template: '/etc/passwd' } })).rejects.toThrow(/outside the directories/);
});

it('an image without a template says where one is looked for', async () => {
  const site = new Site('rocky9.6');
  const osimage = [{ imagename: 'img', osvers: 'rocky9.6', osarch: 'x86_64', profile: 'gpu', provmethod: 'install' }];
  await expect(site.answers({ tables: { osimage } })).rejects.toThrow(/no template for the profile "gpu".*gpu\.tmpl/);
});

describe('the disk that osvolume names', () => {
  const answersOf = (os: string, osvolume: string) =>
    new Site(os).answers({ tables: { storage: [{ node: 'n1', osvolume }] } });

  it('is looked for by kickstart on the machine', async () => {
    const text = (await answersOf('rocky9.6', 'serial=S1'))['ks.cfg']!;
    const [, script = ''] = /%pre\n(wanted=.*?)%end/s.exec(text)!;
    expect(script).toMatch(/^wanted='?serial=S1'?\n/);
    checkShell(script);
  });

  it.each(['/dev/sdb', 'wwn=0x5000', 'serial=S1', ''])(
    '%j is looked for by a script on the machine for all the other installers',
    async (osvolume) => {
      const debian = await answersOf('debian12.12', osvolume);
      expect(debian['preseed.cfg']).toContain('sh /tmp/disk.sh 2>/tmp/muster.log && debconf-set partman-auto/disk');
      expect(debian['preseed.cfg']).not.toContain('d-i partman-auto/disk');
      const ubuntu = await answersOf('ubuntu24.04.3', osvolume);
      const [parsed] = parse('yaml', [ubuntu['user-data']!]);
      const layout = { name: 'lvm', 'sizing-policy': 'all', match: { path: chosenDisk } };
      const early = expect.arrayContaining([
        expect.stringContaining(`${answers}/disk.sh && sh /tmp/disk.sh`),
      ]) as object;
      expect(parsed).toMatchObject({ autoinstall: { storage: { layout }, 'early-commands': early } });
      const suse = await answersOf('sles15.6', osvolume);
      expect(suse['autoinst.xml']).toContain(`<device>${chosenDisk}</device>`);
      expect(suse['autoinst.xml']).toContain(`${answers}/disk.sh && sh /tmp/disk.sh`);
      for (const { 'disk.sh': script = '' } of [debian, ubuntu, suse]) {
        expect(script).toMatch(new RegExp(`^wanted='?${osvolume}'?\n`));
        checkShell(script);
      }
    },
  );

  it.each(['ubuntu24.04.3', 'sles15.6'])('must be looked for by templates of the site for %s too', async (os) => {
    const site = new Site(os);
    const template = site.file(
      'own.tmpl',
      os.startsWith('ubuntu') ? 'storage:\n  #PARTITIONS#\n' : '<a>#PARTITIONS#</a>',
    );
    await expect(site.answers({ image: { template } })).rejects.toThrow(/add #CHOOSE_DISK# (below|to) /);
  });

  it('is refused if it is none', async () => {
    await expect(answersOf('rocky9.6', 'usbdisk')).rejects.toThrow(/osvolume "usbdisk" names no disk/);
  });
});

describe('partition files', () => {
  it('of Debian are a recipe, a disk, answers, and scripts that tell the first two', async () => {
    const site = new Site('debian12.12');
    const recipe = site.file(
      'parts',
      'boot-root ::\n  500 50 1000 ext4 $primary{ } . \\\n  64 512 300% linux-swap .\n',
    );
    const disk = site.file('disk', '# the small one\n/dev/disk/by-id/x\n');
    const more = site.file('more', 'd-i partman/mount_style select uuid\n');
    const text = (await site.answers({ image: { partitionfile: `${recipe},d:${disk},c:${more}` } }))['preseed.cfg']!;
    accepted('debconf-set-selections', (file) => ['-c', file], text);
    expect(text).toContain(
      'expert_recipe string \\\n  boot-root :: \\\n    500 50 1000 ext4 $primary{ } . \\\n    64 512 300% linux-swap .\n',
    );
    expect(text).toContain('d-i partman-auto/disk string /dev/disk/by-id/x\n');
    expect(text).toContain('d-i partman/mount_style select uuid\n');
    expect(text).not.toContain('partman/early_command');
    const script = site.file('parts.sh', 'echo x > /tmp/partitionfile\n');
    const files = await site.answers({ image: { partitionfile: `s:${script},s:d:${script}` } });
    expect(files['partition.sh']).toBe('echo x > /tmp/partitionfile\n');
    expect(files['disk.sh']).toBe(files['partition.sh']);
    const [, command] = /partman\/early_command string (.*)/.exec(files['preseed.cfg']!)!;
    expect(command).toContain(
      `${answers}/partition.sh && sh /tmp/partition.sh 2>/tmp/muster.log && debconf-set partman-auto/expert_recipe`,
    );
    checkShell(command!);
  });

  it('of Ubuntu and SUSE are in the language of their installers', async () => {
    const ubuntu = new Site('ubuntu24.04.3');
    const layout = ubuntu.file('layout', 'layout:\n  name: zfs\n');
    const [parsed] = parse('yaml', [(await ubuntu.answers({ image: { partitionfile: layout } }))['user-data']!]);
    expect(parsed).toMatchObject({ autoinstall: { storage: { layout: { name: 'zfs' } } } });
    const suse = new Site('sles15.6');
    const drives = suse.file('drives', '<drive>\n<device>/dev/sdb</device>\n</drive>\n');
    const text = (await suse.answers({ image: { partitionfile: drives } }))['autoinst.xml']!;
    expect(text).toMatch(
      /<partitioning config:type="list">\s*<drive>\s*<device>\/dev\/sdb<\/device>\s*<\/drive>\s*<\/partitioning>/,
    );
    for (const site of [ubuntu, suse])
      await expect(site.answers({ image: { partitionfile: `s:${site.file('s', 'x')}` } })).rejects.toThrow(
        /no scripts/,
      );
  });
});

it('the script that the installed system runs lets us in, and runs what is to be run at the first boot', async () => {
  const { 'installed.sh': text = '' } = await new Site('debian12.12').answers();
  const root = scratchDirectory();
  // Paths as they would be in the installed system.
  const moved = text.replaceAll(/(?<![\w.:/])\/(root|etc|usr\/local)/g, `${root}/$1`);
  execFileSync('mkdir', ['-p', `${root}/etc/chrony/sources.d`, `${root}/etc/systemd/system`, `${root}/usr/local/sbin`]);
  execFileSync('sh', ['-c', moved]);
  const read = (path: string): string => execFileSync('cat', [join(root, path)], { encoding: 'utf8' });
  expect(read('root/.ssh/authorized_keys')).toBe(`${publicKey}\n`);
  expect(read('etc/chrony/sources.d/muster.sources')).toContain('server time.example iburst\n');
  expect(read('etc/systemd/system/multi-user.target.wants/muster-first-boot.service')).toContain('[Service]');
  checkShell(read('usr/local/sbin/muster-first-boot'));
  expect(read('usr/local/sbin/muster-first-boot')).toContain(`/boot/postscripts/n1/${token}\n`);
});
