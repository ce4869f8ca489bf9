import { useEffect, useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import type { NodeSeries, SensorSeries } from '../api/types.ts';
import { Ago, Badge, Card, Message, type Tone } from '../design/parts.tsx';
import { boundsOf, pathOf, type Point } from '../model/plot.ts';
import { texts } from '../texts/vitals.ts';

type Span = keyof typeof texts.spans;
const hours: Readonly<Record<Span, number>> = { '1h': 1, '6h': 6, '24h': 24 };
const kinds = ['temp', 'wattage', 'fanspeed'] as const;
const shownAtFirst = 6;

/** Milliseconds between two readings; until there is a first value it is looked more often. */
const pace = 20_000;
const firstPace = 1_500;

/** What the server knows, read again while the page is looked at; that has the server read the sensors each minute. */
function useSeries(name: string): { series?: NodeSeries; error?: string; isAsked: boolean } {
  const [state, setState] = useState<{ series?: NodeSeries; error?: string; isAsked: boolean }>({ isAsked: false });
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      let wait = pace;
      if (!document.hidden)
        try {
          const path = `/nodes/${inPath(name)}/series?sample=1`;
          const { series } = await get<{ series: readonly NodeSeries[] }>(path, controller.signal);
          if (series.length === 0) wait = firstPace;
          setState({ ...(series[0] && { series: series[0] }), isAsked: true });
        } catch (failed) {
          if (controller.signal.aborted) return;
          setState((before) => ({ ...before, error: (failed as Error).message, isAsked: true }));
        }
      timer = setTimeout(() => void read(), wait);
    };
    const look = (): void => {
      if (document.hidden) return;
      clearTimeout(timer);
      void read();
    };
    document.addEventListener('visibilitychange', look);
    setState({ isAsked: false });
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [name]);
  return state;
}

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 });
const units: Readonly<Record<string, string>> = { C: '°C', Watts: 'W' };
const withUnit = (value: number, unit: string): string => `${number(value)} ${units[unit] ?? unit}`;

/** As BMCs call the limits of IPMI. */
function toneOf(state: string | undefined): Tone {
  if (state === undefined) return '';
  return /non-critical/i.test(state) ? 'warning' : 'critical';
}

/** The end of a gauge: what such sensors can show, or more than it ever was. */
function endOf({ kind, unit, value, limits }: SensorSeries, highest: number): number {
  const most = Math.max(value, highest, limits?.upperCritical ?? 0);
  if (unit === '%' || (kind === 'temp' && most <= 100)) return 100;
  const step = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return Math.ceil((most * 1.1) / (step / 2)) * (step / 2);
}

/** Where the value stands between nothing and the end, with the limits of the BMC. */
function Gauge({ name, sensor, highest }: { name: string; sensor: SensorSeries; highest: number }) {
  const end = endOf(sensor, highest);
  const at = (value: number): number => Math.max(0, Math.min(100, (100 * value) / end));
  const { upperWarning, upperCritical } = sensor.limits ?? {};
  return (
    <svg
      class={`gauge ${toneOf(sensor.state)}`}
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      role="meter"
      aria-label={texts.gauge(name)}
      aria-valuemin={0}
      aria-valuemax={end}
      aria-valuenow={sensor.value}
      aria-valuetext={withUnit(sensor.value, sensor.unit)}
    >
      <rect class="track" width="100" height="6" rx="1" />
      {upperWarning !== undefined && (
        <rect class="near" x={at(upperWarning)} width={100 - at(upperWarning)} height="6" />
      )}
      {upperCritical !== undefined && (
        <rect class="beyond" x={at(upperCritical)} width={100 - at(upperCritical)} height="6" />
      )}
      <rect class="value" width={at(sensor.value)} height="6" rx="1" />
    </svg>
  );
}

const frame = { width: 240, height: 44 };

function Plot({ name, points, span, unit }: { name: string; points: readonly Point[]; span: Span; unit: string }) {
  const to = Date.now();
  const from = to - hours[span] * 3_600_000;
  const [lowest, highest] = boundsOf(points).map((value) => withUnit(value, unit)) as [string, string];
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${frame.width} ${frame.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={texts.plot(name, lowest, highest, texts.spans[span])}
    >
      <path d={pathOf(points, { ...frame, from, to })} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

function Sensor({
  name,
  sensor,
  times,
  span,
}: {
  name: string;
  sensor: SensorSeries;
  times: readonly string[];
  span: Span;
}) {
  const since = Date.now() - hours[span] * 3_600_000;
  const points = (sensor.values ?? []).flatMap((value, i): Point[] => {
    const time = Date.parse(times[i]!);
    return value === null || time < since ? [] : [[time, value]];
  });
  const [lowest, highest] = points.length === 0 ? [sensor.value, sensor.value] : boundsOf(points);
  return (
    <li class="sensor">
      <span class="cut muted" title={name}>
        {name}
      </span>
      <div class="row wrap">
        <strong class="numbers">{withUnit(sensor.value, sensor.unit)}</strong>
        {sensor.state !== undefined && <Badge tone={toneOf(sensor.state)}>{sensor.state}</Badge>}
      </div>
      <Gauge name={name} sensor={sensor} highest={highest} />
      {points.length > 1 ? (
        <>
          <Plot name={name} points={points} span={span} unit={sensor.unit} />
          <span class="muted small numbers">
            {texts.range(withUnit(lowest, sensor.unit), withUnit(highest, sensor.unit))}
          </span>
        </>
      ) : (
        <span class="muted small">{texts.noPlot}</span>
      )}
    </li>
  );
}

interface GroupProps {
  readonly title: string;
  readonly sensors: readonly (readonly [string, SensorSeries])[];
  readonly times: readonly string[];
  readonly span: Span;
}

function Group({ title, sensors, times, span }: GroupProps) {
  const [isWhole, setWhole] = useState(false);
  // What is beyond a limit first, then what is hottest or draws most; fans stand as the BMC has them.
  const sorted = sensors.toSorted(
    ([, a], [, b]) =>
      Number(b.state !== undefined) - Number(a.state !== undefined) || (a.kind === 'fanspeed' ? 0 : b.value - a.value),
  );
  if (sensors.length === 0) return null;
  return (
    <div class="body stack">
      <h3>{title}</h3>
      <ul class="sensors">
        {(isWhole ? sorted : sorted.slice(0, shownAtFirst)).map(([name, sensor]) => (
          <Sensor key={name} name={name} sensor={sensor} times={times} span={span} />
        ))}
      </ul>
      {sensors.length > shownAtFirst && (
        <div>
          <button type="button" class="button quiet" onClick={() => setWhole(!isWhole)}>
            {isWhole ? texts.fewer : texts.more(sensors.length)}
          </button>
        </div>
      )}
    </div>
  );
}

/** Temperatures, power draw and fans: as they are, and as they were. */
export function Vitals({ name }: { name: string }) {
  const { series, error, isAsked } = useSeries(name);
  const [span, setSpan] = useState<Span>('1h');
  const sensors = Object.entries(series?.sensors ?? {});
  return (
    <Card
      title={texts.title}
      side={
        <>
          {series?.time !== undefined && (
            <span class="muted small">
              {texts.read} <Ago time={series.time} />
            </span>
          )}
          <select
            class="field"
            aria-label={texts.span}
            value={span}
            onChange={(event) => setSpan(event.currentTarget.value as Span)}
          >
            {Object.entries(texts.spans).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </>
      }
    >
      {error !== undefined && (
        <div class="body">
          <Message tone="warning">{error}</Message>
        </div>
      )}
      {series?.problem !== undefined && (
        <div class="body">
          <Message tone="warning">{texts.failed(series.problem)}</Message>
        </div>
      )}
      {kinds.map((kind) => (
        <Group
          key={kind}
          title={texts.kinds[kind]}
          sensors={sensors.filter(([, sensor]) => sensor.kind === kind)}
          times={series?.times ?? []}
          span={span}
        />
      ))}
      {sensors.length === 0 && error === undefined && series?.problem === undefined && (
        <p class="body muted">{isAsked && series?.time !== undefined ? texts.none : texts.first}</p>
      )}
    </Card>
  );
}
