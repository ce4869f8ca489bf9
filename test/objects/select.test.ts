import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { knownNodes } from '../../src/objects/cluster.ts';
import {
  existingObjects,
  namedObjects,
  policyNodes,
  policyNodesInSlices,
  unknownObjects,
} from '../../src/objects/select.ts';
import { groupType, nodeType, typeNamed } from '../../src/objects/types.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const cluster = snapshotOf({
  nodelist: [
    { node: 'n1', groups: 'a' },
    { node: 'n2', groups: 'a' },
    { node: 'h1', groups: 'a', hidden: 'yes' },
    { node: 'off', groups: 'a', disable: '1' },
  ],
  ipmi: [{ node: 'n1', bmc: 'b', password: 'sealed' }],
  nodegroup: [{ groupname: 'none', grouptype: 'static', members: 'static' }],
  osimage: [{ imagename: 'i1' }, { imagename: 'i2', disable: '1' }],
  networks: [{ net: '10.0.0.0', mask: '255.0.0.0', netname: 'net' }],
  policy: [{ priority: '1', name: 'root' }],
});

describe('the objects a path names', () => {
  test.each<[string, string, string[], string[]]>([
    ['node', 'n1', ['n1'], []],
    ['node', 'a', ['n1', 'n2'], []],
    ['node', 'h1', ['h1'], []],
    ['node', 'n[1-3]', ['n1', 'n2'], ['n3']],
    ['node', 'new,n1', ['n1'], ['new']],
    ['node', 'off', [], ['off']],
    ['node', '/n.*', ['n1', 'n2'], []],
    ['node', 'none', [], []],
    ['group', 'a,none,nope', ['a', 'none'], ['nope']],
    ['osimage', 'i1, i2,i1', ['i1'], ['i2']],
    ['network', 'net', ['net'], []],
    ['policy', '1,2', ['1'], ['2']],
    ['site', 'clustersite', ['clustersite'], []],
  ])('%s %s', (type, text, existing, missing) => {
    expect(namedObjects(cluster, typeNamed(type), text, {})).toEqual({ existing, missing });
  });
});

test('where all must exist, each that does not has a sentence', () => {
  expect(existingObjects(cluster, nodeType, 'n2,n1', {})).toEqual(['n1', 'n2']);
  expect(() => existingObjects(cluster, nodeType, 'n1,x,y', {})).toThrow(
    expect.objectContaining({
      kind: 'unknown-object',
      sentences: ['There is no node named "x".', 'There is no node named "y".'],
    }),
  );
});

test('thousands of unknown names make few sentences', () => {
  const { sentences } = unknownObjects(
    nodeType,
    Array.from({ length: 5_000 }, (_, i) => `n${i}`),
  );
  expect(sentences).toHaveLength(21);
  expect(sentences.at(-1)).toContain('4980');
});

test('a range of names that nobody knows is refused before all of them were looked up', () => {
  const left = { kind: 'unknown-object', message: expect.stringMatching(/^Invalid nodes.* and more than 9950 more$/) };
  expect(() => existingObjects(cluster, nodeType, 'x[1-1000]y[1-999]', {})).toThrow(expect.objectContaining(left));
  expect(() => knownNodes(cluster, 'x[1-1000]y[1-999]')).toThrow(expect.objectContaining(left));
  expect(namedObjects(cluster, nodeType, 'x[1-100]y[1-200]', {}).missing).toHaveLength(20_000);
});

test('a policy is asked about nodes, about the members of groups, hidden ones too, and about groups without members', () => {
  expect(policyNodes(cluster, nodeType, ['n1'])).toEqual(['n1']);
  expect(policyNodes(cluster, groupType, ['a', 'none'])).toEqual(['h1', 'n1', 'n2', 'none']);
  expect(policyNodes(cluster, typeNamed('osimage'), ['i1'])).toBeUndefined();
});

describe('a range', () => {
  test.each(['ipmi.password==x', 'ipmi.bogus==x', 'bogus.bmc==x', 'site.value==x', 'token.tokenid==x'])(
    'by %s is refused',
    (range) => {
      expect(() => knownNodes(cluster, range)).toThrow(Fault);
    },
  );
  test('can select by a column in effect', () => {
    expect(knownNodes(cluster, 'ipmi.bmc==b')).toEqual(['n1']);
  });
  test('names what it does not know', () => {
    expect(() => knownNodes(cluster, 'n1,zz')).toThrow('zz');
  });
});

test('others get their turn between groups, whose members may take long to find', () => {
  expect([...policyNodesInSlices(cluster, groupType, ['a', 'none'])]).toHaveLength(2);
});
