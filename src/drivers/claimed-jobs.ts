import { Type } from 'typebox';
import type { HeldNames } from '../database/held-names.ts';

/** What servers note with jobs that they have. */
export interface JobNote {
  readonly user: string;
}
export const jobNoteMembers = { user: Type.String() };

/** Jobs that only one process of all servers may do at a time, by their keys. */
export class ClaimedJobs<Job extends { readonly key: string }> {
  readonly #held: HeldNames<JobNote>;
  /** Under way in this process. */
  readonly #busy = new Map<string, Job>();

  constructor(held: HeldNames<JobNote>) {
    this.#held = held;
  }

  /** Takes the jobs for this process. Answers with those that are under way already. */
  async claim(jobs: readonly Job[], user: string): Promise<ReadonlySet<string>> {
    const refused = new Set(this.underWay(jobs));
    const free = jobs.filter(({ key }) => !refused.has(key));
    for (const job of free) this.#busy.set(job.key, job);
    try {
      const others = await this.#held.take(new Map(free.map(({ key }) => [key, { user }])));
      for (const key of others.keys()) {
        refused.add(key);
        this.#busy.delete(key);
      }
    } catch (error) {
      for (const { key } of free) this.#busy.delete(key);
      throw error;
    }
    return refused;
  }

  /** Those that are under way in this process. */
  underWay(jobs: readonly Job[]): ReadonlySet<string> {
    return new Set(jobs.filter(({ key }) => this.#busy.has(key)).map(({ key }) => key));
  }

  /** Each claim is given up once; somebody else may have it then. */
  release(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if (this.#busy.get(job.key) !== job) continue;
      this.#busy.delete(job.key);
      this.#held.release(job.key);
    }
  }
}
