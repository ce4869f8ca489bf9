import { replayCollection } from './replay/replay.ts';

replayCollection('definitions');
