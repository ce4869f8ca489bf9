import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { isNodeName } from '../../src/core/object-names.ts';
import { checkGroupName, checkObjectName } from '../../src/objects/names.ts';
import { nodeType, typeNamed } from '../../src/objects/types.ts';

describe('a node', () => {
  test.each(['n1', 'Node9', 'a-b_c', '_x', '1', 'n'.repeat(63)])('may be named %s', (name) => {
    expect(isNodeName(name)).toBe(true);
    expect(() => checkObjectName(nodeType, name)).not.toThrow();
  });
  test.each(['', 'a b', 'a.b', '10.0.0.1', '-a', 'a/b', 'a,b', 'n[1-3]', 'ä', 'a\n', 'ALLRESOURCES', 'n'.repeat(64)])(
    'cannot be named %j',
    (name) => {
      expect(() => checkObjectName(nodeType, name)).toThrow(Fault);
    },
  );
  test('is told that a dot is what is wrong', () => {
    expect(() => checkObjectName(nodeType, 'n.x')).toThrow('has no "."');
  });
});

describe('a group', () => {
  test.each(['all', 'rack-1', 'a.b', 'G_1', '__mgmtnode'])('may be named %s', (name) => {
    expect(() => checkGroupName(name)).not.toThrow();
  });
  test.each(['', 'a b', 'g[1-3]', 'a,b', 'a@b', '/a', '^a', '-a', 'n1-n3', 'n1+2', 'x'.repeat(256), 'a|b'])(
    'cannot be named %j',
    (name) => {
      expect(() => checkGroupName(name)).toThrow(Fault);
    },
  );
});

describe('another object', () => {
  const osimage = typeNamed('osimage');
  test.each(['rhels8.2-x86_64-install-compute', 'with blanks inside', 'a/b', '10.0.0.0'])('may be named %j', (name) => {
    expect(() => checkObjectName(osimage, name)).not.toThrow();
  });
  test.each(['', ' a', 'a ', 'a\nb', 'ALLRESOURCES', 'x'.repeat(256)])('cannot be named %j', (name) => {
    expect(() => checkObjectName(osimage, name)).toThrow(Fault);
  });
});
