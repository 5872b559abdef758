// package: @astrojs/compiler
// toolchain: Go, GOOS=js
// expect: varies
import { parse, teardown, transform } from '@astrojs/compiler';
import { depth } from './depth.mjs';

const source = '---\nconst { a } = Astro.props;\n---\n<h1 class="x">{a}</h1><style>h1 { color: red }</style>';
const { code, css, diagnostics } = await transform(source, { filename: '/a.astro', internalURL: 'astro' });
console.log(code, css, diagnostics, depth());
console.log(JSON.stringify((await parse(source)).ast).length, depth());
console.log((await transform('<div>{</div>')).diagnostics, depth());
teardown();
process.exit(0);
