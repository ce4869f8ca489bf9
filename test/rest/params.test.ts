import { expect, test } from 'vitest';
import { paramsOf } from '../../src/rest/endpoints/images.ts';

const kinds = {
  name: 'text',
  '-n': 'name',
  '--osver': 'name',
  arch: 'text',
  inspect: 'flag',
  '-i': 'inspect',
} as const;
const read = (params?: unknown) => paramsOf({ body: params === undefined ? {} : { params } }, kinds);

test('options are read by their names or flags', () => {
  expect(read()).toEqual({});
  expect(read([{ '-n': 'rocky9.6', arch: 9 }, { '-i': '' }])).toEqual({ name: 'rocky9.6', arch: '9', inspect: true });
  for (const on of ['', null, true, 1, '1', 'yes', 'true']) expect(read([{ inspect: on }])).toEqual({ inspect: true });
  for (const off of [false, 0, '0', 'no', 'false']) expect(read([{ inspect: off }])).toEqual({});
});

test.each([
  [[{ '-x': '1' }], 'There is no option "-x" in params; known are name (-n, --osver), arch, inspect (-i).'],
  [[JSON.parse('{"__proto__":"1"}')], 'There is no option "__proto__"'],
  [[{ text: '' }], 'There is no option "text"'],
  [[{ '-n': '' }], '-n needs a value'],
  [[{ '-n': { deep: 1 } }], '-n needs a value'],
  [[{ '-i': 'perhaps' }], '-i is a switch'],
  [[{ '-n': 'rocky9' }, { name: 'rocky8' }], 'give name twice'],
])('params %j are refused', (params, reason) => {
  expect(() => read(params)).toThrow(reason);
});
