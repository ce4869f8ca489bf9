import { ByteBudget } from './byte-budget.ts';

const mebibyte = 1_048_576;

/** Memory for bodies of requests, from their first byte until they are answered. */
export class BodyBudgets {
  /** Bytes of callers who have not shown yet who they are, by network. */
  readonly strangers = new ByteBudget(16 * mebibyte, 4 * mebibyte);
  /** What bodies take up, about, once they are parsed, by user. The largest body fits. */
  readonly users = new ByteBudget(192 * mebibyte, 160 * mebibyte);
}

/** What a parsed value takes up beside its text, about. */
const perValue = 64;

export const weightOf = (bytes: number, values: number): number => bytes + perValue * values;
