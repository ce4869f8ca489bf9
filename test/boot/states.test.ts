import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { atOnce } from '../../src/core/slices.ts';
import { Draft } from '../../src/database/draft.ts';
import { effectiveReader } from '../../src/objects/effective.ts';
import { parseBootStates, planBootStates, shownBootState, statesOnDiscovery } from '../../src/boot/states.ts';
import { memoryStore, testOrigin, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
const image = { imagename: 'el9', provmethod: 'install', osvers: 'rhels9.6', osarch: 'x86_64', profile: 'compute' };

beforeEach(async () => {
  cluster = await memoryStore();
  await cluster.put(
    ...['n1', 'n2', 'nomac', 'nonetboot'].map((node) => ['nodelist', { node, groups: 'all' }] as const),
    ['noderes', { node: 'n1', netboot: 'xnba' }],
    ['noderes', { node: 'n2', netboot: 'pxe' }],
    ['noderes', { node: 'nomac', netboot: 'xnba' }],
    ['mac', { node: 'n1', mac: '52:54:00:00:00:01' }],
    ['mac', { node: 'n2', mac: '52:54:00:00:00:02' }],
    ['osimage', image],
    ['osimage', { ...image, imagename: 'ram', provmethod: 'netboot' }],
    ['osimage', { ...image, imagename: 'clone', provmethod: 'sysclone' }],
    ['osimage', { imagename: 'bare' }],
  );
});
afterEach(() => cluster.close());

async function bring(nodes: string[], state: string): Promise<string[]> {
  let lines: string[] = [];
  await cluster.store.change(testOrigin, (head) => {
    const draft = new Draft(head);
    const results = atOnce(planBootStates(draft, nodes, parseBootStates(state)));
    lines = results.map((one) => ('error' in one ? `${one.node}: ${one.error}` : JSON.stringify(one)));
    return draft.changes();
  });
  return lines;
}
const row = (table: string, node: string) => cluster.current.get(table, node);
const shown = (node: string) => shownBootState(effectiveReader(cluster.current), node);

describe('a state', () => {
  it.each<[string, object, string]>([
    ['boot', { kind: 'word', word: 'boot' }, ''],
    ['osimage', { kind: 'image', name: undefined }, ''],
    ['osimage=el9', { kind: 'image', name: 'el9' }, ''],
    ['runcmd=bmcsetup', { kind: 'task', text: 'runcmd=bmcsetup' }, ''],
    ['runimage=http://h/x.tgz?a=b', { kind: 'task', text: 'runimage=http://h/x.tgz?a=b' }, ''],
    ['runcmd=bmcsetup, osimage=el9', { kind: 'task' }, 'osimage=el9'],
    ['next', { kind: 'next' }, ''],
    ['enact', { kind: 'enact' }, ''],
    ['ondiscover=runcmd:setup|osimage:el9', { kind: 'ondiscover', text: 'runcmd:setup|osimage:el9' }, ''],
  ])('%s is understood', (text, first, rest) => {
    expect(parseBootStates(text)).toMatchObject({ first, rest });
  });

  it.each([
    ['bogus', /Unknown state bogus requested; there are osimage=NAME, boot/],
    ['', /Unknown state {2}requested/],
    ['runcmd=', /Unknown state runcmd= requested/],
    ['install', /no longer used: name the image/],
    ['boot,bogus', /Unknown state bogus/],
    ['boot,next', /next cannot be part of a list/],
    ['enact,boot', /enact cannot be part of a list/],
    ['ondiscover=bogus:x', /Unknown state bogus/],
    ['ondiscover=next', /cannot get the state "next"/],
    ['iscsiboot', /iscsiboot is not supported/],
    ['runimage=archive.tgz', /needs the URL of an archive/],
    ['runcmd=a\nb', /not printable ASCII/],
  ])('%j is refused', (text, message) => {
    expect(() => parseBootStates(text)).toThrow(message);
  });
});

describe('bringing nodes to a state', () => {
  it('keeps what they boot and what they then are', async () => {
    expect(shown('n1')).toBe('offline');
    expect(shown('n2')).toBe('boot');
    await bring(['n1'], 'osimage=el9');
    expect(row('chain', 'n1')).toEqual({ node: 'n1', currstate: 'install rhels9.6-x86_64-compute', currchain: 'boot' });
    expect(row('nodetype', 'n1')).toEqual({
      node: 'n1',
      provmethod: 'el9',
      os: 'rhels9.6',
      arch: 'x86_64',
      profile: 'compute',
    });
    expect(shown('n1')).toBe('install rhels9.6-x86_64-compute');
    await bring(['n1'], 'shell');
    expect(row('chain', 'n1')).toEqual({ node: 'n1', currstate: 'shell' });
  });

  it('takes what is left of a list, one after the other', async () => {
    await bring(['n1'], 'runcmd=bmcsetup,osimage=ram,shell');
    expect(row('chain', 'n1')).toEqual({ node: 'n1', currstate: 'runcmd=bmcsetup', currchain: 'osimage=ram,shell' });
    await bring(['n1'], 'next');
    expect(row('chain', 'n1')).toEqual({
      node: 'n1',
      currstate: 'netboot rhels9.6-x86_64-compute',
      currchain: 'shell',
    });
    await bring(['n1'], 'next');
    expect(row('chain', 'n1')).toEqual({ node: 'n1', currstate: 'shell' });
    expect(await bring(['n1'], 'next')).toEqual([expect.stringMatching(/^n1: Nothing is left to do next/)]);
  });

  it('takes the image that the node names if none is given, and forgets that of a node without a disk that is to boot', async () => {
    expect(await bring(['n1'], 'osimage')).toEqual([expect.stringMatching(/^n1: No image is named/)]);
    await bring(['n1'], 'osimage=ram');
    expect(row('chain', 'n1')?.['currchain']).toBeUndefined();
    await bring(['n1'], 'osimage');
    await bring(['n1'], 'boot');
    expect(row('nodetype', 'n1')?.['provmethod']).toBeUndefined();
    await bring(['n1'], 'osimage=el9');
    await bring(['n1'], 'boot');
    expect(row('nodetype', 'n1')?.['provmethod']).toBe('el9');
  });

  it('keeps what is to be done on discovery, and the state it has', async () => {
    await bring(['n1'], 'shell');
    expect(await bring(['n1'], 'ondiscover=runcmd:setup --ip=1:2|osimage:el9')).toEqual([
      '{"node":"n1","value":{"bootstate":"shell"}}',
    ]);
    expect(row('chain', 'n1')).toMatchObject({ currstate: 'shell', ondiscover: 'runcmd:setup --ip=1:2|osimage:el9' });
    expect(statesOnDiscovery('runcmd:setup --ip=1:2|osimage:el9|shell')).toBe(
      'runcmd=setup --ip=1:2,osimage=el9,shell',
    );
    expect(await bring(['n1'], 'enact')).toEqual(['{"node":"n1","value":{"bootstate":"shell"}}']);
    expect(await bring(['n2'], 'enact')).toEqual([expect.stringMatching(/^n2: Cannot determine current state/)]);
  });

  it('warns of a way to boot that the machine does not have, and refuses it if nobody named the image', async () => {
    await cluster.put(['noderes', { node: 'n1', netboot: 'petitboot' }]);
    const problem = 'The attribute netboot is petitboot, which machines of x86_64 do not boot with';
    expect(await bring(['n1'], 'osimage=el9')).toEqual([expect.stringContaining(`"Message":"${problem}`)]);
    expect(await bring(['n1'], 'osimage')).toEqual([expect.stringContaining(`n1: ${problem}`)]);
  });

  it('lets nodes fail alone that cannot be brought there', async () => {
    expect(await bring(['n1', 'nomac', 'nonetboot'], 'osimage=el9')).toEqual([
      '{"node":"n1","value":{"bootstate":"install rhels9.6-x86_64-compute"}}',
      'nomac: No MAC address available for this node',
      expect.stringMatching(/^nonetboot: The attribute netboot is not set; set it to one of xnba, grub2/),
    ]);
    expect(row('chain', 'nomac')).toBeUndefined();
    expect(await bring(['nomac'], 'boot')).toEqual(['{"node":"nomac","value":{"bootstate":"boot"}}']);
    expect(await bring(['n1'], 'osimage=bare')).toEqual([expect.stringMatching(/^n1: The image bare lacks one of/)]);
  });

  it('refuses all for an image that does not exist', async () => {
    await expect(bring(['n1', 'n2'], 'osimage=nosuch')).rejects.toThrow(
      /Cannot find the OS image nosuch in the osimage table/,
    );
    expect(row('chain', 'n1')).toBeUndefined();
  });
});

it('an image that is copied to the disk is followed by a boot from there', async () => {
  await bring(['n1'], 'osimage=clone');
  expect(row('chain', 'n1')).toMatchObject({ currstate: 'sysclone rhels9.6-x86_64-compute', currchain: 'boot' });
});
