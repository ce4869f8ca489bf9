import { Fault } from '../../core/errors.ts';

/** Something went wrong after a service processor has moved to its new address, where it answers. */
export class MovedFault extends Fault {
  constructor(cause: Fault) {
    super(cause.kind, cause.sentences, { cause });
  }
}
