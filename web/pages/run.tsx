import { useEffect, useState } from 'preact/hooks';
import { get, write } from '../api/client.ts';
import type { NodeResult, Run } from '../api/types.ts';
import { Ago, Badge, Card, Message, Progress } from '../design/parts.tsx';
import { foldReasons, mostFirst } from '../model/folds.ts';
import { onEvent } from '../model/live.ts';
import { folded } from '../model/ranges.ts';
import { select } from '../model/selection.ts';
import { common } from '../texts/common.ts';
import { runs as texts } from '../texts/runs.ts';
import { BootSteps } from './provision.tsx';
import { countsOf, StateBadge } from './runs.tsx';

/** Results that are equal, with the nodes that have them. */
interface Fold {
  readonly text: string;
  readonly isError: boolean;
  readonly names: string[];
}

/** What a node answered, as text. */
export function textOf({ error, value, output }: NodeResult): string {
  const shown = [value ?? output].flatMap((each) => (each === undefined || each === null ? [] : [plain(each)]));
  return [...(error === undefined ? [] : [error]), ...shown].join('\n');
}

function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(plain).join('\n');
  if (typeof value !== 'object' || value === null) return String(value);
  const { stdout, stderr = '', code = 0 } = value as { stdout?: unknown; stderr?: string; code?: number };
  if (typeof stdout === 'string') {
    const ended = code === 0 ? [] : [texts.exitCode(code)];
    return [stdout.trimEnd(), stderr.trimEnd(), ...ended].filter((part) => part !== '').join('\n');
  }
  const entries = Object.entries(value);
  if (entries.length === 1) return plain(entries[0]![1]);
  return entries.map(([name, each]) => `${name}: ${plain(each)}`).join('\n');
}

/** Errors first, then what most nodes said. */
function fold(results: readonly NodeResult[]): Fold[] {
  const found = new Map<string, Fold>();
  for (const result of results) {
    const text = textOf(result);
    const isError = result.error !== undefined;
    const key = `${isError} ${text}`;
    const own = found.get(key);
    if (own) own.names.push(result.node);
    else found.set(key, { text, isError, names: [result.node] });
  }
  return [...found.values()].sort((a, b) => Number(b.isError) - Number(a.isError) || b.names.length - a.names.length);
}

/** What nodes are at whose result is not there yet. */
const UnderWay = ({ nodes }: { nodes: Readonly<Record<string, string>> }) => (
  <Card title={common.underWay}>
    <ul class="list">
      {mostFirst(foldReasons(Object.entries(nodes))).map(([sentence, names]) => (
        <li key={sentence}>
          <strong class="cut" title={names.join(', ')}>
            {folded(names)}
          </strong>
          <span class="grow">{sentence}</span>
        </li>
      ))}
    </ul>
  </Card>
);

/** Milliseconds between two readings of a run under way, however often it is announced. */
const pace = 700;

function useRun(id: string): { run?: Run; error?: string } {
  const [state, setState] = useState<{ run?: Run; error?: string }>({});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const read = async (): Promise<void> => {
      timer = undefined;
      try {
        const run = await get<Run>(`/runs/${encodeURIComponent(id)}`);
        if (isGone) return;
        setState({ run });
        // Events say when there is more; this is for a connection that was lost.
        if (run.state === 'running') timer ??= setTimeout(() => void read(), 3_000);
      } catch (failed) {
        if (!isGone) setState((before) => ({ ...before, error: (failed as Error).message }));
      }
    };
    let last = 0;
    const stop = onEvent((event) => {
      if (event.kind !== 'ready' && (event.kind !== 'run' || event.run !== id)) return;
      clearTimeout(timer);
      const wait = Math.max(0, last + pace - Date.now());
      last = Date.now() + wait;
      timer = setTimeout(() => void read(), wait);
    });
    void read();
    return () => {
      isGone = true;
      clearTimeout(timer);
      stop();
    };
  }, [id]);
  return state;
}

/** A run as everybody who has the link and may see it follows it; `range`: nodes that it boots. */
export function RunPage({ id, range }: { id: string; range: string | undefined }) {
  const { run, error } = useRun(id);
  const [problem, setProblem] = useState('');
  if (!run)
    return error === undefined ? <p class="muted">{common.reading}</p> : <Message tone="critical">{error}</Message>;
  const cancel = (): void => {
    write('DELETE', `/runs/${encodeURIComponent(id)}`).catch((failed: Error) => setProblem(failed.message));
  };
  const folds = fold(run.results ?? []);
  const failed = (run.results ?? []).filter((result) => result.error !== undefined).map(({ node }) => node);
  return (
    <>
      <header>
        <h1 class="mono">{run.command}</h1>
        <StateBadge run={run} />
        <span class="facts muted numbers">
          {texts.facts(run.user, countsOf(run))} · <Ago time={run.started} />
        </span>
        {failed.length > 0 && (
          <button type="button" class="button" onClick={() => select(folded(failed), failed)}>
            {texts.selectFailed(failed.length)}
          </button>
        )}
        {run.state === 'running' && (
          <button type="button" class="button" onClick={cancel}>
            {common.cancel}
          </button>
        )}
      </header>
      {problem !== '' && <Message tone="critical">{problem}</Message>}
      {error !== undefined && <Message tone="warning">{error}</Message>}
      <Progress
        done={run.progress?.done ?? run.ok + run.failed}
        of={run.progress?.of ?? run.nodes}
        failed={run.failed}
      />
      {run.error && <Message tone="critical">{run.error.join(' ')}</Message>}
      {run.note !== undefined && <Message tone="warning">{run.note}</Message>}
      {run.notes?.map((note) => (
        <Message key={note}>{note}</Message>
      ))}
      {range !== undefined && <BootSteps range={range} isRunning={run.state === 'running'} />}
      {run.underWay && <UnderWay nodes={run.underWay} />}
      {run.lines && (
        <Card title={texts.output}>
          <div class="body">
            <pre class="code">{run.lines.join('\n')}</pre>
          </div>
        </Card>
      )}
      {folds.map(({ text, isError, names }) => (
        <section class="card" key={`${isError} ${text}`}>
          <header>
            <h2 class="mono cut grow" title={names.join(',')}>
              {folded(names)}
            </h2>
            <Badge tone={isError ? 'critical' : ''}>{common.nodes(names.length)}</Badge>
          </header>
          <div class="body">
            <pre class="code">{text === '' ? common.noOutput : text}</pre>
          </div>
        </section>
      ))}
      {run.state === 'running' && folds.length === 0 && <p class="muted">{texts.noAnswer}</p>}
    </>
  );
}
