import type { TSchema } from 'typebox';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Answer, Arguments, CommandBase, Declared, Scope, ServiceName } from './command.ts';

/**
 * Work that takes minutes, such as building an image. `prepare` runs where the database is, refuses what is to be refused and makes
 * plain JSON data of the rest; the module does it in a process of its own, reporting lines and progress; `plan` keeps in the database
 * what came of it. It goes on when the client leaves, and is cancelled with its run.
 */
export interface Long<Args, Job = unknown, Made = unknown, Uses extends ServiceName = ServiceName>
  extends CommandBase<Args, Uses> {
  readonly kind: 'long';
  /** What it works on, such as an image: one run at a time; another caller's error says who works on it since when. */
  subject(args: Args): string;
  prepare(snapshot: Snapshot, args: Args, scope: Scope<Uses>): Job | Promise<Job>;
  /** Exports `work`, see WorkModule. */
  readonly module: string;
  plan?(draft: Draft, made: Made, args: Args, scope: Scope<Uses>): void;
  answer?(made: Made, args: Args): Answer;
}

export type AnyLong<Args = unknown> = Long<Args>;

export const long = <S extends TSchema, Job, Made, Uses extends ServiceName = never>(
  command: Declared<Long<Arguments<S>, Job, Made, Uses>, S, Uses>,
): Long<Arguments<S>, Job, Made, Uses> => ({ kind: 'long', ...command });
