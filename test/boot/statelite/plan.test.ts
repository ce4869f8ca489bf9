import { describe, expect, it } from 'vitest';
import { effectiveReader } from '../../../src/objects/effective.ts';
import { fileWay, planText, statelitePlan } from '../../../src/boot/statelite.ts';
import { imageNamed } from '../../../src/objects/node-image.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

describe('options of litefile', () => {
  it.each([
    [undefined, 'bind', 'memory'],
    ['', 'bind', 'memory'],
    ['tmpfs', 'bind', 'memory'],
    ['rw', 'bind', 'memory'],
    ['tmpfs,rw', 'bind', 'memory'],
    ['bind', 'bind', 'memory'],
    ['link', 'link', 'memory'],
    ['link,rw', 'link', 'memory'],
    ['link,tmpfs', 'link', 'memory'],
    ['persistent', 'bind', 'state'],
    ['persistent,rw', 'bind', 'state'],
    ['bind,persistent', 'bind', 'state'],
    [' Link , Persistent ', 'link', 'state'],
    ['ro', 'bind', 'tree'],
    ['bind,ro', 'bind', 'tree'],
    ['link,ro', 'link', 'tree'],
    ['con', 'bind', 'joined'],
    ['tmpfs,con', 'bind', 'joined'],
    ['link,con', 'link', 'joined'],
  ])('%j', (options, place, content) => {
    expect(fileWay(options, 'here')).toEqual({ place, content });
  });

  it.each([
    ['sticky', /^here: there is no option "sticky"; there are tmpfs/],
    ['constructor', /no option "constructor"/],
    ['localdisk', /Files on a disk of the node are persistent, with the disk as statemnt\.$/],
    ['ro,rw', /^here: the options ro and rw contradict each other/],
    ['tmpfs,persistent', /options tmpfs and persistent contradict/],
    ['persistent,con', /options persistent and con contradict/],
    ['link,bind', /options link and bind contradict/],
  ])('%j is refused', (options, sentence) => {
    expect(() => fileWay(options, 'here')).toThrow(sentence);
  });
});

type Rows = Readonly<Record<string, readonly Record<string, string>[]>>;
const cluster: Rows = {
  nodelist: [
    { node: 'n1', groups: 'all' },
    { node: 'store', groups: 'servers' },
  ],
  hosts: [{ node: 'store', ip: '10.0.0.9' }],
  noderes: [{ node: 'all', nfsserver: 'store' }],
  nodetype: [{ node: 'n1', profile: 'compute' }],
  osimage: [{ imagename: 'img', provmethod: 'statelite', groups: 'lite,x' }],
};
const planOf = (rows: Rows): string => {
  const reader = effectiveReader(snapshotOf({ ...cluster, ...rows }));
  return planText(statelitePlan(reader, 'n1', imageNamed(reader, 'img'), '10.0.0.1'));
};
const file = (path: string, options = '', image = 'ALL') => ({ image, file: path, options });
const tree = (priority: string, directory: string, more = {}) => ({ priority, directory, ...more });

describe('the plan of a node', () => {
  it.each<[string, Rows, string[]]>([
    ['is empty without rows', {}, []],
    [
      'has directories before what is in them, and what is disabled is not in it',
      { litefile: [file('/etc/ssh/'), file('/etc/'), { ...file('/x'), disable: '1' }] },
      ['directory bind memory /etc', 'directory bind memory /etc/ssh'],
    ],
    [
      'has the row that names the image, before that of its group, before that of all',
      {
        litefile: [
          file('/a', 'link'),
          file('/a', 'con', 'img'),
          file('/b', 'link'),
          file('/b', 'con', 'lite'),
          file('/c', '', 'other'),
        ],
      },
      ['file bind joined /a', 'file bind joined /b'],
    ],
    [
      'has trees by the number of their priority, with the node’s values',
      {
        litetree: [
          tree('10', '10.0.0.2:/b', { mntopts: 'soft,timeo=10' }),
          tree('9', '$noderes.nfsserver://a/$node/$nodetype.profile'),
          tree('11', '/c', { image: 'img' }),
          tree('12', '[fd00::1]:/d'),
          tree('1', 'unused:/e', { image: 'other' }),
        ],
      },
      [
        'tree nfs 10.0.0.9 /a/n1/compute -',
        'tree nfs 10.0.0.2 /b soft,timeo=10',
        'tree nfs 10.0.0.9 /c -',
        'tree nfs fd00::1 /d -',
      ],
    ],
    [
      'has the state on a server',
      { statelite: [{ node: 'all', statemnt: 'nas.test:/state', mntopts: 'vers=3' }] },
      ['state nfs nas.test /state vers=3 n1'],
    ],
    ['or on a disk', { statelite: [{ node: 'n1', statemnt: 'LABEL=state' }] }, ['state disk LABEL=state - - n1']],
    [
      'encodes what a shell would read as something else',
      { litefile: [file('/a b$(c)%"\'\\`*')] },
      ['file bind memory /a%20b%24%28c%29%25%22%27%5C%60%2A'],
    ],
  ])('%s', (_name, rows, lines) => {
    expect(planOf(rows).split('\n').filter(Boolean)).toEqual(lines);
  });

  it.each<[string, Rows, RegExp]>([
    [
      'a file that is kept nowhere',
      { litefile: [file('/a', 'persistent')] },
      /\/a of image img is persistent .* \(statemnt of n1\)/,
    ],
    [
      'a file that comes from nowhere',
      { litefile: [file('/a', 'ro')] },
      /\/a of image img is ro .* litetree names no directory/,
    ],
    ['a file below a link', { litefile: [file('/a/', 'link'), file('/a/b')] }, /has \/a\/b below \/a, which is a link/],
    ['a way out', { litefile: [file('/a/../b')] }, /^litefile ALL \/a\/\.\.\/b: a file is a path from the root/],
    ['no path', { litefile: [file('etc/a')] }, /a file is a path from the root/],
    ['the root', { litefile: [file('//')] }, /a file is a path from the root/],
    ['a sign that cannot be seen', { litefile: [file('/a\nfile bind memory /b')] }, /a file is a path from the root/],
    ['what the kernel makes', { litefile: [file('/dev/null')] }, /what is in \/proc, .* is made again/],
    ['a directory of joined files', { litefile: [file('/a/', 'con')] }, /con is for files/],
    ['a command', { litetree: [tree('1', 's:/#CMD=id#')] }, /^litetree 1: .* commands are not run/],
    ['a secret', { litetree: [tree('1', 's:/$ipmi.password')] }, /\$ipmi\.password is a secret/],
    ['a table of no nodes', { litetree: [tree('1', 's:/$site.value')] }, /\$site\.value is not known/],
    [
      'a value that is not there',
      { litetree: [tree('1', 's:/$nodetype.os')] },
      /\$nodetype\.os has no value for the node n1/,
    ],
    ['a disk as a tree', { litetree: [tree('1', '/dev/sda1')] }, /litetree is a disk of the node/],
    [
      'a place that is none',
      { statelite: [{ node: 'n1', statemnt: '/dev/../sda' }] },
      /is not a location: write SERVER:\/PATH/,
    ],
    [
      'options of a shell',
      { statelite: [{ node: 'n1', statemnt: 's:/p', mntopts: 'ro;id' }] },
      /mount options "ro;id"/,
    ],
  ])('refuses %s', (_name, rows, sentence) => {
    expect(() => planOf(rows)).toThrow(sentence);
  });
});
