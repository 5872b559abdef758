// `node build.mjs OUT.wasm`, with @bytecodealliance/componentize-js installed.
import { componentize } from '@bytecodealliance/componentize-js';
import { writeFileSync } from 'node:fs';

const { component } = await componentize({
  sourcePath: 'text.js',
  witPath: '../wit',
  worldName: 'text',
  disableFeatures: ['http', 'fetch-event'],
});
writeFileSync(process.argv[2], component);
