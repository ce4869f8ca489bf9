import { afterAll, describe, expect, it } from 'vitest';
import { isInstalled } from '../../../scripts/packages.ts';
import { runWithDisks } from './fake-machine.ts';
import {
  autoyastSchema,
  canPlanDisks,
  judgeAutoinstalls,
  judgeKickstarts,
  judgeProfiles,
  planDisks,
  removeFetched,
  sources,
  yastParts,
} from './judges.ts';
import { parse } from './parse.ts';
import { Site } from './site.ts';

afterAll(removeFetched);

const states = [
  ['an address by DHCP', {}],
  ['an address of its own', { site: { managedaddressmode: 'static' } }],
  ['an interface that is named', { tables: { noderes: [{ node: 'n1', installnic: 'eno1' }] } }],
  ['no servers and no password', { site: { ntpservers: '', nameservers: '', domain: '' }, rootPassword: undefined }],
  ['a disk that is named', { tables: { storage: [{ node: 'n1', osvolume: '/dev/sdb' }] } }],
] as const;

const pykickstart = (await sources('pykickstart'))?.['pykickstart'];

describe.skipIf(pykickstart === undefined)('ksvalidator accepts the answers for', () => {
  it.each([
    ['rhels7.9', 'RHEL7'],
    ['rocky8.10', 'RHEL8'],
    ['alma9.6', 'RHEL9'],
    ['rhels10.0', 'RHEL10'],
    ['fedora42', 'F42'],
  ])('%s, with the partitions that its script finds', async (os, version) => {
    const whole: Record<string, string> = {};
    for (const [name, given] of states) {
      const text = (await new Site(os).answers(given))['ks.cfg']!;
      const [, script = ''] = /%pre\n(wanted=.*?)%end/s.exec(text)!;
      const { partitionfile = '' } = runWithDisks(script, [{ name: 'sda' }, { name: 'sdb' }]).files;
      expect(partitionfile).toContain('clearpart');
      whole[name] = text.replace('%include /tmp/partitionfile\n', partitionfile);
    }
    expect(judgeKickstarts(pykickstart!, version, whole)).toBe('');
    expect(judgeKickstarts(pykickstart!, version, { wrong: 'clearpart --everything\n' })).toContain('--everything');
  });
});

const ubuntu = await sources('subiquity', 'curtin', 'probert');

type Autoinstall = Readonly<Record<string, unknown>>;

async function autoinstall(os: string, given = {}): Promise<Autoinstall> {
  const [data] = parse('yaml', [(await new Site(os).answers(given))['user-data']!]) as [{ autoinstall: Autoinstall }];
  return data.autoinstall;
}

describe.skipIf(ubuntu === undefined)('subiquity', () => {
  it.each(['ubuntu20.04.6', 'ubuntu22.04.5', 'ubuntu24.04.3'])(
    'accepts the answers for %s by its schema',
    async (os) => {
      const all = await Promise.all(states.map(([, given]) => autoinstall(os, given)));
      const [wrong, ...others] = judgeAutoinstalls(ubuntu!['subiquity']!, [{ version: 2 }, ...all]);
      expect(wrong).not.toEqual([]);
      expect(others).toEqual(states.map(() => []));
    },
  );

  it.skipIf(!ubuntu || !canPlanDisks(ubuntu))(
    'gives all of the disk that osvolume names to the system, and nothing of others',
    async () => {
      for (const [osvolume, disk] of [
        ['/dev/vdb', '/dev/vdb'],
        ['serial=QEMU_HARDDISK_QM00001', '/dev/sda'],
      ] as const) {
        const data = await autoinstall('ubuntu24.04.3', { tables: { storage: [{ node: 'n1', osvolume }] } });
        const plan = await planDisks(ubuntu!, 'many-nics-and-disks', data);
        const [{ storage }] = parse('yaml', [plan]) as [{ storage: { config: Readonly<Record<string, unknown>>[] } }];
        const all = (type: string) => storage.config.filter((each) => each['type'] === type);
        expect(all('disk')).toMatchObject([{ path: disk, wipe: 'superblock-recursive' }]);
        const [volume, ...others] = all('lvm_partition');
        expect(others).toEqual([]);
        // Twenty GiB, but for what is needed to boot.
        expect(Number.parseInt(String(volume!['size']), 10)).toBeGreaterThan(17 * 2 ** 30);
        expect(new Set(all('mount').map(({ path }) => path))).toEqual(new Set(['/', '/boot', '/boot/efi']));
      }
    },
  );
});

const yast = await sources(...yastParts);
const canJudge = yast !== undefined && isInstalled('jing');
if (yast !== undefined && !canJudge)
  console.warn('Profiles of AutoYaST are not judged by its schema: jing is not installed.');

describe.skipIf(!canJudge)("AutoYaST's schema accepts the answers for", () => {
  const schema = canJudge ? autoyastSchema(yast) : '';

  it.each(['sles15.6', 'leap15.6'])('%s', async (os) => {
    const all: Record<string, string> = {};
    for (const [name, given] of states) all[name] = (await new Site(os).answers(given))['autoinst.xml']!;
    const wrong = '<profile xmlns="http://www.suse.com/1.0/yast2ns"/>';
    expect(judgeProfiles(schema, { ...all, wrong })).toMatch(/^wrong:1:\d+: error: .*\n$/);
  });
});
