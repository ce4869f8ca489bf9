import type { IpmiLink, IpmiRequest } from '../../../../src/protocols/ipmi/link.ts';

export const bytes = (hex: string): Buffer => Buffer.from(hex.replace(/\s+/g, ''), 'hex');

export interface Step {
  /** Netfn, command and data as they must come. */
  readonly request: string;
  readonly code?: number;
  readonly data?: string;
  readonly error?: Error;
}

export interface ScriptedLink extends IpmiLink {
  readonly sent: readonly IpmiRequest[];
  /** What was expected and did not come. */
  left(): number;
}

/** Plays recorded exchanges back, in their order; anything else is an error. */
export function scriptedLink(steps: readonly Step[]): ScriptedLink {
  const sent: IpmiRequest[] = [];
  return {
    sent,
    left: () => steps.length - sent.length,
    async request(request) {
      const step = steps[sent.length];
      sent.push(request);
      const got = Buffer.from([request.netfn, request.command, ...(request.data ?? [])]).toString('hex');
      const want = step?.request.replace(/\s+/g, '');
      if (step === undefined || got !== want) throw new Error(`request ${sent.length} is ${got}, recorded is ${want}`);
      if (step.error) throw step.error;
      return { code: step.code ?? 0, data: bytes(step.data ?? '') };
    },
  };
}

export const patient: AbortSignal = new AbortController().signal;
