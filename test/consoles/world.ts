import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Consoles } from '../../src/consoles/index.ts';
import type { ConsoleMessage, ConsoleRequest, ViewerSink } from '../../src/consoles/index.ts';
import { ServiceProcessorTrust } from '../../src/drivers/bmc/certificate-trust.ts';
import { Devices } from '../../src/drivers/devices.ts';
import { Governor } from '../../src/drivers/governor.ts';
import { Hardware } from '../../src/drivers/hardware.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';
import { portDriver } from './serial-port.ts';

/** Never compared with a password. */
const hash = `$6$saltsalt$${'x'.repeat(86)}`;

export const accounts: [string, Record<string, string>][] = ['root', 'ann', 'eve'].map((username) => [
  'passwd',
  { key: 'xcat', username, password: hash },
]);
accounts.push(['policy', { priority: '1', name: 'root', rule: 'allow' }]);

/** A client that remembers all that it gets. */
export interface TestViewer {
  readonly sink: ViewerSink;
  readonly output: string;
  readonly bytes: number;
  /** Bytes that were left out for it. */
  readonly cut: number;
  readonly messages: readonly ConsoleMessage[];
  readonly state: Extract<ConsoleMessage, { type: 'state' }>;
  readonly notices: readonly string[];
  readonly isPaused: boolean;
  readonly reason: string | undefined;
  type(text: string): void;
  ask(request: ConsoleRequest): void;
  leave(): void;
  /** The network takes nothing until it is called again with false. */
  stall(isStalled: boolean): void;
  readonly left: Promise<void>;
}

export interface ConsoleWorld {
  readonly store: TestStore;
  readonly consoles: Consoles;
  readonly data: string;
  readonly reported: (readonly [string, string])[];
  enter(node: string, how?: { user?: string; mayWrite?: boolean; takeOver?: boolean }): Promise<TestViewer>;
  close(): Promise<void>;
}

export async function startConsoles(settings = {}): Promise<ConsoleWorld> {
  const store = await memoryStore();
  const data = mkdtempSync(join(tmpdir(), 'muster-consoles-'));
  const drivers = new Map([['wire', portDriver()]]);
  const reported: (readonly [string, string])[] = [];
  const consoles = new Consoles({
    data,
    store: store.services.store,
    log: { error: console.error } as never,
    settings: { most: 100, opening: 8, logSize: 1 << 20, logsKept: 2, writeSeconds: 1, ...settings },
    hardware: new Hardware(drivers, store.box),
    devices: new Devices(drivers, new Governor()),
    certificates: new ServiceProcessorTrust(store.services.store, undefined),
    workers: undefined,
    events: { notice: (nodes, sentence) => void reported.push([nodes.join(), sentence]) },
    servers: { name: 'here', id: 'here', list: async () => [] },
    audit: true,
  });
  const end = consoles.begin();
  return {
    store,
    consoles,
    data,
    reported,
    async enter(node, { user = 'root', mayWrite = true, takeOver = false } = {}) {
      const line = mayWrite ? '' : 'view';
      const shown = { user, scope: undefined, token: undefined, login: undefined };
      const identity = { ...shown, client: '127.0.0.1', addresses: ['127.0.0.1'] };
      const enter = await consoles.open({ node, identity: { ...identity, request: 'r1', line, mayWrite }, takeOver });
      return testViewer(enter);
    },
    async close() {
      end();
      await consoles.close();
      await store.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

function testViewer(enter: (sink: ViewerSink) => Promise<void>): TestViewer {
  let [typed, asked, closed]: [(bytes: Buffer) => void, (request: ConsoleRequest) => void, () => void] = [
    () => {},
    () => {},
    () => {},
  ];
  const messages: ConsoleMessage[] = [];
  let output = '';
  let bytes = 0;
  let isPaused = false;
  let isStalled = false;
  let reason: string | undefined;
  let waiting: (() => void)[] = [];
  const sink: ViewerSink = {
    send(data, taken) {
      const arrive = (): void => {
        if (typeof data === 'string') messages.push(JSON.parse(data));
        else {
          output = (output + data.toString()).slice(-1_000_000);
          bytes += data.length;
        }
        taken();
      };
      if (isStalled) waiting.push(arrive);
      else setImmediate(arrive);
    },
    pause: () => void (isPaused = true),
    resume: () => void (isPaused = false),
    onTyped: (heard) => void (typed = heard),
    onRequest: (heard) => void (asked = heard),
    onClose: (heard) => void (closed = heard),
    end(why) {
      reason = why;
      closed();
    },
  };
  const left = enter(sink);
  return {
    sink,
    left,
    get output() {
      return output;
    },
    get bytes() {
      return bytes;
    },
    get cut() {
      return messages.reduce((sum, message) => sum + (message.type === 'cut' ? message.bytes : 0), 0);
    },
    messages,
    get state() {
      return messages.findLast((message) => message.type === 'state')!;
    },
    get notices() {
      return messages.flatMap((message) => (message.type === 'notice' ? message.message : []));
    },
    get isPaused() {
      return isPaused;
    },
    get reason() {
      return reason;
    },
    type: (text) => typed(Buffer.from(text)),
    ask: (request) => asked(request),
    leave: () => closed(),
    stall(stalls) {
      isStalled = stalls;
      if (stalls) return;
      const all = waiting;
      waiting = [];
      for (const arrive of all) arrive();
    },
  };
}
