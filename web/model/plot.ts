/** A value at a time in milliseconds. */
export type Point = readonly [time: number, value: number];

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly from: number;
  readonly to: number;
}

/** Points further apart are not joined: nobody read the sensor in between. */
const longestGap = 25 * 60_000;
/** At the edges, so that lines are not cut. */
const edge = 3;

/** The smallest and the largest value, a little apart where they are the same. */
export function boundsOf(points: readonly Point[]): readonly [lowest: number, highest: number] {
  let [lowest, highest] = [Infinity, -Infinity];
  for (const [, value] of points) {
    lowest = Math.min(lowest, value);
    highest = Math.max(highest, value);
  }
  return [lowest, highest];
}

/** The path of an SVG through the points; a point alone is a short line. */
export function pathOf(points: readonly Point[], { width, height, from, to }: Frame): string {
  const [lowest, highest] = boundsOf(points);
  // What hardly moves is a calm line in the middle.
  const span = Math.max(highest - lowest, Math.abs(highest) * 0.05, 1);
  const middle = (lowest + highest) / 2;
  const x = (time: number): string => (((time - from) / (to - from)) * width).toFixed(1);
  const y = (value: number): string => (height / 2 - ((value - middle) / span) * (height - 2 * edge)).toFixed(1);
  let path = '';
  for (const [i, [time, value]] of points.entries()) {
    const before = points[i - 1]?.[0] ?? -Infinity;
    path += `${time - before > longestGap ? `M${x(time)} ${y(value)}h0.5` : ''}L${x(time)} ${y(value)}`;
  }
  return path;
}
