import { Fault } from '../../src/core/errors.ts';

/** The Fault that the action ends with. */
export function faultOf(action: () => unknown): Fault {
  try {
    action();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
