import data from '../package.json' with { type: 'json' };

export const { version } = data;
