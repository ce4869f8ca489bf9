export { Hooks } from './hooks/hooks.ts';
export { EventHub } from './hub.ts';
export type { Sink } from './listener.ts';
export { hookSettings, metricSettings } from './settings.ts';
export { isStillKnown } from './view.ts';
