import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type Measure, measuresIn } from '../../src/nodes/series/measures.ts';
import { bytesOfSensor, NodeSeries } from '../../src/nodes/series/node-series.ts';
import { SeriesMemory } from '../../src/nodes/series/series-memory.ts';

const start = Date.parse('2026-11-15T00:00:00Z');
const minute = 60_000;
const hour = 60 * minute;
const temperature = (value: number, label = 'CPU'): Measure => ({
  label,
  kind: 'temp',
  unit: 'C',
  value,
  state: undefined,
});
const shown = (series: NodeSeries, now: number, since = 0) => series.shown(() => true, { since, now });

describe('values of readings', () => {
  it('keep nothing of the long texts that they were cut from', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const megabyte = 1_000_000;
    const used = (): number => {
      // The engine keeps the shapes of objects, and so the names of their members, a few collections longer.
      for (let i = 0; i < 5; i++) collect();
      return process.memoryUsage().heapUsed / megabyte;
    };
    const before = used();
    const kept = Array.from({ length: 100 }, (_, i) => {
      const text = Buffer.alloc(megabyte, `${i} degrees `).toString('latin1');
      return measuresIn({ [text]: `40 C, ${text}` });
    });
    expect(used() - before).toBeLessThan(50);
    expect(kept.flat().map(({ label, state }) => [label.length, state?.length])).toEqual(kept.map(() => [80, 40]));
  });

  it.each([
    ['CPU1 Temp', '40 C (104 F)', { kind: 'temp', unit: 'C', value: 40 }],
    ['CPU1 Temp', '93.5 C (200 F), Upper Critical', { value: 93.5, state: 'Upper Critical' }],
    ['Old Temp', '212 F (100 C)', { kind: 'temp', unit: 'C', value: 100 }],
    ['Sys Power', '160 Watts (546 BTUs/hr)', { kind: 'wattage', value: 160 }],
    ['Outlet 3 Power', '217.5 Watts', { kind: 'wattage', value: 217.5 }],
    ['Fan1', '6000 RPM', { kind: 'fanspeed', unit: 'RPM', value: 6000 }],
    ['Fan Module', '35 %', { kind: 'fanspeed', unit: '%', value: 35 }],
  ])('%s: %s', (label, text, expected) => {
    expect(measuresIn({ [label]: text })).toMatchObject([{ label, ...expected }]);
  });

  it('leaves out what has no value or is of another kind', () => {
    const readings = { A: 'N/A', B: '11.94 Volts', C: '35 %', D: ['40 C'], E: '40 C hot', F: 'on', G: '1e9 C' };
    expect(measuresIn(readings)).toEqual([]);
    expect(measuresIn({ ['x'.repeat(5_000)]: '40 C' })[0]!.label).toHaveLength(80);
  });
});

describe('the series of a node', () => {
  it('has the last hour by the minute and the day before by the mean of ten minutes', () => {
    const series = new NodeSeries();
    for (let at = 0; at < 180; at++) series.record([temperature(at)], start + at * minute, true);
    const now = start + 179 * minute;
    const { times, sensors } = shown(series, now);
    expect(times).toHaveLength(12 + 60);
    expect([times![0], times![11], times![12], times!.at(-1)]).toEqual([
      '2026-11-15T00:00:00.000Z',
      '2026-11-15T01:50:00.000Z',
      '2026-11-15T02:00:00.000Z',
      '2026-11-15T02:59:00.000Z',
    ]);
    expect(sensors['CPU']!.values!.slice(0, 13)).toEqual([
      4.5, 14.5, 24.5, 34.5, 44.5, 54.5, 64.5, 74.5, 84.5, 94.5, 104.5, 114.5, 120,
    ]);
    expect(shown(series, now, now - 5 * minute).sensors['CPU']!.values).toEqual([174, 175, 176, 177, 178, 179]);
  });

  it('forgets after a day, and what was before a pause', () => {
    const series = new NodeSeries();
    for (let at = 0; at < 30 * 60; at++) series.record([temperature(at)], start + at * minute, true);
    const all = shown(series, start + 30 * hour);
    expect(all.times![0]).toBe('2026-11-15T06:10:00.000Z');
    series.record([temperature(7)], start + 80 * hour, true);
    expect(shown(series, start + 80 * hour)).toMatchObject({
      times: ['2026-11-18T08:00:00.000Z'],
      sensors: { CPU: { value: 7, values: [7] } },
    });
    expect(shown(series, start + 200 * hour).times).toEqual([]);
  });

  it('has nothing where a sensor was not read, and begins anew when the clock is set back', () => {
    const series = new NodeSeries();
    series.record([temperature(40), temperature(20, 'Inlet')], start, true);
    series.record([temperature(41)], start + minute, true);
    expect(shown(series, start + minute).sensors['Inlet']!.values).toEqual([20, null]);
    series.record([temperature(42)], start - hour, true);
    expect(shown(series, start - hour)).toMatchObject({
      sensors: { CPU: { values: [42] }, Inlet: { values: [null] } },
    });
  });

  it('finds the hottest temperature that is not too old', () => {
    const series = new NodeSeries();
    series.record([temperature(90, 'Old')], start, true);
    series.record([temperature(40), temperature(50, 'GPU')], start + hour, true);
    expect([series.hottest(start), series.hottest(start + minute), series.hottest(start + 2 * hour)]).toEqual([
      'Old',
      'GPU',
      undefined,
    ]);
  });
});

describe('the memory of series', () => {
  const two = [temperature(1), temperature(2, 'Inlet')];

  it('is full after so many sensors; nodes that nobody has read for an hour make room', () => {
    const memory = new SeriesMemory(5 * bytesOfSensor);
    expect(memory.record('a', two, start, false)).toBe(true);
    expect(memory.record('b', two, start + minute, false)).toBe(true);
    expect(memory.record('c', two, start + 2 * minute, false)).toBe(false);
    expect([memory.of('a')?.size, memory.of('c'), memory.sensors]).toEqual([2, undefined, 4]);
    expect(memory.record('b', two, start + hour, false)).toBe(true);
    expect(memory.record('c', two, start + hour + minute, false)).toBe(true);
    expect([memory.of('a'), memory.of('b')?.size, memory.sensors]).toEqual([undefined, 2, 4]);
    expect(memory.record('d', two, start + hour + minute, true)).toBe(true);
    expect([memory.of('b'), memory.of('d')?.size]).toEqual([undefined, 2]);
  });

  it('keeps at most 64 sensors of a node, and forgets nodes after a day', () => {
    const memory = new SeriesMemory(1_000_000);
    const many = Array.from({ length: 500 }, (_, i) => temperature(i, `T${i}`));
    memory.record('a', many, start, true);
    expect([memory.of('a')!.size, memory.sensors]).toEqual([64, 64]);
    memory.record('b', two, start + hour, true);
    memory.sweep(start + 24 * hour + minute);
    expect([memory.of('a'), memory.of('b')?.size, memory.sensors]).toEqual([undefined, 2, 2]);
  });
});
