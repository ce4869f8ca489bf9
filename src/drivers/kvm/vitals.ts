import { domainStatistics, statistics } from '../../protocols/libvirt/calls/domains.ts';
import type { Parameters } from '../../protocols/libvirt/parameters.ts';
import type { Labelled, Vitals, VitalsKind } from '../capabilities.ts';
import { type Machine, readMachine } from './machine.ts';
import { stateOf } from './power.ts';

interface Line {
  readonly label: string;
  readonly value: string;
  readonly kinds: readonly VitalsKind[];
}

const { state, cpu, balloon, vcpu, interface: nic, block } = statistics;
const wanted = state + cpu + balloon + vcpu + nic + block;

type Count = number | bigint;
const seconds = (nanoseconds: Count): string => `${(Number(nanoseconds) / 1e9).toFixed(2)} s`;
const megabytes = (kibibytes: Count): string => `${Math.round(Number(kibibytes) / 1024)} MB`;
const bytes = (count: Count): string => `${count} bytes`;
const plain = (count: Count): string => String(count);

/** A value that libvirt may tell, as label, name and form. */
type Told = readonly [label: string, name: string, form: (value: Count) => string];

const ofMachine: readonly Told[] = [
  ['CPU Time', 'cpu.time', seconds],
  ['CPU Time User', 'cpu.user', seconds],
  ['CPU Time System', 'cpu.system', seconds],
  ['CPUs', 'vcpu.current', plain],
  ['Memory', 'balloon.current', megabytes],
  ['Memory Unused', 'balloon.unused', megabytes],
  ['Memory on Hypervisor', 'balloon.rss', megabytes],
];
const ofCpu: readonly Told[] = [['Time', 'time', seconds]];
const ofDisk: readonly Told[] = [
  ['Read', 'rd.bytes', bytes],
  ['Read Requests', 'rd.reqs', plain],
  ['Written', 'wr.bytes', bytes],
  ['Write Requests', 'wr.reqs', plain],
  ['Capacity', 'capacity', bytes],
  ['Allocation', 'allocation', bytes],
];
const ofNic: readonly Told[] = [
  ['Received', 'rx.bytes', bytes],
  ['Receive Errors', 'rx.errs', plain],
  ['Sent', 'tx.bytes', bytes],
  ['Send Errors', 'tx.errs', plain],
];

/** More parts than a machine has are no count. */
const mostParts = 4_096;

function* linesOf(values: Parameters): Generator<Line> {
  const told = function* (list: readonly Told[], label = '', prefix = ''): Generator<Line> {
    for (const [name, key, form] of list) {
      const value = values.get(`${prefix}${key}`);
      if (typeof value === 'number' || typeof value === 'bigint') {
        yield { label: `${label}${name}`, value: form(value), kinds: [] };
      }
    }
  };
  const parts = function* (kind: string, count: string, label: string, list: readonly Told[]): Generator<Line> {
    const number = Math.min(Number(values.get(`${kind}.${count}`) ?? 0), mostParts);
    for (let index = 0; index < number; index++) {
      const prefix = `${kind}.${index}.`;
      yield* told(list, `${label} ${values.get(`${prefix}name`) ?? index} `, prefix);
    }
  };
  yield { label: 'Power Status', value: stateOf(Number(values.get('state.state'))), kinds: ['power', 'chassis'] };
  yield* told(ofMachine);
  yield* parts('vcpu', 'maximum', 'CPU', ofCpu);
  yield* parts('block', 'count', 'Disk', ofDisk);
  yield* parts('net', 'count', 'Network', ofNic);
}

/** What libvirt counts of a machine. Of one that is off that is little; what it does not tell is left out. */
export function kvmVitals(machine: Machine): Vitals {
  return {
    async read(kinds, signal): Promise<Labelled> {
      const [told] = await readMachine(machine, signal, (connection, domain) =>
        domainStatistics(connection, wanted, [domain], { signal }),
      );
      const lines = [...linesOf(told?.values ?? new Map())];
      const chosen = lines.filter((line) => kinds.length === 0 || line.kinds.some((kind) => kinds.includes(kind)));
      return Object.fromEntries(chosen.map(({ label, value }) => [label, value]));
    },
  };
}
