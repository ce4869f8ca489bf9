/** English texts of the sensors on the page of a node. */
export const texts = {
  title: 'Sensors',
  spans: { '1h': '1 hour', '6h': '6 hours', '24h': '1 day' },
  span: 'Time that is shown',
  kinds: { temp: 'Temperatures', wattage: 'Power draw', fanspeed: 'Fans' },
  first: 'muster asks the BMC for its sensors. The first values appear in a few seconds.',
  none: 'The BMC reports no temperatures, power draw or fans.',
  failed: (problem: string) => `The last reading failed: ${problem}`,
  read: 'Read',
  more: (count: number) => `Show all ${count}`,
  fewer: 'Show fewer',
  range: (lowest: string, highest: string) => (lowest === highest ? `steady at ${lowest}` : `${lowest} to ${highest}`),
  plot: (name: string, lowest: string, highest: string, span: string) =>
    `${name} in the last ${span}: ${lowest} to ${highest}`,
  gauge: (name: string) => `${name} now`,
  noPlot: 'One value so far',
} as const;
