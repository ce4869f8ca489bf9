import { Fault, Unreachable } from '../../../core/errors.ts';
import { sleep } from '../../sleep.ts';
import type { IpmiLink, IpmiRequest, IpmiResponse, Privilege } from '../link.ts';
import { atLeast, hex } from './bytes.ts';
import codes from './completion-codes.json' with { type: 'json' };

/** IPMI 2.0 table 5-2. */
const completionTexts: Readonly<Record<string, string>> = codes;

/** How the reference system words those that its recorded commands met. */
const referenceTexts: Readonly<Record<number, string>> = {
  0xc1: 'Invalid or unsupported command',
  0xcc: 'Invalid data field in Request',
};

export const completion = {
  ok: 0x00,
  unsupportedParameter: 0x80,
  busy: 0xc0,
  unknownCommand: 0xc1,
  reservationCancelled: 0xc5,
  tooLong: 0xc8,
  cannotReturn: 0xca,
  notPresent: 0xcb,
  unavailable: 0xd3,
  lacksPrivilege: 0xd4,
  unspecified: 0xff,
} as const;

export const busyPauses: readonly number[] = [100, 300, 1000];

/** Waits; an abort ends the wait with a Fault. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, signal);
  if (!signal.aborted) return;
  if (signal.reason instanceof Fault) throw signal.reason;
  const sentence = 'the command was ended before its BMC had finished.';
  throw new Fault('deadline', sentence, { cause: signal.reason });
}

/** Whether no answer came, so that nobody knows if the command was carried out. */
export function unanswered(error: unknown, signal: AbortSignal): error is Fault {
  return !signal.aborted && (error instanceof Unreachable || (error instanceof Fault && error.kind === 'deadline'));
}

/** The Fault for a completion code; `own` holds the codes that mean something special to this command. */
export function refusal(what: string, code: number, own: Readonly<Record<number, string>> = {}): Fault {
  const text = own[code] ?? completionTexts[`0x${code.toString(16)}`] ?? 'of an error of its own';
  const reference = referenceTexts[code] ?? `Unknown ipmi error ${hex(code)}`;
  return new Fault('invalid', `its BMC refused ${what}: ${text} (code ${hex(code)}).`, {
    reference: [reference],
  });
}

const higher: Readonly<Record<Privilege, Privilege | undefined>> = {
  user: 'operator',
  operator: 'administrator',
  administrator: undefined,
};

/**
 * Sends again with a higher privilege if one is lacking, and after a pause if it is busy: nothing was done in either case. Not async, as
 * little as what is built on it: what async functions around each other cost is a good part of a warm reading.
 */
export function send(link: IpmiLink, request: IpmiRequest, signal: AbortSignal): Promise<IpmiResponse> {
  return link
    .request(request, signal)
    .then((response) => (mayChange.has(response.code) ? sendAgain(link, request, response, signal) : response));
}

const mayChange: ReadonlySet<number> = new Set([completion.lacksPrivilege, completion.busy]);

async function sendAgain(
  link: IpmiLink,
  request: IpmiRequest,
  first: IpmiResponse,
  signal: AbortSignal,
): Promise<IpmiResponse> {
  let asked = request;
  let response = first;
  for (let pauses = 0; ; ) {
    const privilege = higher[asked.privilege ?? 'user'];
    const wait = busyPauses[pauses];
    if (response.code === completion.lacksPrivilege && privilege !== undefined) asked = { ...asked, privilege };
    else if (response.code === completion.busy && wait !== undefined) {
      await pause(wait, signal);
      pauses++;
    } else return response;
    response = await link.request(asked, signal);
  }
}

/** The data of a successful answer; any other completion code is a Fault. `what` follows "refused". */
export function ask(
  link: IpmiLink,
  request: IpmiRequest,
  what: string,
  signal: AbortSignal,
  own?: Readonly<Record<number, string>>,
): Promise<Buffer> {
  return send(link, request, signal).then(({ code, data }) => {
    if (code !== completion.ok) throw refusal(what, code, own);
    return data;
  });
}

/** IPMI 2.0 31.4 and 33.11: a new reservation cancels the one before, so asking twice makes the first answer worthless. */
export interface Reservation {
  readonly id: number;
  /** How long the answer to the next such request is waited for before it is sent again, in milliseconds. */
  readonly retryAfter: number;
}

/** `cancelled`: the one before, if it was found cancelled; a request that was sent twice may have done that. */
export async function reserve(
  link: IpmiLink,
  request: { readonly netfn: number; readonly command: number },
  what: string,
  signal: AbortSignal,
  cancelled?: Reservation,
): Promise<Reservation> {
  const begun = performance.now();
  const data = await ask(link, { ...request, retryAfter: cancelled?.retryAfter ?? 0 }, what, signal);
  const took = performance.now() - begun;
  return {
    id: atLeast(data, 2, what).readUInt16LE(0),
    retryAfter: 2 * Math.max(took, cancelled?.retryAfter ?? 0),
  };
}
