import { describe, expect, it } from 'vitest';
import { Site, token } from './site.ts';

const files: Readonly<Record<string, readonly string[]>> = {
  'rocky9.6': ['images/pxeboot/vmlinuz', 'images/pxeboot/initrd.img'],
  'debian12.12': ['install/netboot/debian-installer/amd64/linux', 'install/netboot/debian-installer/amd64/initrd.gz'],
  'ubuntu18.04.6': ['install/netboot/ubuntu-installer/amd64/linux', 'install/netboot/ubuntu-installer/amd64/initrd.gz'],
  'ubuntu24.04.3': ['casper/vmlinuz', 'casper/initrd', 'ubuntu-24.04.3.iso'],
  'sles15.6': ['boot/x86_64/loader/linux', 'boot/x86_64/loader/initrd'],
};

function siteWith(os: string): Site {
  const site = new Site(os);
  for (const name of files[os]!) site.file(`${os}/x86_64/${name}`, 'x');
  return site;
}

const tree = (os: string): string => `http://10.0.0.254:8080/boot/install/${os}/x86_64`;
const answers = `http://10.0.0.254:8080/boot/answer/n1/${token}`;

describe('a node that is installed boots', () => {
  it.each([
    ['rocky9.6', `inst.repo=${tree('rocky9.6')} inst.ks=${answers}/ks.cfg ip=dhcp`],
    [
      'debian12.12',
      `auto=true priority=critical url=${answers}/preseed.cfg hostname=n1 domain=cluster.example interface=auto`,
    ],
    [
      'ubuntu18.04.6',
      `auto=true priority=critical url=${answers}/preseed.cfg hostname=n1 domain=cluster.example interface=auto`,
    ],
    [
      'ubuntu24.04.3',
      `ip=dhcp url=${tree('ubuntu24.04.3')}/ubuntu-24.04.3.iso autoinstall ds=nocloud-net;s=${answers}/`,
    ],
    ['sles15.6', `install=${tree('sles15.6')} autoyast=${answers}/autoinst.xml ifcfg=*=dhcp`],
  ])('%s', (os, args) => {
    const [kernel, initrd] = files[os]!.map((name) => `boot/install/${os}/x86_64/${name}`);
    expect(siteWith(os).boot()).toEqual({ kernel, initrd, args });
  });

  it('by the interface that it is told', () => {
    const tables = { noderes: [{ node: 'n1', installnic: 'eno1' }] };
    expect(siteWith('rocky9.6').boot({ tables }).args).toMatch(/ ip=eno1:dhcp$/);
    expect(siteWith('debian12.12').boot({ tables }).args).toMatch(/ interface=eno1$/);
    expect(siteWith('sles15.6').boot({ tables }).args).toMatch(/ ifcfg=eno1=dhcp$/);
  });

  it('by IPv6 where that leads here', () => {
    const server = '[fd00::1]';
    expect(siteWith('rocky9.6').boot({}, server).args).toMatch(/^inst\.repo=http:\/\/\[fd00::1\]\/boot.* ip=dhcp6$/);
    expect(siteWith('sles15.6').boot({}, server).args).toMatch(/ ifcfg=\*=dhcp6$/);
  });

  it("Debian's installer with its address, as it cannot fetch the answers without one", () => {
    expect(siteWith('debian12.12').boot({ site: { managedaddressmode: 'static' } }).args).toContain(
      ' netcfg/disable_autoconfig=true netcfg/get_ipaddress=10.0.0.5 netcfg/get_netmask=255.255.255.0 netcfg/get_gateway=10.0.0.1 netcfg/get_nameservers=10.0.0.254 netcfg/confirm_static=true',
    );
  });

  it("Ubuntu's installer from NFS where the medium is not there as a file", () => {
    const site = new Site('ubuntu24.04.3');
    for (const name of ['casper/vmlinuz', 'casper/initrd']) site.file(`ubuntu24.04.3/x86_64/${name}`, 'x');
    const tables = { noderes: [{ node: 'n1', nfsserver: '10.0.0.9' }] };
    expect(site.boot({ tables }).args).toContain(`netboot=nfs nfsroot=10.0.0.9:${site.tree} autoinstall`);
    expect(() => site.boot()).toThrow(/put the medium \(NAME\.iso\) into .* or export that by NFS/);
  });
});

it('a tree without an installer says what is missing and where it is to be had', () => {
  expect(() => new Site('rocky9.6').boot()).toThrow(/images\/pxeboot\/vmlinuz and .*Copy a medium/);
  expect(() => new Site('debian12.12').boot()).toThrow(
    /debian-installer\/amd64\/linux.*debian-installer-12-netboot-amd64/,
  );
});

it.each([
  ['rhels6.10', 'release 7 and later'],
  ['centos6.9', 'release 7 and later'],
  ['sles16.0', 'its installer is Agama'],
  ['leap16.0', 'its installer is Agama'],
  ['sles12.5', 'AutoYaST of release 15'],
])('%s is not installed with answers for another release', async (os, reason) => {
  const site = new Site(os);
  expect(() => site.boot()).toThrow(`img: ${os} cannot be installed: `);
  await expect(site.answers()).rejects.toThrow(reason);
});

it('packages come from the tree or from URLs, and from no other directory', () => {
  const site = siteWith('rocky9.6');
  const url = 'http://mirror.example/rocky';
  expect(site.boot({ image: { pkgdir: `${url},${site.tree}` } }).args).toContain(`inst.repo=${url} `);
  expect(() => site.boot({ image: { pkgdir: url } })).toThrow(/pkgdir must also name the tree/);
  expect(() => site.boot({ image: { pkgdir: '/etc' } })).toThrow(/outside the directories/);
  expect(() => site.boot({ image: { pkgdir: site.installdir } })).toThrow(/is not below/);
});
