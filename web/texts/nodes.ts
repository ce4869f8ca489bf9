// The overview, the list of nodes, and the page of one node.
import { common, plural } from './common.ts';

export const overview = {
  reading: 'Reading the nodes…',
  readPower: 'Read power of all nodes',
  readingPower: 'Asking BMCs…',
  title: 'Nodes',
  color: 'Color',
  group: 'Group',
  ungrouped: 'none',
  selectValue: (count: number) => `Select these ${count}`,
  moreValues: (count: number) => `and ${count} more values`,
  answer: (nodes: number, troubles: number) =>
    `${common.nodes(nodes)}, ${
      troubles === 0 ? 'nothing wrong that muster knows of' : `${plural(troubles, 'needs', 'need')} attention`
    }`,
  none: 'There are no nodes yet',
  firstStep: 'Define the first ones from the command line. This makes ten, with a BMC each:',
  firstLine:
    "muster mkdef n1-n10 groups=all,compute mgt=ipmi bmc='|10.1.0.($1)|' bmcusername=ADMIN bmcpassword=PASSWORD",
  nextSteps:
    'They appear here as soon as they are defined. The chapter [Your first cluster] shows the next steps. An account that sees no nodes here needs a rule in the policy.',
  attention: 'Needs attention',
  selectAll: (count: number) => `Select all ${count}`,
  allRuns: 'All runs',
  noTrouble: 'No node reports a problem.',
  noRun: 'Nothing runs now. What you start on nodes appears here with its progress.',
  noChange: 'Nobody has changed a definition.',
  lastHour: 'Changed in the last hour',
  allChanges: 'All changes',
} as const;

/** What the grid shows by its colors. */
export const shadings = {
  power: 'power',
  status: 'status',
  provmethod: 'image',
  rack: 'rack',
  groups: 'first group',
  servicenode: 'service node',
  arch: 'architecture',
  os: 'operating system',
  temperature: 'temperature',
  bootstep: 'boot step',
} as const;

export const grid = {
  unknown: 'not known',
  unread: 'not read',
  beyondLimit: 'beyond a limit',
  hottest: '85 °C and more',
  degreesBetween: (from: number, to: number) => `${from} to ${to} °C`,
  coldest: 'below 30 °C',
  temperature: (degrees: number, sensor: string) => `${degrees} °C, ${sensor}`,
  badStatus: (status: string) => `Its status is ${status}.`,
  label: (count: number) => `Grid of ${common.nodes(count)}. Arrow keys move, Space selects, Enter opens.`,
  current: (name: string, detail: string, isSelected: boolean) => `${name}: ${detail}${isSelected ? ', selected' : ''}`,
  otherAttribute: 'another attribute…',
  byAttribute: (label: string) => `${label} by attribute`,
  attributeHint: 'attribute, Enter',
} as const;

export const nodeList = {
  all: 'All nodes',
  selected: 'Selected nodes',
  none: 'There are no nodes yet.',
  list: 'Nodes',
  columns: [common.node, common.power, 'Status', 'Image', 'Rack', 'Groups'],
} as const;

export const nodePage = {
  readings: {
    vitals: 'Vitals',
    inventory: 'Inventory',
    eventlog: 'Event log',
    boot: 'Boots',
    nextboot: 'Next boot device',
  },
  look: 'Look closer',
  whatToRead: 'What to read',
  lookHint: 'muster asks the BMC of the node when you press one of these.',
  noHardware:
    'This node has no BMC that muster knows of. Set its attribute mgt to read sensors, inventory and event log here.',
  nothingRead: 'There is nothing to show.',
  noEvents: 'The event log is empty.',
  lightOn: 'Light on',
  lightOff: 'Light off',
  lightIs: (state: string) => `The light is ${state}.`,
  missing: (name: string) => `There is no node ${name}`,
  missingWhy: 'It was removed or renamed, or your account may not see it.',
} as const;

export const attributes = {
  title: 'Attributes',
  columns: ['Attribute', 'Value', 'From'],
  add: 'Add an attribute',
  changeOne: (attribute: string, value: string) => `Change ${attribute}, now ${value}`,
  headingAdd: (node: string) => `${node}: add an attribute`,
  heading: (node: string, attribute: string) => `${node}: ${attribute}`,
  attribute: 'Attribute',
  value: 'Value of this node; empty takes it away, so that the value of a group counts',
  fromGroup: (group: string) => `group ${group}`,
  fromNode: 'this node',
  byPattern: (where: string, pattern: string) => `${where}, by ${pattern}`,
  computed: 'computed',
} as const;
