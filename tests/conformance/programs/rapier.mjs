// package: @dimforge/rapier2d-compat
// toolchain: wasm-bindgen, Rust
import { createRequire } from 'node:module';
import { depth } from './depth.mjs';

const { default: named, ...all } = createRequire(import.meta.url)('@dimforge/rapier2d-compat');
const RAPIER = named ?? all;
await RAPIER.init();
const world = new RAPIER.World({ x: 0, y: -9.81 });
world.createCollider(RAPIER.ColliderDesc.cuboid(50, 0.5));
const bodies = Array.from({ length: 40 }, (_, n) => {
  const body = world.createRigidBody(RAPIER.RigidBodyDesc.dynamic().setTranslation((n % 5) * 0.9, 2 + n));
  world.createCollider(n % 3 ? RAPIER.ColliderDesc.ball(0.5) : RAPIER.ColliderDesc.cuboid(0.4, 0.6), body);
  return body;
});
for (let step = 0; step < 120; step++) world.step();
console.log(bodies.map((body) => body.translation().y.toFixed(3)).join(' '), depth());
const hit = world.castRay(new RAPIER.Ray({ x: 0.3, y: 30 }, { x: 0, y: -1 }), 100, true);
console.log(hit?.timeOfImpact.toFixed(3), depth());
world.free();
