import { Fault, type FaultOptions, Unreachable } from '../../core/errors.ts';
import { at, type Json, listAt, textAt, textsAt } from './json.ts';
import { messageText } from './message.ts';

/** What a failed request was about; `secrets` must not come back in the service's own words. */
export interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly username: string;
  readonly secrets: readonly string[];
}

const shownMessages = 3;

/** What a service says of single properties. */
export interface Remark {
  /** Those that it names; may be none. */
  readonly about: readonly string[];
  readonly text: string;
}

/** The service has answered, and the answer is no. */
export class Refusal extends Fault {
  readonly status: number;
  /** Of what it says, the last parts of the identifiers. */
  readonly keys: readonly string[];
  readonly remarks: readonly Remark[];

  constructor(
    kind: 'invalid' | 'unavailable',
    status: number,
    sentence: string,
    options: FaultOptions & { readonly keys?: readonly string[]; readonly remarks?: readonly Remark[] } = {},
  ) {
    super(kind, sentence, options);
    this.status = status;
    this.keys = options.keys ?? [];
    this.remarks = options.remarks ?? [];
  }

  /** The service itself failed at it, which says nothing about other requests. */
  get ofService(): boolean {
    return this.kind === 'invalid' && this.status >= 500;
  }

  /** It is about the request, not about who sent it or when. */
  get ofRequest(): boolean {
    return this.kind === 'invalid' && this.status !== 401 && this.status !== 403;
  }
}

/** DSP0266 "Error responses": the extended information, else the message before it. */
export function messagesOf(body: Json): string {
  const error = at(body, 'error');
  const extended = [...listAt(error, '@Message.ExtendedInfo'), ...listAt(body, '@Message.ExtendedInfo')];
  const sentences = extended.flatMap((info) => messageText(info) ?? textAt(info, 'MessageId') ?? []);
  const shown = [...new Set(sentences)].slice(0, shownMessages);
  return shown.length > 0 ? shown.join(' ') : (textAt(error, 'message') ?? '');
}

const mostRemarks = 500;
const annotation = /^(?:.*\/)?([^/]+)@Message\.ExtendedInfo$/;

/** DSP0266 "Message object" and "Extended information": of the whole answer, or beside the property that it is about. */
export function remarksIn(body: Json, secrets: readonly string[]): readonly Remark[] {
  const members = (object: Json): [string, Json][] =>
    typeof object === 'object' && object !== null ? Object.entries(object) : [];
  const beside = [...members(body), ...members(at(body, 'Attributes'))].flatMap(([name, list]) => {
    const about = annotation.exec(name)?.[1];
    return about === undefined || !Array.isArray(list) ? [] : list.map((info: Json) => ({ about, info }));
  });
  const whole = [...listAt(body, 'error', '@Message.ExtendedInfo'), ...listAt(body, '@Message.ExtendedInfo')];
  const all = [...beside, ...whole.map((info) => ({ about: undefined, info }))];
  return all.slice(0, mostRemarks).flatMap(({ about, info }) => {
    const text = messageText(info) ?? textAt(info, 'MessageId');
    const severity = textAt(info, 'MessageSeverity') ?? textAt(info, 'Severity');
    if (text === undefined || severity === 'OK' || textAt(info, 'MessageId')?.endsWith('.Success')) return [];
    const related = textsAt(info, 'RelatedProperties').map((pointer) => pointer.slice(pointer.lastIndexOf('/') + 1));
    // Some services name the property only in the text.
    const named = [...(about === undefined ? [] : [about]), ...related, ...textsAt(info, 'MessageArgs')];
    return [{ about: named, text: scrub(text, secrets) }];
  });
}

/** The last part of the identifiers, e.g. `SessionLimitExceeded` of `Base.1.18.SessionLimitExceeded`. */
export function messageKeys(body: Json): readonly string[] {
  const infos = [...listAt(body, 'error', '@Message.ExtendedInfo'), ...listAt(body, '@Message.ExtendedInfo')];
  const ids = [textAt(body, 'error', 'code'), ...infos.map((info) => textAt(info, 'MessageId'))];
  return ids.flatMap((id) => id?.split('.').at(-1) ?? []);
}

export function refusal(attempt: Attempt, status: number, body: Json, retryAfter: string | undefined): Refusal {
  const { method, path, username, secrets } = attempt;
  const words = scrub(messagesOf(body), secrets);
  const said = words === '' ? '' : ` It says: ${words}`;
  const details = { keys: messageKeys(body), remarks: remarksIn(body, secrets) };
  const refused = (sentence: string): Refusal => new Refusal('invalid', status, `its BMC ${sentence}${said}`, details);
  if (status === 401) {
    return refused(
      `does not accept user "${username}" with the password given; ` +
        'check bmcusername and bmcpassword of the node, or the row of its kind in table passwd.',
    );
  }
  if (status === 403) return refused(`does not allow user "${username}" ${method} ${path}.`);
  if (status !== 429 && status !== 503) return refused(`answered ${status} to ${method} ${path}.`);
  const seconds = Number(retryAfter);
  const sentence = `its BMC is busy and answered ${status} to ${method} ${path}; try again later.${said}`;
  const options = seconds > 0 && seconds < 3_600 ? { retryAfter: Math.ceil(seconds) } : {};
  return new Refusal('unavailable', status, sentence, options);
}

/** A service's own words without what must stay secret. */
export function scrub(words: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '***')), words);
}

/** Seconds that have passed, as sentences say them. */
export const secondsSince = (began: number): number => Math.round((performance.now() - began) / 100) / 10;

const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET|ERR_TLS/;
const oldVersions = /^ERR_SSL_(TLSV1_ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|UNKNOWN_PROTOCOL|VERSION_TOO_LOW)$/;
const noTls = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|BAD_RECORD_TYPE)$/;
const weakKeys =
  /^ERR_SSL_(EE_KEY_TOO_SMALL|CA_KEY_TOO_SMALL|CA_MD_TOO_WEAK|LEGACY_SIGALG_DISALLOWED_OR_UNSUPPORTED|WRONG_SIGNATURE_TYPE)$/;
const isUnreachable = /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EHOSTDOWN|EADDRNOTAVAIL)$/;

/** The Fault for a connection that could not be opened, or broke. */
export function transportFault(error: unknown, where: string): Fault {
  if (error instanceof Fault) return error;
  const { code = '', message = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const unreachable = (sentence: string): Fault => new Unreachable(sentence, { cause: error });
  const fault = (kind: Fault['kind'], sentence: string): Fault => new Fault(kind, sentence, { cause: error });
  if (code === 'ECONNREFUSED') return unreachable(`nothing listens at ${where}; check its attributes bmc and bmcport.`);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return unreachable(`the address of its BMC, ${where}, has no known IP address.`);
  if (isUnreachable.test(code)) return unreachable(`its BMC at ${where} cannot be reached (${code}).`);
  if (certificateCodes.test(code))
    return fault('invalid', `the certificate of its BMC at ${where} is not accepted: ${message}.`);
  const answers = `what answers at ${where}`;
  const set = (transport: string): string => `its attribute bmctransport to ${transport}`;
  if (oldVersions.test(code))
    return fault(
      'garbled',
      `${answers} speaks no TLS newer than 1.1, whose protection has been broken. Update its firmware, or set ${set('oldtls')} if the way to it is safe.`,
    );
  if (weakKeys.test(code))
    return fault(
      'garbled',
      `${answers} shows a key or signature that is too weak. Give it a new certificate, or set ${set('oldtls')} if the way to it is safe.`,
    );
  if (noTls.test(code))
    return fault(
      'garbled',
      `${answers} does not speak HTTPS. If it is a simulator with plain HTTP, set ${set('http')}: account and commands can then be read on the way.`,
    );
  if (code === 'EPROTO' || code.startsWith('ERR_SSL'))
    return fault('garbled', `${answers} does not speak HTTPS, or only with ciphers that are not accepted.`);
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
    return fault('garbled', `${answers} does not speak HTTP.`);
  if (message === 'bad response' || message === 'bad upgrade')
    return fault('garbled', `${answers} sent something that does not answer the request.`);
  if (isBroken(error)) return fault('unavailable', `its BMC at ${where} closed the connection without an answer.`);
  return fault('garbled', `the exchange with its BMC at ${where} failed: ${message}.`);
}

/** The other side ended the connection, e.g. a kept one it had grown tired of. */
export function isBroken(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}

/** What speaks TLS closes a connection that does not begin with it. */
export const closedPlain = (where: string, cause: unknown): Fault =>
  new Fault(
    'unavailable',
    `its BMC at ${where} closed the connection without an answer; its attribute bmctransport is http, and it may want TLS.`,
    { cause },
  );
