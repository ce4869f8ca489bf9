import { describe, expect, test } from 'vitest';
import { type Cluster, criteriaIn, expand, expandSyntactic } from '../../src/noderange/index.ts';
import { faultOf } from '../harness/fault-of.ts';
import { datasetCluster, plainCluster } from './dataset.ts';

const cluster = datasetCluster();

describe('a malformed range is an error that names the piece and its column', () => {
  test.each([
    ['(rack1', '"(" at column 1'],
    ['rack1,((rack2)', '"(" at column 7'],
    ['node1,node5-node3', '"node5-node3" at column 7'],
    ["'node1',node5-node3", '"node5-node3" at column 9'],
    ['rack1@node5-node3', '"node5-node3" at column 7'],
    ['005-003', '"005-003" at column 1'],
    ['n001-n12', '"n001-n12" at column 1'],
    ['node[1,3-1]', '"3-1" at column 8'],
    ['node[1-2-3]', '"1-2-3" at column 6'],
    ['node[a-c]', '"a-c" at column 6'],
    ['node[1a1-2a2]', '"1a1-2a2" at column 6'],
    ['node[,]', '"[,]" at column 5'],
    ['node1,f1n1-f2n3', '"f1n1-f2n3" at column 7'],
    ['(node1,(f1n1-f2n3))', '"f1n1-f2n3" at column 9'],
    ['node1,color==red', '"color==red" at column 7'],
    ['toString==red', '"toString==red" at column 1'],
    ['.mgt==red', '".mgt==red" at column 1'],
    ['node1,a~b', '"a~b" at column 7'],
    ['==x', '"==x" at column 1'],
    ['rack1,/node[', '"/node[" at column 7'],
    ['rack1,nodehm.mgt=~[', '"nodehm.mgt=~[" at column 7'],
    ['/node)', '"/node)" at column 1'],
    ['node1[8-11]', '"node1[8-11]" at column 1'],
    ['x,node[1-3]0', '"node[1-3]0" at column 3'],
    ['n[1-2][9-10]', '"n[1-2][9-10]" at column 1'],
    ['rack1,n[1-', '"[1-" at column 8'],
    ['n[1-2]x[3', '"[3" at column 8'],
  ])('%s', (text, place) => {
    const fault = faultOf(() => expand(text, cluster));
    expect(fault.kind).toBe('invalid');
    expect(fault.message).toContain(place);
  });

  test('also when unknown names are literal', () => {
    expect(faultOf(() => expand('new5-new3', cluster, { verify: false })).kind).toBe('invalid');
    expect(faultOf(() => expandSyntactic('f1n1-f2n3')).kind).toBe('invalid');
  });

  test('in excludenodes it says so', () => {
    const fault = faultOf(() => expand('node1', cluster, { exclude: 'node5-node3' }));
    expect(fault.message).toContain('"node5-node3" at column 1 of the site attribute excludenodes');
  });
});

describe('literal names', () => {
  test.each([
    ['a-b-c', ['a-b-c']],
    ['node-1', ['node-1']],
    ['node1-node3x', ['node1-node3x']],
    ['node1-3', ['node1-3']],
    ['fd00::1', ['fd00::1']],
    ['a-', ['a-']],
    ['x+y', ['x+y']],
    ['cn-1-b+1', ['cn-1-b+1']],
    ['w-w', ['w']],
    ['w1-w1-w1-w3', ['w1-w1', 'w1-w2', 'w1-w3']],
    ['w[1-2]-w3', ['w1', 'w2', 'w3']],
    ['node1[0-2]', ['node10', 'node11', 'node12']],
    ['w0[8-9]', ['w08', 'w09']],
    ['w[1-03]', ['w1', 'w2', 'w3']],
    ['w[1a-3a]', ['w1a', 'w2a', 'w3a']],
    ['w[1:3]', ['w1', 'w2', 'w3']],
    ['w[1,3]+1', ['w1', 'w2', 'w3', 'w4']],
    ['10.0.0.1+2', ['10.0.0.1', '11.0.0.1', '12.0.0.1']],
    ['w98+3', ['w100', 'w101', 'w98', 'w99']],
    ['w08+3', ['w08', 'w09', 'w10', 'w11']],
    ['w[b[1]c]', ['w[b1c]']],
    [
      'w99999999999999999998-w100000000000000000000',
      ['w100000000000000000000', 'w99999999999999999998', 'w99999999999999999999'],
    ],
    ['1-2', ['node1', 'node2']],
    ['1[0]', ['node10']],
    ['[1-2]', ['1', '2']],
    ['[7]', ['7']],
    ['[n]1-n[3-4]', ['n1-n3', 'n1-n4']],
    ['a[1-2],-a2', ['a1']],
    ['a[1,2]@a[2,3]', ['a2']],
  ])('%s', (text, nodes) => {
    expect(expandSyntactic(text)).toEqual(nodes);
    expect(expand(text, plainCluster(), { verify: false })).toEqual({ nodes, missed: [] });
  });
});

describe('set operators', () => {
  test.each([
    ['rack1,-node1,node1', ['node2', 'node3', 'node4', 'node5']],
    ['rack1@-(odd)', ['node1', 'node3', 'node5']],
    ['rack1,@-odd', ['node1', 'node3', 'node5']],
    ['rack1,@(odd)', ['node1', 'node3', 'node5']],
    ['rack1@@odd', ['node1', 'node3', 'node5']],
    ['@(rack1)', []],
    ['(rack1)@(odd)@(even)', []],
    ['(rack1)-odd', ['node2', 'node4']],
    ['(node1)(node2)(node3)', ['node1', 'node2', 'node3']],
    ['node9,(rack1)@odd,node8', ['node1', 'node3', 'node5', 'node8', 'node9']],
    ['login,(rack1@(odd,node2),-node1)', ['login', 'node2', 'node3', 'node5']],
    ['(node1),-(rack1),node2,(node9)', ['node9']],
    ['node[1,2]@odd,login', ['login', 'node1']],
    ['node1,-', ['node1']],
    ['-', []],
    ['', []],
  ])('%s', (text, nodes) => {
    expect(expand(text, cluster)).toEqual({ nodes, missed: [] });
  });

  test('a dangling minus before a parenthesis is no operator', () => {
    expect(expand('rack1-(node1)', cluster).missed).toEqual(['rack1-']);
  });
});

describe('what is found first', () => {
  const named: Cluster = {
    ...plainCluster(['n1-n3', 'n1', '7', 'node8', 'db-1', 'a:b']),
    group: (name) => (name === 'rack-1' || name === 'n1' ? ['member'] : name === 'none' ? [] : undefined),
  };
  test.each([
    ['n1-n3', ['n1-n3']],
    ['n1', ['n1']],
    ['7', ['7']],
    ['7-8', ['7', 'node8']],
    ['a:b', ['a:b']],
    ['db-[1]', ['db-1']],
    ['rack-[1]', ['member']],
    ['rack-1', ['member']],
    ['none', []],
    ['[7],[d]b-1', ['7', 'db-1']],
  ])('%s', (text, nodes) => {
    expect(expand(text, named)).toEqual({ nodes, missed: [] });
  });

  test('a piece with brackets in front is missed as a whole', () => {
    expect(expand('[7-8]', named)).toEqual({ nodes: [], missed: ['[7-8]'] });
  });
});

describe('criteria', () => {
  test('reach the cluster with the pattern bare and the column of the text as written', () => {
    const asked: unknown[] = [];
    const asking: Cluster = {
      ...plainCluster(),
      select(criterion) {
        asked.push(criterion);
        return [];
      },
    };
    expand('"a.b.c!~/x/",tags=y', asking);
    expect(asked).toEqual([
      { table: 'a', column: 'b.c', op: '!~', value: 'x', text: 'a.b.c!~/x/', at: 2 },
      { table: 'nodelist', column: 'groups', op: '==', value: 'y', text: 'tags=y', at: 14 },
    ]);
  });

  test.each([
    ['mgt!~ipmi|kvm@(rack1,units)', ['rack01unit01', 'rack01unit02', 'rack01unit03']],
    ['mgt=~^k', ['node3']],
    ['mgt=kvm', ['node3']],
  ])('%s', (text, nodes) => {
    expect(expand(text, cluster).nodes).toEqual(nodes);
  });
});

describe('range files', () => {
  const files: Record<string, string[]> = {
    good: ['node1', '#node2', 'node3 comment', '-node1', 'node[4-5]'],
    unknown: ['node1', 'secret1', 'secret2'],
    reversed: ['node1', 'node9-node1'],
    chained: ['node1', 'node2,^good'],
  };
  const reading: Cluster = { ...cluster, file: (path) => files[path] };

  test.each([
    ['^good', ['node1', 'node3', 'node4', 'node5']],
    ['login,-^good', ['login', 'node1', 'node3', 'node4', 'node5']],
    ['^good@odd', ['node1', 'node3', 'node5']],
    ['login,^good@odd', ['login', 'node1', 'node3', 'node5']],
  ])('%s', (text, nodes) => {
    expect(expand(text, reading)).toEqual({ nodes, missed: [] });
  });

  test('unknown names are missed by file and line: inside an expression all, at the top the last line only', () => {
    expect(expand('^unknown', reading).missed).toEqual(['^unknown:3']);
    expect(expand('(^unknown)', reading).missed).toEqual(['^unknown:2', '^unknown:3']);
    expect(expand('nosuch,^good', reading).missed).toEqual(['nosuch']);
  });

  test('errors name the line and quote nothing of it', () => {
    const fault = faultOf(() => expand('^reversed', reading));
    expect(fault.message).toContain('Line 2 of the range file "^reversed"');
    expect(fault.message).not.toContain('node9');
  });

  test('a file cannot name a file', () => {
    expect(faultOf(() => expand('^chained', reading)).message).toContain('Line 2');
  });

  test('are refused where they are switched off', () => {
    expect(faultOf(() => expand('node1,^good', plainCluster(['node1']))).message).toContain('"^good" at column 7');
    expect(faultOf(() => expandSyntactic('^good')).kind).toBe('invalid');
  });
});

test.each([
  ['node1-node9,(rack1)', []],
  ['mgt=ipmi', ['mgt=ipmi']],
  ["rack1,-'nodehm.mgt!=kvm'@(mac.mac=~^52,node[1-2])", ['nodehm.mgt!=kvm', 'mac.mac=~^52']],
  ['mgt==ipmi,color==red,mgt==kvm', ['mgt==ipmi']],
])('the criteria of %s are known without a cluster, up to the first mistake', (text, criteria) => {
  expect(criteriaIn(text).map((criterion) => criterion.text)).toEqual(criteria);
});
