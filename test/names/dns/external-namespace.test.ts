import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { connectNamespaces, makeNamespace } from '../../lab/netns.ts';

const own = makeNamespace();
const far = makeNamespace();
afterAll(() => {
  own.remove();
  far.remove();
});

const server = '10.79.0.2:53';

it('a name server on another machine is updated as a whole or not at all, and the one here is left alone', () => {
  connectNamespaces(
    { namespace: own, interface: 'eth0', addresses: ['10.79.0.1/24'] },
    { namespace: far, interface: 'eth0', addresses: ['10.79.0.2/24'] },
  );
  const driver = join(import.meta.dirname, 'external-driver.ts');
  const output = own.run(process.execPath, driver, far.name);
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toEqual({
    wrongKey: [
      expect.stringMatching(
        `^503 The name server ${server} has not made the change: .*BADSIG.*table passwd, key omapi`,
      ),
      '',
    ],
    added: ['201', '10.79.0.11', 'n1.cluster.test.', 'n1.cluster.test.\n10.79.0.11'],
    noReverse: [
      `201 The name server ${server} has no zone 0.80.10.in-addr.arpa that we may change; records of addresses (PTR) are left out.`,
      '10.80.0.12',
    ],
    noReverseRemoved: ['200', ''],
    refused: [
      expect.stringMatching(`^503 The name server ${server} has not .*zone fixed\\.test: REFUSED.*allow-update`),
      '',
      '',
    ],
    noZone: [`503 The name server ${server} has no zone for late.test; create it there first.`, ''],
    zoneMade: ['201', '10.79.8.14'],
    inTheWay: [expect.stringMatching(/^403 Node n2: n2\.cluster\.test cannot get A .*\(CNAME x\.y\)/), 'x.y.'],
    service: ['201', '10.79.0.50', ''],
    away: expect.stringMatching(`^503 The name server ${server} cannot be reached`),
    back: ['10.79.0.11', '200', ''],
    local: [true, '10.79.0.11', 'n1.cluster.test.\n10.79.0.11'],
    localAgain: ['200', ''],
  });
});
