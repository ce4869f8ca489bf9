// The stream of events: one for the whole console, begun again by itself whatever ends it.
import { get, root } from '../api/client.ts';
import type { EventKind, RunHead, ServerEvent } from '../api/types.ts';
import { apply, loadCluster } from './cluster.ts';
import { Store } from './store.ts';

export const connection = new Store<'connecting' | 'live' | 'lost'>('connecting');
/** Those under way and those of the last minutes, the newest first. */
export const runs = new Store<readonly RunHead[]>([]);
/** Counts changes of definitions, for pages that list them. */
export const changesSeen = new Store(0);

const kinds: readonly EventKind[] = ['change', 'status', 'power', 'run', 'notice', 'hardware'];
const mostRuns = 100;
/** Milliseconds after which a page that nobody sees hears nothing more; it hears what it missed when it is seen again. */
const hiddenFor = 10_000;
const listeners = new Set<(event: ServerEvent) => void>();

export function onEvent(listener: (event: ServerEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let source: EventSource | undefined;
let lastId = '';
let waiting: ReturnType<typeof setTimeout> | undefined;

function connect(): void {
  disconnect();
  const after = lastId === '' ? '' : `&after=${encodeURIComponent(lastId)}`;
  source = new EventSource(`${root}/events?kinds=${kinds.join(',')}${after}`);
  const hear = (message: MessageEvent<string>): void => {
    if (message.lastEventId !== '') lastId = message.lastEventId;
    const event = JSON.parse(message.data) as ServerEvent;
    if (event.kind === 'ready') {
      // What happened while nobody listened comes as events; runs are counted anew.
      connection.set('live');
      // That the connection is lost again is shown already.
      loadRuns().catch(() => {});
    }
    take(event);
  };
  for (const kind of [...kinds, 'ready', 'gap', 'dropped']) source.addEventListener(kind, hear);
  source.addEventListener('error', () => {
    connection.set('lost');
    if (source?.readyState !== EventSource.CLOSED) return;
    waiting = setTimeout(() => {
      // It may be that the session has ended; whoever asks hears of it.
      get('/session').then(connect, connect);
    }, 2_000);
  });
}

function disconnect(): void {
  clearTimeout(waiting);
  source?.close();
  source = undefined;
}

function take(event: ServerEvent): void {
  apply(event);
  if (event.kind === 'change') changesSeen.set(changesSeen.value + 1);
  if (event.kind === 'run') {
    const { run: id, state, command, user, nodes, ok, failed, progress, errorcode = 0 } = event;
    const before = runs.value.find((known) => known.id === id);
    const head: RunHead = {
      id,
      command,
      user,
      nodes,
      ok,
      failed,
      errorcode,
      state: state === 'begun' ? 'running' : state,
      started: before?.started ?? event.time,
      ...(state === 'begun' || state === 'running' ? {} : { finished: event.time }),
      ...(progress && { progress }),
    };
    runs.set([head, ...runs.value.filter((known) => known.id !== id)].slice(0, mostRuns));
  }
  for (const listener of listeners) listener(event);
}

export async function loadRuns(): Promise<void> {
  const reply = await get<{ readonly runs: readonly RunHead[] }>('/runs?limit=100');
  runs.set(reply.runs);
}

let hiding: ReturnType<typeof setTimeout> | undefined;

/** A browser opens six connections to a server, so that more pages than that would wait for each other: those that nobody sees give theirs up. */
function followVisibility(): void {
  clearTimeout(hiding);
  if (document.visibilityState === 'hidden') hiding = setTimeout(disconnect, hiddenFor);
  else if (source === undefined) connect();
}

/** All that the pages share. */
export async function begin(): Promise<void> {
  await loadCluster();
  document.addEventListener('visibilitychange', followVisibility);
  followVisibility();
}

export function end(): void {
  document.removeEventListener('visibilitychange', followVisibility);
  clearTimeout(hiding);
  disconnect();
}
