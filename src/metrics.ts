import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Context } from './context.ts';
import { type Metric, single } from './core/metrics.ts';
import { allNodes } from './objects/groups.ts';

const eventLoopResolution = 20;

/** Everything that is counted anywhere, for GET /metrics. */
export function collectMetrics(context: Context): void {
  const { metrics, meters, runs, store, workerServices, events, hooks, consoles, connections, version } = context;
  metrics.add(() => meters.metrics());
  metrics.add(() => runMetrics(runs));
  metrics.add(() => deviceMetrics(workerServices));
  metrics.add(() => storeMetrics(store));
  metrics.add(() => eventMetrics(events));
  metrics.add(() => hookMetrics(hooks));
  metrics.add(() => hardwareEventMetrics(context));
  metrics.add(() => [single('gauge', 'muster_connections', 'Connections of clients that are open.', connections.open)]);
  metrics.add(() => consoleMetrics(consoles));
  metrics.add(() => sourceMetrics(context));
  metrics.add(processMetrics(version));
}

function* hardwareEventMetrics({ hardwareEvents }: Pick<Context, 'hardwareEvents'>): Iterable<Metric> {
  yield {
    name: 'muster_hardware_events_bmcs',
    type: 'gauge',
    help: 'BMCs whose events this server follows, by how it hears of them; none: it does not at the moment.',
    samples: [...hardwareEvents.ways].map(([way, value]) => ({ labels: { way }, value })),
  };
}

function* sourceMetrics({ sourceStates }: Pick<Context, 'sourceStates'>): Iterable<Metric> {
  const { seen } = sourceStates;
  if (seen.length === 0) return;
  yield {
    name: 'muster_account_source_up',
    type: 'gauge',
    help: 'Whether this server can ask each part of the sources of accounts: 1, or 0.',
    samples: seen.map(({ source, name: part, problem }) => ({
      labels: { source, part },
      value: problem === undefined ? 1 : 0,
    })),
  };
}

function* runMetrics(runs: Context['runs']): Iterable<Metric> {
  const counts = [...runs.counts];
  yield {
    name: 'muster_runs_total',
    type: 'counter',
    help: 'Runs of commands that work on nodes or outside the database, by outcome.',
    samples: counts.flatMap(([command, { ok, failed }]) => [
      { labels: { command, result: 'ok' }, value: ok },
      { labels: { command, result: 'failed' }, value: failed },
    ]),
  };
  yield {
    name: 'muster_run_nodes_total',
    type: 'counter',
    help: 'Nodes that such runs worked on, by outcome.',
    samples: counts.flatMap(([command, { nodesOk, nodesFailed }]) => [
      { labels: { command, result: 'ok' }, value: nodesOk },
      { labels: { command, result: 'failed' }, value: nodesFailed },
    ]),
  };
  yield single('gauge', 'muster_runs_under_way', 'Such runs that have not ended.', runs.underWay);
}

function* consoleMetrics(consoles: Context['consoles']): Iterable<Metric> {
  const { open, connected, viewers } = consoles.counts();
  yield single('gauge', 'muster_consoles_open', 'Serial consoles that this server keeps open.', open);
  yield single('gauge', 'muster_consoles_connected', 'Those of them that are connected.', connected);
  yield single('gauge', 'muster_console_viewers', 'Clients that look at one.', viewers);
}

function* deviceMetrics({ devices }: Context['workerServices']): Iterable<Metric> {
  yield {
    name: 'muster_bmc_sessions',
    type: 'gauge',
    help: 'Sessions and connections with BMCs that are open or kept.',
    samples: devices.sessions().map(([driver, value]) => ({ labels: { driver }, value })),
  };
  const { working, waiting, silent, leftAlone } = devices.load;
  yield single('gauge', 'muster_devices_working', 'Devices that commands work on.', working);
  yield single('gauge', 'muster_device_commands_waiting', 'Commands that wait for a device or for a slot.', waiting);
  yield single('gauge', 'muster_devices_silent', 'Devices that did not answer when they were last asked.', silent);
  yield single(
    'gauge',
    'muster_device_breakers_open',
    'Devices of these that are not retried yet: commands for them fail at once.',
    leftAlone,
  );
}

function* storeMetrics(store: Context['store']): Iterable<Metric> {
  const { current } = store;
  const { batches, sets, seconds, waiting } = store.load;
  yield single(
    'gauge',
    'muster_store_healthy',
    '1 unless the database cannot be written or followed.',
    Number(store.healthy),
  );
  yield single(
    'gauge',
    'muster_store_revision',
    'The number of the latest change set in the journal.',
    current.revision,
  );
  yield single('gauge', 'muster_store_nodes', 'Nodes that are defined.', allNodes(current).length);
  yield single('counter', 'muster_store_change_sets_total', 'Change sets that were written, volatile ones too.', sets);
  yield single('counter', 'muster_store_batches_total', 'Transactions with a sync that were written.', batches);
  yield single('counter', 'muster_store_write_seconds_total', 'Seconds that writing them took.', seconds);
  yield single('gauge', 'muster_store_waiting', 'Change sets and records that wait to be written.', waiting);
}

function* eventMetrics(events: Context['events']): Iterable<Metric> {
  const { told, dropped, gaps } = events.counts;
  yield single('gauge', 'muster_event_listeners', 'Clients that listen to events.', events.listeners);
  yield single('gauge', 'muster_event_held_bytes', 'Bytes that slow listeners have not taken yet.', events.heldBytes);
  yield single('counter', 'muster_events_told_total', 'Events that were sent, counted once for each listener.', told);
  yield single('counter', 'muster_event_listeners_dropped_total', 'Listeners that were too slow.', dropped);
  yield single(
    'counter',
    'muster_event_gaps_total',
    'Times that a listener missed events which could not be sent again.',
    gaps,
  );
}

function* hookMetrics(hooks: Context['hooks']): Iterable<Metric> {
  const counts = [...hooks.counts()];
  yield {
    name: 'muster_hook_events_waiting',
    type: 'gauge',
    help: 'Events that wait for a hook.',
    samples: counts.map(({ hook, waiting }) => ({ labels: { hook }, value: waiting })),
  };
  yield {
    name: 'muster_hook_events_total',
    type: 'counter',
    help: 'Events of hooks, by whether they were delivered or dropped.',
    samples: counts.flatMap(({ hook, delivered, dropped }) => [
      { labels: { hook, result: 'delivered' }, value: delivered },
      { labels: { hook, result: 'dropped' }, value: dropped },
    ]),
  };
  yield {
    name: 'muster_hook_failures_total',
    type: 'counter',
    help: 'Pushes that failed and were tried again, or given up.',
    samples: counts.map(({ hook, failed }) => ({ labels: { hook }, value: failed })),
  };
}

function processMetrics(version: string): () => Iterable<Metric> {
  const delay = monitorEventLoopDelay({ resolution: eventLoopResolution });
  delay.enable();
  const started = (Date.now() - performance.now()) / 1_000;
  return function* () {
    const { user, system } = process.cpuUsage();
    const { idle, active } = performance.eventLoopUtilization();
    const { rss, heapUsed, external } = process.memoryUsage();
    const at = (percentile: number): number =>
      Math.max(0, delay.percentile(percentile) / 1e9 - eventLoopResolution / 1_000);
    yield {
      name: 'muster_build_info',
      type: 'gauge',
      help: 'The version.',
      samples: [{ labels: { version }, value: 1 }],
    };
    yield single(
      'counter',
      'process_cpu_seconds_total',
      'Processor time, of the user and the system.',
      (user + system) / 1e6,
    );
    yield single('gauge', 'process_resident_memory_bytes', 'Memory that is in use.', rss);
    yield single('gauge', 'process_start_time_seconds', 'When it was started, in seconds since 1970.', started);
    yield single('gauge', 'muster_heap_used_bytes', 'Memory of objects.', heapUsed);
    yield single('gauge', 'muster_external_memory_bytes', 'Memory of buffers.', external);
    yield single(
      'counter',
      'muster_event_loop_busy_seconds_total',
      'Seconds that the event loop was at work.',
      active / 1_000,
    );
    yield single('counter', 'muster_event_loop_idle_seconds_total', 'Seconds that it waited.', idle / 1_000);
    yield {
      name: 'muster_event_loop_delay_seconds',
      type: 'gauge',
      help: 'How late timers were since it was last asked, by percentile.',
      samples: [50, 99, 100].map((percentile) => ({
        labels: { percentile: String(percentile) },
        value: at(percentile),
      })),
    };
    delay.reset();
  };
}
