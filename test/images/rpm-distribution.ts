import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Spec {
  readonly name: string;
  readonly preamble?: string;
  /** The part that makes the files. */
  readonly install?: string;
  /** Scripts and the list of files. */
  readonly rest: string;
}

const directories = 'mkdir -p %{buildroot}/etc %{buildroot}/usr/bin';

const specs = (version: string): Spec[] => [
  {
    name: 'lab-release',
    preamble: 'Provides: system-release = 9\nProvides: system-release(releasever) = 9',
    install: 'printf \'NAME="Lab Linux"\\nID=lab\\nVERSION_ID=9\\n\' > %{buildroot}/etc/os-release',
    rest: '%files\n/etc/os-release',
  },
  {
    name: 'lab-filesystem',
    install: 'mkdir -p %{buildroot}/proc %{buildroot}/dev %{buildroot}/tmp',
    rest: '%files\n%dir /proc\n%dir /dev\n%dir /usr/bin\n%attr(1777,root,root) %dir /tmp',
  },
  {
    name: 'lab-base',
    preamble: 'Requires: lab-release\nRequires(pre): lab-filesystem',
    install: `echo v=${version} > %{buildroot}/etc/lab.conf`,
    // That it can write to /dev/null shows that scripts of packages have devices.
    rest: `%post -p <lua>
local n = assert(io.open('/dev/null', 'w')); n:write('x'); n:close()
local f = io.open('/etc/scriptlet-ran', 'a'); f:write('post ${version}\\n'); f:close()
%files
%config(noreplace) /etc/lab.conf`,
  },
  {
    name: 'lab-tool',
    preamble: 'Requires: lab-base',
    install: `echo ${version} > %{buildroot}/usr/bin/lab-tool; echo ${version} > %{buildroot}/usr/bin/lab-ping`,
    rest: '%files\n%attr(4755,root,root) /usr/bin/lab-tool\n%caps(cap_net_raw=ep) /usr/bin/lab-ping',
  },
  {
    name: 'lab-extra',
    preamble: 'Requires: lab-base',
    install: `echo ${version} > %{buildroot}/usr/bin/lab-extra`,
    rest: '%files\n/usr/bin/lab-extra',
  },
  {
    name: 'lab-kernel',
    install: `M=%{buildroot}/lib/modules/6.1.0; mkdir -p %{buildroot}/boot $M/kernel/net; echo kernel > %{buildroot}/boot/vmlinuz-6.1.0
for m in squashfs overlay loop mii e1000e; do echo module $m > $M/kernel/net/$m.ko; done
printf 'kernel/net/%s.ko:\\n' squashfs overlay loop mii > $M/modules.dep; echo 'kernel/net/e1000e.ko: kernel/net/mii.ko' >> $M/modules.dep
echo 'alias pci:v00008086d* e1000e' > $M/modules.alias`,
    rest: '%files\n/boot/vmlinuz-6.1.0\n/lib/modules/6.1.0',
  },
  { name: 'lab-broken', rest: '%pre -p <lua>\nerror("refuses")\n%files' },
  { name: 'lab-needs-absent', preamble: 'Requires: nowhere-to-be-found', rest: '%files' },
];

/** A distribution of tiny packages: `repository` has version 1.0 of them, `updates` 2.0 of all but those that fail. */
export function makeRpmDistribution(directory: string): { readonly repository: string; readonly updates: string } {
  const place = { repository: join(directory, 'repository'), updates: join(directory, 'updates') };
  for (const [version, into] of [
    ['1.0', place.repository],
    ['2.0', place.updates],
  ] as const) {
    mkdirSync(into);
    for (const spec of specs(version)) build(directory, into, spec, version);
    execFileSync('createrepo_c', ['-q', into], { stdio: 'ignore' });
  }
  return place;
}

function build(
  directory: string,
  into: string,
  { name, preamble = '', install = '', rest }: Spec,
  version: string,
): void {
  const file = join(directory, `${name}.spec`);
  writeFileSync(
    file,
    `Name: ${name}
Version: ${version}
Release: 1
Summary: lab
License: none
BuildArch: noarch
${preamble}
%description
lab
%install
${directories}
${install}
${rest}
`,
  );
  const defined = {
    _topdir: join(directory, 'top'),
    _rpmdir: into,
    _dbpath: join(directory, 'db'),
    _build_id_links: 'none',
    __os_install_post: '%{nil}',
    _binary_payload: 'w0.gzdio',
  };
  const definitions = Object.entries(defined).flatMap(([macro, value]) => ['--define', `${macro} ${value}`]);
  execFileSync('rpmbuild', ['-bb', '--quiet', ...definitions, '--buildroot', join(directory, 'root'), file], {
    stdio: 'ignore',
  });
}
