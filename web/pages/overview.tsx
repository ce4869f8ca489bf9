import { useEffect, useMemo, useState } from 'preact/hooks';
import { get } from '../api/client.ts';
import type { ChangeList } from '../api/types.ts';
import { Ago, Card, Message, Progress, Read, Sentence } from '../design/parts.tsx';
import { asking, askPower, cluster, show } from '../model/cluster.ts';
import { isSignIn } from '../model/change-line.ts';
import { legendOf, type Shading, troubles } from '../model/colors.ts';
import { changesSeen, runs } from '../model/live.ts';
import { follow, isMeasured } from '../model/measured.ts';
import { folded } from '../model/ranges.ts';
import { linkTo } from '../model/route.ts';
import { select } from '../model/selection.ts';
import { useStore } from '../model/store.ts';
import { isDark } from '../model/theme.ts';
import { common } from '../texts/common.ts';
import { overview as texts, shadings } from '../texts/nodes.ts';
import { AttributeChoice } from './attribute-choice.tsx';
import { ChangeLine } from './changes.tsx';
import { NodeGrid } from './node-grid.tsx';
import { RunLine } from './runs.tsx';

const mostListed = 8;
/** Many of the changes are of people who sign in, which are not listed. */
const mostRead = 100;
/** Asked without a word: more than these somebody has to want. */
const askedByItself = 2_000;

const groupings = { '': texts.ungrouped, ...shadings };

/** Is my cluster well? */
export function Overview() {
  const { nodes, state, error } = useStore(cluster);
  const [shading, setShading] = useState<Shading>(() => localStorage.getItem('muster-shading') ?? 'power');
  const [groupBy, setGroupBy] = useState<Shading>(() => localStorage.getItem('muster-grouping') ?? '');
  const isAsking = useStore(asking);
  const dark = useStore(isDark);
  const [problem, setProblem] = useState('');
  const legend = useMemo(() => legendOf(nodes, shading), [nodes, shading]);
  const ask = (): void => {
    setProblem('');
    askPower().catch((failed: Error) => setProblem(failed.message));
  };
  useEffect(() => {
    // Of those that it knows anyway, nothing has to be read.
    const more = [shading, groupBy].filter((by) => !Object.hasOwn(groupings, by));
    if (state !== 'ready') return;
    setProblem('');
    show(more).catch((failed: Error) => setProblem(failed.message));
  }, [state, shading, groupBy]);
  const [missing, setMissing] = useState('');
  const followed = [shading, groupBy].filter(isMeasured);
  useEffect(() => {
    if (state !== 'ready') return undefined;
    const controller = new AbortController();
    setMissing('');
    for (const by of new Set(followed)) follow(by, (failed = '') => setMissing(failed), controller.signal);
    return () => controller.abort();
  }, [state, followed.join()]);
  const isNew = state === 'ready' && nodes.length > 0 && nodes.length <= askedByItself;
  useEffect(() => {
    if (isNew && !cluster.value.nodes.some(({ power }) => power !== undefined)) ask();
  }, [isNew]);
  if (state === 'failed') return <Message tone="critical">{error}</Message>;
  if (state === 'loading') return <p class="muted">{texts.reading}</p>;
  if (nodes.length === 0) return <Nothing />;
  return (
    <>
      <header>
        <h1 class="grow">
          <Answer />
        </h1>
        <button type="button" class="button" onClick={ask} disabled={isAsking}>
          {isAsking ? texts.readingPower : texts.readPower}
        </button>
      </header>
      {problem !== '' && <Message tone="critical">{problem}</Message>}
      {missing !== '' && <Message tone="warning">{missing}</Message>}
      <div class="overview">
        <div class="wrong">
          <Attention />
        </div>
        <Card
          title={texts.title}
          side={
            <>
              <AttributeChoice
                label={texts.color}
                value={shading}
                known={shadings}
                onChange={(value) => {
                  localStorage.setItem('muster-shading', value);
                  setShading(value);
                }}
              />
              <AttributeChoice
                label={texts.group}
                value={groupBy}
                known={groupings}
                onChange={(value) => {
                  localStorage.setItem('muster-grouping', value);
                  setGroupBy(value);
                }}
              />
            </>
          }
        >
          <div class="legend">
            {legend.slice(0, 24).map(({ value, names, color }) => (
              <button
                key={value}
                type="button"
                title={texts.selectValue(names.length)}
                onClick={() => select(folded(names), names)}
              >
                <svg aria-hidden="true" viewBox="0 0 10 10">
                  <rect width="10" height="10" rx="2" fill={dark ? color.dark : color.light} />
                </svg>
                <span class="cut">{value}</span>
                <b class="numbers">{names.length.toLocaleString('en-US')}</b>
              </button>
            ))}
            {legend.length > 24 && <span class="muted small">{texts.moreValues(legend.length - 24)}</span>}
          </div>
          <NodeGrid nodes={nodes} shading={shading} legend={legend} groupBy={groupBy} />
        </Card>
        <div class="column">
          <UnderWay />
          <LastHour />
        </div>
      </div>
    </>
  );
}

function Answer() {
  const { nodes } = useStore(cluster);
  const found = useMemo(() => troubles(nodes).length, [nodes]);
  return <span class="numbers">{texts.answer(nodes.length, found)}</span>;
}

const Nothing = () => (
  <div class="card empty">
    <h1>{texts.none}</h1>
    <p>{texts.firstStep}</p>
    <pre class="code">{texts.firstLine}</pre>
    <p>
      <Sentence text={texts.nextSteps}>
        {(part) => (
          <a href="/muster/manual/first-cluster" target="_blank" rel="noreferrer">
            {part}
          </a>
        )}
      </Sentence>
    </p>
  </div>
);

function Attention() {
  const { nodes } = useStore(cluster);
  const found = useMemo(() => troubles(nodes), [nodes]);
  const all = found.map(({ node }) => node.name);
  return (
    <Card
      title={texts.attention}
      side={
        found.length > 0 && (
          <button type="button" class="button quiet" onClick={() => select(folded(all), all)}>
            {texts.selectAll(found.length)}
          </button>
        )
      }
    >
      {found.length === 0 && <p class="body muted">{texts.noTrouble}</p>}
      <ul class="list">
        {found.slice(0, mostListed).map(({ node, why, isBad }) => (
          <li key={node.name}>
            <div class="grow">
              <a href={linkTo(`/nodes/${encodeURIComponent(node.name)}`)}>{node.name}</a>
              <div class={`small cut ${isBad ? '' : 'muted'}`} title={why}>
                {why}
              </div>
            </div>
          </li>
        ))}
        {found.length > mostListed && <li class="muted small">{common.more(found.length - mostListed)}</li>}
      </ul>
    </Card>
  );
}

function UnderWay() {
  const now = useStore(runs).filter(({ state }) => state === 'running');
  return (
    <Card title={common.underWay} side={<a href={linkTo('/runs')}>{texts.allRuns}</a>}>
      {now.length === 0 && <p class="body muted">{texts.noRun}</p>}
      <ul class="list">
        {now.slice(0, mostListed).map((run) => (
          <li key={run.id}>
            <div class="grow stack">
              <RunLine run={run} />
              <Progress
                done={run.progress?.done ?? run.ok + run.failed}
                of={run.progress?.of ?? run.nodes}
                failed={run.failed}
              />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function LastHour() {
  const seen = useStore(changesSeen);
  return (
    <Card title={texts.lastHour} side={<a href={linkTo('/changes')}>{texts.allChanges}</a>}>
      <Read
        of={String(seen)}
        read={(signal) => get<ChangeList>(`/changes?limit=${mostRead}&since=${encodeURIComponent(hourAgo())}`, signal)}
      >
        {({ changes }) =>
          changes.every(isSignIn) ? (
            <p class="body muted">{texts.noChange}</p>
          ) : (
            <ul class="list">
              {changes
                .filter((change) => !isSignIn(change))
                .slice(0, mostListed)
                .map((change) => (
                  <li key={change.id}>
                    <ChangeLine change={change} />
                    <Ago time={change.time} />
                  </li>
                ))}
            </ul>
          )
        }
      </Read>
    </Card>
  );
}

const hourAgo = (): string => new Date(Date.now() - 3_600_000).toISOString();
