import { domainState, domainStatistics, statistics } from '../../protocols/libvirt/calls/domains.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import type { Hypervisor } from './hypervisor.ts';

interface Question {
  readonly names: Set<string>;
  readonly answer: Promise<ReadonlyMap<string, number>>;
}

/** As many as the daemon works on at a time; more are asked for in one call. */
const few = 4;
/** It belongs to all who have asked, so none of them ends it. */
const always = new AbortController().signal;

/** Reads the states of a hypervisor's machines: those that are asked for in one turn of the event loop are one question. */
export class MachineStates {
  readonly #hypervisor: Hypervisor;
  #next: Question | undefined;

  constructor(hypervisor: Hypervisor) {
    this.#hypervisor = hypervisor;
  }

  /** One of `domainStates`; undefined where there is no such machine. */
  async read(name: string): Promise<number | undefined> {
    const question = (this.#next ??= this.#prepare());
    question.names.add(name);
    return (await question.answer).get(name);
  }

  #prepare(): Question {
    const names = new Set<string>();
    const collected = new Promise((resolve) => setImmediate(resolve));
    const answer = collected.then(() => {
      this.#next = undefined;
      return names.size > few ? this.#readMany(names) : this.#readEach(names);
    });
    return { names, answer };
  }

  async #readMany(names: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const { connection, known } = this.#hypervisor;
    const asked = [...names].flatMap((name) => known.get(name) ?? []);
    // To look for machines that are named takes the daemon longer than to tell of all.
    const areNamed = asked.length === names.size && asked.length * 2 < known.size;
    const told = await domainStatistics(connection, statistics.state, areNamed ? asked : [], { signal: always });
    const states = new Map<string, number>();
    for (const { domain, values } of told) {
      this.#hypervisor.remember(domain);
      states.set(domain.name, Number(values.get('state.state')));
    }
    // Another one may have the name by now.
    const missing = areNamed ? [...names].filter((name) => !states.has(name)) : [];
    for (const name of missing) known.delete(name);
    return missing.length === 0 ? states : new Map([...states, ...(await this.#readEach(new Set(missing)))]);
  }

  async #readEach(names: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const states = new Map<string, number>();
    await Promise.all(
      Array.from(names, async (name) => {
        const state = await this.#readOne(name);
        if (state !== undefined) states.set(name, state);
      }),
    );
    return states;
  }

  async #readOne(name: string): Promise<number | undefined> {
    const { connection, known } = this.#hypervisor;
    const options = { signal: always };
    for (;;) {
      const isRemembered = known.has(name);
      const domain = await this.#hypervisor.find(name, always);
      if (!domain) return undefined;
      try {
        return (await domainState(connection, domain, options)).state;
      } catch (error) {
        if (!isRefusal(error, errorCodes.noDomain)) throw error;
        known.delete(name);
        // It has gone since it was looked up, as one does that is carried away.
        if (!isRemembered) return undefined;
      }
    }
  }
}
