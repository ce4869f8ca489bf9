import { setTimeout as wait } from 'node:timers/promises';
import { type CDPSession, chromium, type Page } from 'playwright-core';
import { consoleAt, flags } from '../test/web/browser.ts';
import { nodeRange } from './cluster.ts';
import { processorTime } from './process.ts';
import { atMost, type Benchmark, compare, figure, median, quantile } from './report.ts';
import { type Muster, password, root, startMusterWith } from './server.ts';

const nodes = 10_000;
/** Nodes whose status changes in a second, in so many requests. */
const changed = 1_000;
const sets = 20;
const seconds = 20;
/** As many changes as an hour brings where 100 nodes change a second. */
const longSeconds = 360;
const pages = 50;
/** Nodes that change in a second while so many pages are open. */
const calm = 20;
const calmSeconds = 20;
/** Milliseconds of a frame, kB, and milliseconds of processor time a second. */
const allowed = { frame: 8, firstLoad: 250, processor: 333 };

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly ts: number;
  readonly dur?: number;
  /** Processor time, which other programs on the machine do not lengthen. */
  readonly tdur?: number;
  readonly tid: number;
}

const script = new Set([
  'FunctionCall',
  'EvaluateScript',
  'FireAnimationFrame',
  'TimerFire',
  'RunMicrotasks',
  'EventDispatch',
  'v8.callFunction',
]);

/** Milliseconds of script between one frame and the next, for each frame; calls within calls count once. */
function scriptTimes(events: readonly TraceEvent[]): number[] {
  const frames = events.filter(({ name }) => name === 'Commit');
  const thread = frames[0]?.tid;
  const calls = events
    .filter(({ name, ph, tid }) => ph === 'X' && tid === thread && script.has(name))
    .toSorted((a, b) => a.ts - b.ts);
  const times: number[] = [];
  let i = 0;
  let until = 0;
  for (const { ts: end } of frames.toSorted((a, b) => a.ts - b.ts)) {
    let sum = 0;
    for (; i < calls.length && calls[i]!.ts < end; i++) {
      const { ts, dur = 0, tdur = dur } = calls[i]!;
      if (ts < until) continue;
      sum += tdur;
      until = ts + dur;
    }
    times.push(sum / 1_000);
  }
  return times;
}

async function traced(session: CDPSession, work: () => Promise<void>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'v8'] },
  });
  await work();
  const ended = new Promise<void>((resolve) => session.once('Tracing.tracingComplete', () => resolve()));
  await session.send('Tracing.end');
  await ended;
  return events;
}

/** Each second a part of the nodes gets another status. */
async function change(muster: Muster, forSeconds: number, perSecond = changed): Promise<void> {
  const client = await muster.connect();
  const began = performance.now();
  const size = perSecond / sets;
  for (let set = 0; set < forSeconds * sets; set++) {
    const from = (set * size) % nodes;
    const status = ['booting', 'booted', 'netbooting'][Math.floor((set * size) / nodes) % 3]!;
    await client.expect({
      method: 'PUT',
      path: `${root}/nodes/${nodeRange(from + 1, from + size)}`,
      body: { status },
    });
    await wait(Math.max(0, began + (set + 1) * (1_000 / sets) - performance.now()));
  }
  client.close();
}

async function signIn(page: Page, muster: Muster): Promise<number> {
  let loaded = 0;
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (loaded += encodedDataLength));
  await page.goto(consoleAt(muster.port));
  await page.getByLabel('Account').fill('root');
  const before = loaded;
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: nodes.toLocaleString('en-US') }).waitFor();
  await session.detach();
  return before;
}

async function shown(page: Page, muster: Muster): Promise<void> {
  await page.goto(consoleAt(muster.port));
  await page.getByRole('heading', { level: 1, name: nodes.toLocaleString('en-US') }).waitFor({ timeout: 120_000 });
}

/** MiB of the objects of a page, after those that nothing needs are gone. */
async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1_048_576;
}

/** What the overview costs a browser, and what browsers cost the server. */
export const webConsole: Benchmark = {
  name: 'web-console',
  async *rows() {
    const muster = await startMusterWith(nodes);
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags });
    try {
      const context = await browser.newContext({ ignoreHTTPSErrors: true });
      const page = await context.newPage();
      const firstLoad = await signIn(page, muster);
      yield compare(
        'web console: first load, compressed',
        firstLoad / 1_000,
        allowed.firstLoad,
        'kB',
        atMost(1),
        'allowed',
      );
      await page.getByLabel('Color', { exact: true }).selectOption('status');
      const session = await context.newCDPSession(page);
      const times = scriptTimes(await traced(session, () => change(muster, seconds)));
      const name = `  script in a frame, ${changed} of ${nodes} nodes change a second`;
      yield compare(name, median(times), allowed.frame, 'ms', atMost(1), 'allowed');
      const slow = `${figure(quantile(times, 0.95))} ms`;
      yield {
        what: '  95 of 100 frames',
        muster: slow,
        floor: `${times.length} frames`,
        ratio: undefined,
        bar: undefined,
      };
      await change(muster, 20);
      const before = await heapOf(session);
      await change(muster, longSeconds);
      yield compare(
        `  heap after ${longSeconds * changed} changes`,
        await heapOf(session),
        before,
        'MiB',
        atMost(1.1),
        'before',
      );
      await page.goto('about:blank');
      const storageState = await context.storageState();
      for (let i = 0; i < pages; i++) {
        // Browsers of their own, as far as connections go.
        const other = await browser.newContext({ ignoreHTTPSErrors: true, storageState });
        await shown(await other.newPage(), muster);
      }
      const idle = processorTime(muster.pid);
      await change(muster, calmSeconds, calm);
      const took = (processorTime(muster.pid) - idle) / calmSeconds;
      const what = `  server CPU of ${pages} open pages, ${calm} nodes change a second`;
      yield compare(what, took, allowed.processor, 'ms/s', atMost(1), 'allowed');
    } finally {
      await browser.close();
      await muster.stop();
    }
  },
};
