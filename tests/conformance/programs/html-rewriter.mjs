// package: html-rewriter-wasm
// toolchain: wasm-bindgen with asyncify, Rust
// covers: JavaScript called back asynchronously, errors thrown by it
// expect: left
// counts: same
import { createRequire } from 'node:module';
import { close, depth } from './depth.mjs';

const { HTMLRewriter } = createRequire(import.meta.url)('html-rewriter-wasm');
async function rewrite(html, element) {
  let output = '';
  const rewriter = new HTMLRewriter((chunk) => (output += new TextDecoder().decode(chunk)));
  rewriter.on('p', { element });
  try {
    await rewriter.write(new TextEncoder().encode(html));
    await rewriter.end();
  } catch (error) {
    output += error.message;
    close();
  } finally {
    rewriter.free();
  }
  console.log(output, depth());
}
const html = '<h1>Title</h1><p class="a">one</p><div><p>two</p></div>';
await rewrite(html, (element) => element.setInnerContent('new'));
await rewrite(html, async (element) => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  element.after(`<i>${element.getAttribute('class')}</i>`, { html: true });
});
await rewrite(html, () => {
  throw new Error('not this one');
});
await rewrite(html.repeat(200), (element) => element.remove());
