import { describe, expect, it } from 'vitest';
import type { Row } from '../../../src/database/tables.ts';
import { effectiveReader } from '../../../src/objects/effective.ts';
import { hostItems, OverlayLoops } from '../../../src/boot/overlays/overlay-loops.ts';
import { renderTemplate, type Rendering } from '../../../src/boot/overlays/overlay-template.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

const snapshot = (more: Readonly<Record<string, readonly Row[]>> = {}) =>
  snapshotOf({
    nodelist: [
      { node: 'n1', groups: 'all,compute' },
      { node: 'n2', groups: 'all' },
      { node: 'bad', groups: 'all' },
    ],
    hosts: [
      { node: 'n1', ip: '10.0.0.1' },
      { node: 'n2', ip: '10.0.0.2', hostnames: 'login' },
      { node: 'bad', ip: 'nowhere' },
    ],
    nodepos: [{ node: 'n1', rack: 'r1' }],
    networks: [{ netname: 'mgmt', net: '10.0.0.0', mask: '255.255.255.0', gateway: '10.0.0.254' }],
    site: [
      { key: 'domain', value: 'cluster.example' },
      { key: 'joinpassword', value: 'sealed-join' },
    ],
    ipmi: [{ node: 'n1', password: 'sealed-own' }],
    passwd: [{ key: 'xcat', username: 'root', password: 'sealed-root' }],
    ...more,
  });

const made = (
  text: string,
  how: Partial<Rendering> & { path?: string; rows?: Record<string, readonly Row[]> } = {},
) => {
  const { path = '/etc/motd', rows, ...rest } = how;
  const rendering = { reader: effectiveReader(snapshot(rows)), node: 'n1', installdir: '/install', ...rest };
  const file = { path, from: '/install/overlays/base/motd.tmpl' };
  return renderTemplate(text, file, rendering, new OverlayLoops(rendering));
};
const refusal = (text: string, how?: Parameters<typeof made>[1]): Promise<string> =>
  made(text, how).then(
    (file) => `rendered: ${file}`,
    (error: Error) => error.message,
  );

describe('a template of an overlay', () => {
  it('has what is the node’s in place of its placeholders', async () => {
    expect(
      await made('#NODE# #ATTRIBUTE:rack# #TABLE:hosts:$NODE:ip# #DOMAIN##TABLEBLANKOKAY:nodepos:$NODE:room#\n'),
    ).toBe('n1 r1 10.0.0.1 cluster.example\n');
  });

  it('repeats what stands in a loop for networks, groups and hosts, and leaves no empty line', async () => {
    expect(await made('#EACH:networks#\n#ITEM:name# #ITEM:prefix# #ITEM:gateway#\n#END#\n')).toBe(
      'mgmt 10.0.0.0/24 10.0.0.254\n',
    );
    expect(await made('groups:#EACH:groups# #ITEM:name##END#\n')).toBe('groups: all compute\n');
    const hosts = '#EACH:hosts#\n#ITEM:ip# #ITEM:names#\n#END#\nend\n';
    expect(await made(hosts)).toBe('10.0.0.1 n1.cluster.example n1\n10.0.0.2 n2.cluster.example n2 login\nend\n');
    expect(await made('#EACH:hosts:compute#\n#ITEM:name#\n#END#\n')).toBe('n1\n');
    expect(await made(hosts, { sees: (node) => node === 'n1' })).not.toContain('n2');
  });

  it.each([
    ['#NOSUCH#', 'line 1: #NOSUCH# is not known'],
    ['\n#ATTRIBUTE:room#', 'line 2: #ATTRIBUTE:room# has no value'],
    ['#ATTRIBUTE:nosuch#', 'nodes have no attribute "nosuch"'],
    ['#ITEM:name#', 'stands in no loop'],
    ['#EACH:groups##ITEM:ip##END#', 'there are name.'],
    ['#EACH:groups#', 'has no #END#'],
    ['#END#', 'ends no #EACH'],
    ['#EACH:nodes##END#', 'there are networks, groups, hosts'],
    ['#EACH:hosts:nosuch##END#', 'line 1'],
    ['#TABLE:ipmi:$NODE:password#', 'is a secret'],
    ['#ATTRIBUTE:bmcpassword#', 'is a secret'],
    ['#SECRET:passwd:key=xcat,username=root:password#', 'its own secrets'],
    ['#SECRET:hosts:$NODE:ip#', 'is no secret'],
  ])('%j is refused', async (text, reason) => {
    expect(await refusal(text)).toContain(reason);
  });

  it('has secrets for the node, and hides them from who looks at it', async () => {
    const open = (sealed: string, column: string) => `${column} ${sealed.replace('sealed-', '')}`;
    const text = '#SECRET:ipmi:$NODE:password# #SECRET:site:joinpassword:value#';
    expect(await made(text, { open })).toBe('ipmi.password own site.value join');
    expect(await made(text)).not.toMatch(/own|join|sealed/);
  });

  it('never names a secret in an error, which goes to screens and logs', async () => {
    const open = () => 'hush $(x)\n';
    for (const text of ['#SECRET:ipmi:$NODE:password#', '#!/bin/sh\necho `#SECRET:ipmi:$NODE:password#`']) {
      expect(await refusal(text, { open })).toContain('has a value (not shown here)');
      expect(await refusal(text, { open: () => 'hush $(x)' })).not.toContain('hush $(x)\n');
    }
    expect(await refusal('#!/bin/sh\necho `#SECRET:ipmi:$NODE:password#`', { open: () => 'hush $' })).not.toContain(
      'hush',
    );
    // Whoever looks sees where it stands, also where the secret itself could not be written.
    expect(await made('#!/bin/sh\necho `#SECRET:ipmi:$NODE:password#`\n')).toContain('xxxxxxxx');
  });

  const manyNodes = (count: number) => {
    const nodes = Array.from({ length: count }, (_, i) => `m${i}`);
    return {
      nodelist: nodes.map((node) => ({ node, groups: 'all' })),
      hosts: nodes.map((node, i) => ({ node, ip: `10.1.${i >> 8}.${i & 255}` })),
    };
  };

  it('ends, however many times its loops go round', async () => {
    const rows = manyNodes(300);
    expect(await refusal(`${'#EACH:hosts#'.repeat(3)}${'#END#'.repeat(3)}`, { node: 'm1', rows })).toContain(
      'go round more than 1000000 times',
    );
    expect(await refusal(`${'#EACH:groups#'.repeat(9)}${'#END#'.repeat(9)}`)).toContain('at most 8 loops');
    expect(await refusal(`#EACH:hosts#${'x'.repeat(30_000)}#END#`, { node: 'm1', rows })).toContain(
      'makes a file of more than',
    );
    const line = await made('#EACH:hosts##ITEM:name#,#END#\n', { node: 'm1', rows });
    expect(line.split(',')).toHaveLength(301);
  });

  it('leaves others their turn while its loops go round', async () => {
    const reader = effectiveReader(snapshot(manyNodes(500)));
    await hostItems(reader.snapshot);
    let turns = 0;
    let hasEnded = false;
    const count = (): void => {
      turns++;
      if (!hasEnded) setImmediate(count);
    };
    setImmediate(count);
    await made('#EACH:hosts##EACH:hosts:all##TABLE:hosts:node=m7:ip##END##END#', { node: 'm1', reader });
    hasEnded = true;
    expect(turns).toBeGreaterThan(3);
  });

  it('reads hosts again only after a change of what they are made of', async () => {
    const before = snapshot();
    const change = (table: string, key: string, columns: Row) => {
      const row = before.get(table, key);
      return before.apply([{ table, key, before: row, after: { ...row, ...columns } }], 2);
    };
    const hosts = await hostItems(before);
    expect(await hostItems(change('nodelist', 'n1', { status: 'booting' }))).toBe(hosts);
    expect(await hostItems(change('nodelist', 'n1', { groups: 'all' }))).not.toBe(hosts);
    expect(await hostItems(change('hosts', 'n1', { node: 'n1', ip: '10.0.0.9' }))).not.toEqual(hosts);
    expect(await hostItems(change('site', 'domain', { key: 'domain', value: 'other.example' }))).not.toEqual(hosts);
  });

  it('hides rows of nodes from whoever may not know of these nodes, whether they exist or not', async () => {
    const rows = {
      ipmi: [
        { node: 'n1', bmc: '10.9.0.1' },
        { node: 'n2', bmc: '10.9.0.2' },
        { node: 'all', bmc: '10.9.0.3' },
        { node: 'compute', bmc: '10.9.0.4' },
      ],
      nodegroup: [{ groupname: 'all', comments: 'everything' }],
    };
    const text = [
      ...['node=n2', 'bmc=10.9.0.2', 'node=n99', 'node=all', 'node=compute', 'node=n1', '$NODE'].map(
        (key) => `#TABLE:ipmi:${key}:bmc#`,
      ),
      '#TABLE:nodegroup:all:comments#',
      '#TABLE:site:domain:value#',
    ].join(' ');
    const own = '10.9.0.4 10.9.0.1 10.9.0.1';
    const x = 'xxxxxxxx';
    expect(await made(text, { rows, sees: (node) => node === 'n1' })).toBe(
      `${x} ${x} ${x} ${x} ${own} ${x} cluster.example`,
    );
    expect(await made(text.replace('#TABLE:ipmi:node=n99:bmc# ', ''), { rows })).toBe(
      `10.9.0.2 10.9.0.2 10.9.0.3 ${own} everything cluster.example`,
    );
  });

  it('names no value of another node in an error', async () => {
    const rows = { nodepos: [{ node: 'n2', rack: 'a b' }] };
    const told = await refusal('#!/usr/bin/python3\n#TABLE:nodepos:node=n2:rack#\n', { rows });
    expect(told).toContain('cannot be written');
    expect(told).not.toContain('a b');
  });

  it('lets no value become part of what other programs run', async () => {
    const rows = { nodepos: [{ node: 'n1', rack: 'a b' }] };
    for (const [path, text] of [
      ['/etc/cron.d/x', '* * * * * root /bin/x #ATTRIBUTE:rack#\n'],
      ['/etc/systemd/system/x.service', 'ExecStart=/bin/x #ATTRIBUTE:rack#\n'],
      ['/opt/x', '#!/usr/bin/python3\nrack = "#ATTRIBUTE:rack#"\n'],
    ])
      expect(await refusal(text!, { path: path!, rows })).toContain('cannot be written');
    expect(await made('ExecStart=/bin/x #ATTRIBUTE:rack#\n', { path: '/etc/systemd/system/x.service' })).toContain(
      'r1',
    );
  });

  it.each(['/etc/bash.bashrc', '/etc/bashrc', '/root/.bashrc', '/home/a/.profile', '/etc/zsh/zshrc', '/root/.zshenv'])(
    'quotes values in %s, which shells read',
    async (path) => {
      const rows = { nodepos: [{ node: 'n1', rack: '$(reboot)' }] };
      expect(await made('RACK=#ATTRIBUTE:rack#\n', { path, rows })).toBe("RACK='$(reboot)'\n");
      expect(await refusal('n=$(( #ATTRIBUTE:rack# + 1 ))\n', { path, rows })).toContain('line 1: #ATTRIBUTE:rack#');
      expect(await refusal('\nn=`echo #HOSTNAME#`\n', { path, rows })).toContain('line 2: #HOSTNAME# cannot stand');
    },
  );

  it.each([
    '/etc/anacrontab',
    '/etc/cron.d/x',
    '/var/spool/cron/root',
    '/etc/logrotate.d/x',
    '/etc/network/interfaces',
  ])('lets only plain values stand in %s', async (path) => {
    const rows = { nodepos: [{ node: 'n1', rack: '$(reboot)' }] };
    expect(await refusal('1 5 x /bin/x #ATTRIBUTE:rack#\n', { path, rows })).toContain('cannot be written');
    expect(await made('1 5 x /bin/x #ATTRIBUTE:rack#\n', { path })).toBe('1 5 x /bin/x r1\n');
  });

  it('lets no value begin another line or another command', async () => {
    const rows = (rack: string) => ({ nodepos: [{ node: 'n1', rack }] });
    expect(await refusal('x #ATTRIBUTE:rack#', { rows: rows('a\nroot::0:0') })).toContain('line breaks');
    const script = '#!/bin/sh\necho #ATTRIBUTE:rack#\n';
    expect(await made(script, { rows: rows('$(reboot)') })).toBe("#!/bin/sh\necho '$(reboot)'\n");
    const variables = { path: '/etc/default/x', rows: rows('$(reboot)') };
    expect(await made('RACK=#ATTRIBUTE:rack#\n', variables)).toBe("RACK='$(reboot)'\n");
    expect(await made('rack: #ATTRIBUTE:rack#\n', { rows: rows('$(reboot)') })).toBe('rack: $(reboot)\n');
  });
});
