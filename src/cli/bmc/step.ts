import type { Call, Invocation } from '../command.ts';
import type { NodeReport, NodeRequest } from '../nodes/work.ts';

/** What `muster bmc` does by one of its words. */
export interface Step {
  /** Whether an account has to be named behind the range. */
  readonly name: boolean;
  /** Options that go with it; another one is refused. */
  readonly options: readonly string[];
  request(invocation: Invocation, call: Call, range: string, name: string): Promise<NodeRequest> | NodeRequest;
  readonly report: NodeReport | ((call: Call) => NodeReport);
}
