import { Fault, Unreachable } from '../../core/errors.ts';
import { pause, unlessAborted, within } from '../../core/waiting.ts';
import { actOnDomain, type DomainAct, resumeDomain } from '../../protocols/libvirt/calls/domains.ts';
import { domainStates } from '../../protocols/libvirt/domain.ts';
import { isRefusal, LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import type { Power, PowerAction } from '../capabilities.ts';
import { hypervisorOf, isLost, type Machine, onMachine, twice } from './machine.ts';
import { endOverride, hasOverride } from './next-boot.ts';

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

/** Nobody knows whether the daemon has done what it was told. */
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

async function perform(work: Work, action: KnownAction, from?: (state: string) => void): Promise<void> {
  work.seen = await readState(work.machine, work.signal);
  from?.(work.seen);
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
