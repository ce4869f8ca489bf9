import { expect, test } from 'vitest';
import { Hypervisor } from '../../../src/drivers/kvm/hypervisor.ts';
import { type Domain, domainStates, writeDomain } from '../../../src/protocols/libvirt/calls/domains.ts';
import { errorCodes, procedures } from '../../../src/protocols/libvirt/procedures.ts';
import { XdrReader, XdrWriter } from '../../../src/protocols/libvirt/wire.ts';
import { type PlayedDaemon, playDaemon } from '../../protocols/libvirt/peer.ts';

const never = new AbortController().signal;

/** A hypervisor with machines that all run, but for one that is carried away whenever it was looked up. */
async function startHypervisor(
  count: number,
  leaving?: string,
): Promise<{ hypervisor: Hypervisor; asked: () => string[] }> {
  const domains = Array.from({ length: count }, (_, index): Domain => {
    const number = String(index).padStart(12, '0');
    return { name: `m${index}`, uuid: `00000000-0000-0000-0000-${number}` };
  });
  const statistics = (some: readonly Domain[]): Buffer => {
    const body = new XdrWriter();
    const one = (domain: Domain): void => {
      writeDomain(body, domain).uint(1).string('state.state').int(1).int(domainStates.running);
    };
    return body.list(some, one).bytes();
  };
  const answers: Record<number, (body: XdrReader) => Buffer> = {
    [procedures.authList]: () => new XdrWriter().uint(1).int(0).bytes(),
    [procedures.connectSupportsFeature]: () => new XdrWriter().uint(0).bytes(),
    [procedures.eventRegister]: () => new XdrWriter().int(0).bytes(),
    [procedures.connectGetAllDomainStats]: (body) => {
      const named = body.list(1_000, () => {
        const name = body.string();
        body.uuid();
        body.int();
        return name;
      });
      return statistics(named.length === 0 ? domains : domains.filter(({ name }) => named.includes(name)));
    },
    [procedures.domainLookupByName]: (body) => {
      const name = body.string();
      return writeDomain(new XdrWriter(), domains.find((domain) => domain.name === name)!).bytes();
    },
    [procedures.domainGetState]: () => new XdrWriter().int(domainStates.running).int(0).bytes(),
  };
  const daemon: PlayedDaemon = playDaemon(({ procedure, serial, body }, { say }) => {
    const isGone = procedure === procedures.domainGetState && new XdrReader(body).string() === leaving;
    if (isGone) say({ procedure, serial, status: 1 }, new XdrWriter().int(errorCodes.noDomain).int(0).uint(0).bytes());
    else say({ procedure, serial }, answers[procedure]?.(new XdrReader(body)));
  });
  const routes = { find: async () => null, placeOf: () => 'lab', open: async () => daemon.stream };
  const hypervisor = await Hypervisor.open(routes, 'lab', null, never);
  const before = daemon.heard.length;
  const names = new Map<number, string>(Object.entries(procedures).map(([name, number]) => [number, name]));
  return { hypervisor, asked: () => daemon.heard.slice(before).map(({ procedure }) => names.get(procedure)!) };
}

const readAll = ({ states }: Hypervisor, names: readonly string[]) =>
  Promise.all(names.map((name) => states.read(name)));

test('the states of many machines are one question', async () => {
  const { hypervisor, asked } = await startHypervisor(100);
  const names = Array.from({ length: 100 }, (_, index) => `m${index}`);
  expect(await readAll(hypervisor, names)).toEqual(Array(100).fill(domainStates.running));
  expect(await readAll(hypervisor, [...names, 'absent'])).toEqual([
    ...Array(100).fill(domainStates.running),
    undefined,
  ]);
  expect(asked()).toEqual(Array(2).fill('connectGetAllDomainStats'));
});

test('of many machines some are asked for by name, once they are known', async () => {
  const { hypervisor, asked } = await startHypervisor(100);
  const names = Array.from({ length: 10 }, (_, index) => `m${index}`);
  for (let round = 0; round < 2; round++) {
    expect(await readAll(hypervisor, names)).toEqual(Array(10).fill(domainStates.running));
  }
  expect(asked()).toEqual(Array(2).fill('connectGetAllDomainStats'));
});

test('few machines are asked for one by one', async () => {
  const { hypervisor, asked } = await startHypervisor(100);
  expect(await readAll(hypervisor, ['m1', 'm1'])).toEqual([domainStates.running, domainStates.running]);
  expect(asked()).toEqual(['domainLookupByName', 'domainGetState']);
});

test('a machine that leaves while it is looked at is not there', async () => {
  const { hypervisor, asked } = await startHypervisor(2, 'm0');
  expect(await hypervisor.states.read('m0')).toBeUndefined();
  expect(await hypervisor.states.read('m1')).toBe(domainStates.running);
  expect(asked().slice(0, 2)).toEqual(['domainLookupByName', 'domainGetState']);
});
