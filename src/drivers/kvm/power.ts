import { Fault, Unreachable } from '../../core/errors.ts';
import { pause, unlessAborted, within } from '../../core/waiting.ts';
import {
  actOnDomain,
  defineDomain,
  type DomainAct,
  domainStates,
  domainXml,
  resumeDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import { isRefusal, LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { childElements, type Element, element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { BootOrder, NextBoot, Power, PowerAction, PowerSeen } from '../capabilities.ts';
import { hypervisorOf, isLost, type Machine, onMachine, readMachine, twice } from './machine.ts';

const known = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi'] as const satisfies readonly PowerAction[];
type KnownAction = (typeof known)[number];
const isKnown = (action: PowerAction): action is KnownAction => (known as readonly PowerAction[]).includes(action);

type State = 'on' | 'off' | 'paused' | 'suspended' | 'crashed';

const states: Readonly<Record<number, State>> = {
  [domainStates.none]: 'on',
  [domainStates.running]: 'on',
  [domainStates.blocked]: 'on',
  [domainStates.paused]: 'paused',
  [domainStates.shuttingDown]: 'on',
  [domainStates.off]: 'off',
  [domainStates.crashed]: 'crashed',
  [domainStates.suspended]: 'suspended',
};

const firstPoll = 100;
const longestPoll = 1_000;

/** One action, with all its steps under one deadline. */
interface Work {
  readonly machine: Machine;
  readonly signal: AbortSignal;
  /** The state read last. */
  seen: State | undefined;
}

export const stateOf = (number: number): string => states[number] ?? 'on';

const readState = (machine: Machine, signal: AbortSignal): Promise<State> =>
  twice(async () => {
    const hypervisor = await hypervisorOf(machine, signal);
    const { node } = machine.access;
    const state = await unlessAborted(hypervisor.states.read(node), signal);
    return state === undefined ? hypervisor.lacks(node) : (states[state] ?? 'on');
  });

/** Nobody knows whether the daemon has done what it was asked to. */
const isUncertain = (error: unknown): boolean =>
  isLost(error) || (error instanceof LibvirtFault && error.failure === 'late');

/**
 * Gives an order once and waits until the state is as wanted. The state decides, not the answer: the daemon may be gone before it
 * answers, or somebody else may have been faster, which it calls a wrong state.
 */
async function reach(work: Work, order: (work: Work) => Promise<void>, wanted: State): Promise<void> {
  const { machine, signal } = work;
  let doubt: unknown;
  try {
    await order(work);
  } catch (error) {
    if (!isUncertain(error) && !isRefusal(error, errorCodes.operationInvalid)) throw error;
    doubt = error;
  }
  for (let wait = firstPoll; ; wait = Math.min(wait * 1.5, longestPoll)) {
    try {
      work.seen = await readState(machine, signal);
      if (work.seen === wanted) return;
      if (isRefusal(doubt, errorCodes.operationInvalid)) throw doubt;
    } catch (error) {
      // A daemon that is being started again is waited for.
      if (!isUncertain(doubt) || !(error instanceof Unreachable || isUncertain(error))) throw error;
    }
    await pause(wait, signal);
  }
}

const acting =
  (act: DomainAct) =>
  ({ machine, signal }: Work): Promise<void> =>
    onMachine(machine, signal, (connection, domain) =>
      actOnDomain(connection, act, domain, { signal, timeout: machine.powerTimeout }),
    );

const resuming = ({ machine, signal }: Work): Promise<void> =>
  onMachine(machine, signal, (connection, domain) => resumeDomain(connection, domain, { signal }));

/** What was to boot once has its turn with this start. */
async function start(work: Work): Promise<void> {
  await reach(work, acting('start'), 'on');
  await endOverride(work.machine, work.signal);
}

async function switchOn(work: Work): Promise<void> {
  if (work.seen === 'paused') await reach(work, resuming, 'on');
  else if (work.seen !== 'on') {
    if (work.seen !== 'off') await switchOff(work);
    await start(work);
  }
}

const switchOff = (work: Work): Promise<void> => reach(work, acting('destroy'), 'off');

/** Emulators read the order of what to boot when they start: a reset alone would boot what the last start has. */
async function reset(work: Work): Promise<void> {
  const { machine, signal } = work;
  if (work.seen === 'on' && !(await hasOverride(machine, signal))) await acting('reset')(work);
  else await cycle(work);
}

async function cycle(work: Work): Promise<void> {
  await switchOff(work);
  await start(work);
}

async function perform(work: Work, action: KnownAction, from?: PowerSeen): Promise<void> {
  work.seen = await readState(work.machine, work.signal);
  await from?.(work.seen);
  const isOff = work.seen === 'off';
  switch (action) {
    case 'on':
      return switchOn(work);
    case 'off':
      return isOff ? undefined : switchOff(work);
    case 'softoff':
      return isOff ? undefined : reach(work, acting('shutdown'), 'off');
    case 'boot':
      return isOff ? start(work) : reset(work);
    case 'reset':
      return isOff ? undefined : reset(work);
    case 'cycle':
      return isOff ? undefined : cycle(work);
    case 'nmi':
      if (isOff) throw new Fault('invalid', 'it is off, and nmi needs a running system.');
      return acting('nmi')(work);
  }
}

function tooLate(work: Pick<Work, 'seen'>, action: KnownAction, deadline: number): Fault {
  const seconds = Math.round(deadline / 1_000);
  if (work.seen === undefined) return new Fault('deadline', `its power state could not be read within ${seconds} s.`);
  const hint = action === 'softoff' ? ' The operating system may ignore the request; off does not ask it.' : '';
  return new Fault('deadline', `it is still ${work.seen} ${seconds} s after the power action ${action}.${hint}`);
}

export function kvmPower(machine: Machine): Power {
  const { powerTimeout } = machine;
  return {
    state: (signal) => readState(machine, signal),
    async set(action, signal, from) {
      if (!isKnown(action)) {
        throw new Fault('invalid', `a virtual machine has no power action "${action}"; it has ${known.join(', ')}.`);
      }
      let work: Work | undefined;
      const late = (): Fault => tooLate(work ?? { seen: undefined }, action, powerTimeout);
      return within(powerTimeout, late, signal, async (inTime) => {
        work = { machine, signal: inTime, seen: undefined };
        await perform(work, action, from);
        return readState(machine, inTime);
      });
    },
  };
}

/** What stands for an order in a definition. */
const devices: Readonly<Partial<Record<BootOrder, string>>> = { net: 'network', hd: 'hd', cd: 'cdrom', floppy: 'fd' };
const words: Readonly<Record<string, string>> = {
  network: 'Network',
  hd: 'Hard Drive',
  cdrom: 'CD/DVD',
  fd: 'Floppy',
};
const inactive = 'boot override inactive';

/** Where the usual order is kept while another one stands in its place: libvirt itself knows nothing that holds once. */
const namespace = 'urn:muster:boot';
const keptName = 'muster:usual-boot';

const definition = async (machine: Machine, signal: AbortSignal): Promise<Element> =>
  readXml(
    await readMachine(machine, signal, (connection, domain) =>
      domainXml(connection, domain, 'to define again', { signal }),
    ),
  );

/** What it is to be is made from what it is: nobody else changes it meanwhile. */
async function redefine(
  machine: Machine,
  signal: AbortSignal,
  change: (domain: Element) => Element | undefined,
): Promise<void> {
  const hypervisor = await hypervisorOf(machine, signal);
  await hypervisor.alone(machine.access.node, signal, async () => {
    const changed = change(await definition(machine, signal));
    if (changed)
      await onMachine(machine, signal, (connection) => defineDomain(connection, writeXml(changed), { signal }));
  });
}

const orderIn = (domain: Element): readonly string[] =>
  childElements(elementAt(domain, 'os') ?? domain, 'boot').flatMap(({ attributes }) => attributes['dev'] ?? []);

const keptIn = (domain: Element): readonly string[] | undefined =>
  elementAt(domain, 'metadata', keptName)?.attributes['order']?.split(',');

/** The same with another order, and with the usual one kept, or not. */
function reordered(domain: Element, order: readonly string[], usual?: readonly string[]): Element {
  const withOrder = (os: Element): Element => ({
    ...os,
    children: [
      ...os.children.filter((child) => typeof child === 'string' || child.name !== 'boot'),
      ...order.map((dev) => element('boot', { dev })),
    ],
  });
  const kept = usual && element(keptName, { 'xmlns:muster': namespace, order: usual.join(',') });
  const others = elementAt(domain, 'metadata')?.children.filter(
    (child) => typeof child === 'string' || child.name !== keptName,
  );
  const rest = domain.children.filter((child) => typeof child === 'string' || child.name !== 'metadata');
  return {
    ...domain,
    children: [
      element('metadata', {}, others, kept),
      ...rest.map((child) => (typeof child !== 'string' && child.name === 'os' ? withOrder(child) : child)),
    ],
  };
}

/** Whether something else than usual is to boot once. */
const hasOverride = async (machine: Machine, signal: AbortSignal): Promise<boolean> =>
  keptIn(await definition(machine, signal)) !== undefined;

/** Puts the usual order back; what runs is not touched by it. */
const endOverride = (machine: Machine, signal: AbortSignal): Promise<void> =>
  redefine(machine, signal, (domain) => {
    const usual = keptIn(domain);
    return usual && reordered(domain, usual);
  });

async function setOrder(
  machine: Machine,
  order: BootOrder,
  { persistent, mode }: Parameters<NextBoot['set']>[1],
  signal: AbortSignal,
): Promise<void> {
  if (mode !== undefined)
    throw new Fault('invalid', 'the firmware of a virtual machine cannot be chosen per boot; leave the mode out.');
  if (order === 'def') return endOverride(machine, signal);
  const device = devices[order];
  if (device === undefined) {
    const offered = [...Object.keys(devices), 'def'].join(', ');
    throw new Fault('invalid', `a virtual machine cannot boot from "${order}"; use ${offered}.`);
  }
  await redefine(machine, signal, (domain) => {
    if (hasDeviceOrder(domain)) {
      throw new Fault(
        'invalid',
        'its definition gives its devices a boot order of their own, which nextboot cannot change.',
      );
    }
    const usual = keptIn(domain) ?? orderIn(domain);
    const wanted = [device, ...usual.filter((each) => each !== device)];
    return persistent ? reordered(domain, wanted) : reordered(domain, wanted, usual);
  });
}

const hasDeviceOrder = (domain: Element): boolean =>
  childElements(elementAt(domain, 'devices') ?? domain).some((device) => elementAt(device, 'boot'));

async function readOrder(machine: Machine, signal: AbortSignal): Promise<string> {
  const domain = await definition(machine, signal);
  const [first = ''] = orderIn(domain);
  return keptIn(domain) ? (words[first] ?? first) : inactive;
}

export function kvmNextBoot(machine: Machine): NextBoot {
  return {
    get: (signal) => readOrder(machine, signal),
    async set(order, options, signal) {
      await setOrder(machine, order, options, signal);
      if (!options.persistent) return readOrder(machine, signal);
      const [first = ''] = orderIn(await definition(machine, signal));
      return words[first] ?? first;
    },
  };
}
