import { replayCollection } from './replay/replay.ts';

replayCollection('remote');
