import { describe, expect, it } from 'vitest';
import { Router } from '../../src/rest/http/router.ts';

const router = new Router<string>();
for (const path of ['/', '/a', '/a/:x', '/a/all', '/a/:x/power', '/a/all/rows/:row', '/b/:y/:z']) {
  router.add(['GET'], path, path);
}
router.add(['PUT'], '/a/:x', 'put');

const found = (url: string): unknown => {
  const at = router.find(url);
  return typeof at === 'object' ? [at.place.targets.get('GET'), at.params] : at;
};

describe('a path', () => {
  it.each([
    ['/', ['/', {}]],
    ['/?a=b', ['/', {}]],
    ['/a', ['/a', {}]],
    ['/a/', ['/a', {}]],
    ['/a/n1', ['/a/:x', { x: 'n1' }]],
    ['/a/n1/?a=/b#c', ['/a/:x', { x: 'n1' }]],
    ['/a/n1#c', ['/a/:x', { x: 'n1' }]],
    ['/a/all', ['/a/all', {}]],
    ['/a/all/power', ['/a/:x/power', { x: 'all' }]],
    ['/a/all/rows/1', ['/a/all/rows/:row', { row: '1' }]],
    ['/b/1/2', ['/b/:y/:z', { y: '1', z: '2' }]],
    ['/%61/n%31%2Fpower', ['/a/:x', { x: 'n1/power' }]],
    ['/a/%25%32%35', ['/a/:x', { x: '%25' }]],
    ['/a/%C3%A4', ['/a/:x', { x: 'ä' }]],
    ['/a/constructor', ['/a/:x', { x: 'constructor' }]],
  ])('%s leads to what is offered there', (url, expected) => {
    expect(found(url)).toEqual(expected);
  });

  it.each(['/c', '/A', '/a/n1/power/x', '/a/all/rows', '/b/1', '/constructor', '/a/n1//'])(
    '%s leads nowhere',
    (url) => {
      expect(found(url)).toBeUndefined();
    },
  );

  it.each(['', 'a', '*', '/a/%', '/a/%zz', '/a/%C3%28'])('%s cannot be read', (url) => {
    expect(found(url)).toBe('unreadable');
  });

  it('is offered with every method that was added, and with none twice', () => {
    const at = router.find('/a/n1');
    expect(typeof at === 'object' && [...at.place.targets.keys()]).toEqual(['GET', 'PUT']);
    expect(() => router.add(['PUT'], '/a/:x', 'again')).toThrow('PUT /a/:x is offered twice.');
    expect(() => router.add(['POST'], '/a/:other', 'again')).toThrow('POST /a/:other is offered twice.');
  });
});
