// package: source-map
// toolchain: rustc, Rust without a library
// counts: same
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const { SourceMapConsumer, SourceMapGenerator } = createRequire(import.meta.url)('source-map');
const map = new SourceMapGenerator({ file: 'out.js' });
for (let n = 0; n < 3000; n++) {
  map.addMapping({ generated: { line: 1 + (n >> 4), column: 7 * (n & 15) }, source: `in${n % 7}.js`, original: { line: 1 + ((n * 37) % 500), column: n % 80 }, name: `n${n % 11}` });
}
await SourceMapConsumer.with(map.toJSON(), null, (consumer) => {
  let count = 0;
  consumer.eachMapping(({ originalLine }) => (count += originalLine));
  console.log(count, depth());
  console.log(JSON.stringify(consumer.originalPositionFor({ line: 77, column: 50 })), depth());
  console.log(JSON.stringify(consumer.generatedPositionFor({ source: 'in3.js', line: 38, column: 1, bias: SourceMapConsumer.LEAST_UPPER_BOUND })), depth());
  console.log(consumer.allGeneratedPositionsFor({ source: 'in3.js', line: 112 }).length, depth());
});
const broken = await new SourceMapConsumer({ version: 3, sources: ['a'], names: [], mappings: '!!' });
try {
  broken.eachMapping(() => {});
} catch (error) {
  console.log(String(error), depth());
}
