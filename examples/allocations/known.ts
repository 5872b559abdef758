// A program that knows what it allocates: it counts for each of its parts, and says it at the end. What is left is only what it
// holds: by then the collector has run.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, iovecs: usize, count: i32, written: usize): i32;

class Node {
  next: Node | null = null;
  value: i32 = 0;
}

// Bytes, blocks, bytes that are left: of the part that runs. Nothing here is allocated.
const counts: usize = memory.data(12);
const text: usize = memory.data(256);
const iovec: usize = memory.data(16);
let length: usize = 0;
let list: Node | null = null;
let seen: i32 = 0;

function given(bytes: u32): void {
  store<u32>(counts, load<u32>(counts) + bytes);
  store<u32>(counts + 4, load<u32>(counts + 4) + 1);
}

function churns(): void {
  for (let i = 0; i < 20000; i++) {
    const node = new Node();
    node.value = i;
    seen += node.value;
    given(8);
  }
}

function keeps(): void {
  for (let i = 0; i < 1000; i++) {
    const node = new Node();
    node.next = list;
    list = node;
    given(8);
  }
  store<u32>(counts + 8, 8000);
}

function grows(): void {
  const numbers = new StaticArray<i32>(0);
  given(0);
  const array = new Array<i32>();
  given(16);
  let buffer: usize = 0, size: u32 = 0;
  for (let i = 0; i < 10000; i++) {
    array.push(i);
    // The array's buffer, and the bytes that it has, which stand in front of it.
    const now = load<usize>(changetype<usize>(array));
    const bytes = load<u32>(now - 4);
    if (now != buffer || bytes != size) given(bytes);
    buffer = now;
    size = bytes;
  }
  seen += array.length + numbers.length;
}

function texts(): void {
  for (let i = 1; i < 2000; i++) {
    const number = i.toString();
    given(number.length * 2);
    const line = "number " + number;
    given(line.length * 2);
    seen += line.length;
  }
}

function blocks(): void {
  for (let i = 0; i < 50; i++) {
    const block = new StaticArray<u8>(1000 + i);
    given(1000 + i);
    block[i] = 1;
    seen += block.length;
  }
}

function raws(): void {
  for (let i = 0; i < 100; i++) {
    const block = heap.alloc(100);
    given(100);
    store<u8>(block, 1);
    seen += load<u8>(block);
    heap.free(block);
  }
}

function put(byte: u8): void {
  store<u8>(text + length++, byte);
}

function number(value: u32): void {
  if (value > 9) number(value / 10);
  put(48 + <u8>(value % 10));
}

// What it was given counts from here on.
function before(): void {
  memory.fill(counts, 0, 12);
}

function after(a: u8, b: u8, c: u8, d: u8, e: u8): void {
  put(a); put(b); put(c); put(d); put(e);
  put(115);
  put(32);
  number(load<u32>(counts));
  put(32);
  number(load<u32>(counts + 4));
  put(32);
  number(load<u32>(counts) - load<u32>(counts + 8));
  put(32);
  number(load<u32>(counts + 8));
  put(10);
}

export function _start(): void {
  before(); churns(); after(99, 104, 117, 114, 110);
  before(); keeps(); after(32, 107, 101, 101, 112);
  before(); grows(); after(32, 103, 114, 111, 119);
  before(); texts(); after(32, 116, 101, 120, 116);
  before(); blocks(); after(98, 108, 111, 99, 107);
  before(); raws(); after(32, 32, 114, 97, 119);
  __collect();
  __collect();
  store<usize>(iovec, text);
  store<usize>(iovec + 4, length);
  fd_write(2, iovec, 1, iovec + 8);
}
