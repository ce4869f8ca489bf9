/** As names of nodes are: a worker has the name that the attribute `servicenode` of its nodes gives. */
const nameShape = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

export const isWorkerName = (name: string): boolean => nameShape.test(name) && !name.includes('..');

/** Dots separate the parts of a subject, and no name has a tilde. */
const token = (name: string): string => name.replaceAll('.', '~');
const nameOf = (part: string): string => part.replaceAll('~', '.');

/**
 * The subjects of all messages. NATS lets a worker subscribe only to those under its name and publish only those under its name, so
 * it can neither read what is meant for another nor answer for one. `instance` is one process of a worker: two of the same name do
 * not get each other's messages.
 */
export const subjects = {
  /** Servers announce themselves to all workers. */
  servers: 'muster.all.server',
  /** What a server tells a worker besides its jobs. */
  notice: (worker: string, instance: string) => `muster.to.${token(worker)}.${instance}.notice`,
  /** What a worker is to serve its nodes. */
  duty: (worker: string, instance: string) => `muster.to.${token(worker)}.${instance}.duty`,
  toWorker: (worker: string, instance: string, server: string, channel: string) =>
    `muster.to.${token(worker)}.${instance}.job.${server}.${channel}`,
  allToWorker: (worker: string, instance: string) => `muster.to.${token(worker)}.${instance}.>`,
  presence: (worker: string, instance: string) => `muster.from.${token(worker)}.${instance}.here`,
  allPresence: 'muster.from.*.*.here',
  toServer: (worker: string, instance: string, server: string, channel: string) =>
    `muster.from.${token(worker)}.${instance}.job.${server}.${channel}`,
  allToServer: (server: string) => `muster.from.*.*.job.${server}.*`,
};

/** What NATS allows a server, and a worker. */
export const permissions = {
  server: { publish: ['muster.to.>', 'muster.all.>'], subscribe: ['muster.from.>'] },
  worker: (name: string) => ({
    publish: [`muster.from.${token(name)}.>`],
    subscribe: [`muster.to.${token(name)}.>`, 'muster.all.>'],
  }),
};

/** The worker that a message goes to or comes from; undefined: it is for all of them. */
export function workerOf(subject: string): string | undefined {
  const worker = /^muster\.(?:to|from)\.([^.]+)\./.exec(subject)?.[1];
  return worker === undefined ? undefined : nameOf(worker);
}

/** Whether a subscription can bring messages on the subject. */
export function isWithin(subject: string, subscription: string): boolean {
  const parts = subject.split('.');
  const wanted = subscription.split('.');
  const isOpen = wanted.at(-1) === '>';
  if (isOpen ? parts.length < wanted.length : parts.length !== wanted.length) return false;
  return wanted.every((each, index) => each === '>' || each === '*' || each === parts[index]);
}

/** The parts of a subject that a message came by. */
export interface Address {
  readonly worker: string;
  readonly instance: string;
  readonly kind: string;
  readonly server: string;
  readonly channel: string;
}

export function readSubject(subject: string): Address {
  const [, , worker = '', instance = '', kind = '', server = '', channel = ''] = subject.split('.');
  return { worker: nameOf(worker), instance, kind, server, channel };
}

/** Processes number the channels that they open; undefined: that is no such number. */
export const readChannelNumber = (text: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
