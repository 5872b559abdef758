// package: blazor
// toolchain: .NET 10, Mono's interpreter (Emscripten)
// node: 24
// covers: managed exceptions, an exit inside the guest
// expect: open varies
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { depth } from './depth.mjs';

const root = join(dirname(createRequire(import.meta.url).resolve('blazor/package.json')), 'release/wwwroot/_framework');
const { dotnet } = await import(pathToFileURL(join(root, 'dotnet.js')));
const runtime = await dotnet.withDiagnosticTracing(false).create();
console.log(Object.keys(runtime).sort().join(' '), depth());
// It is a page's program: main throws what is missing, nobody catches it, and the runtime exits.
await runtime.runMain('Piral.Blazor.Core', []);
