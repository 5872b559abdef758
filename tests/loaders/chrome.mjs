// Reads a trace with the engine of Chrome's developer tools: node chrome.mjs TOOLS TRACE
//
// Prints the names on the path down to the first call of isValidPosition, and how often each function was called.
import { readFileSync } from 'node:fs';

const [tools, file] = process.argv.slice(2);
const { TraceModel } = await import(`${tools}/node_modules/@paulirish/trace_engine/models/trace/trace.js`);
// What only a page has, and the engine asks for.
globalThis.DOMRect ??= class {};

const model = TraceModel.Model.createWithAllHandlers();
await model.parse(JSON.parse(readFileSync(file, 'utf8')).traceEvents);
const { processes, entryToNode } = model.parsedTrace().data.Renderer;
for (const thread of [...processes.values()].flatMap((process) => [...process.threads.values()])) {
  const counts = new Map();
  let path;
  for (const entry of thread.entries) {
    counts.set(entry.name, (counts.get(entry.name) ?? 0) + 1);
    if (!path && entry.name === 'isValidPosition') {
      path = [];
      for (let node = entryToNode.get(entry); node; node = node.parent) {
        path.unshift(node.entry.name);
      }
    }
  }
  console.log(`${thread.name}: ${path.slice(path.indexOf('main')).join(' > ')}`);
  for (const [name, count] of counts) console.log(`${count} ${name}`);
}
