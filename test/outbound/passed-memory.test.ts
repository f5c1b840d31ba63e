import test from 'ava'
import { PassedMemory } from '../../adapters/outbound/passed-memory.ts'

const size = 16_384

test('passed memory is freed except for the last chunk', (t) => {
  const memory = new PassedMemory()
  const [first, second] = [new Uint8Array(size), new Uint8Array(size)]
  memory.add(first)
  memory.free()
  t.is(first.byteLength, size)
  memory.add(second)
  memory.free()
  t.deepEqual([first.byteLength, second.byteLength], [0, size])
})

test('chunks of one memory are freed together, when a chunk of another follows', (t) => {
  const memory = new PassedMemory()
  const shared = new ArrayBuffer(size)
  memory.add(new Uint8Array(shared, 0, 100))
  memory.add(new Uint8Array(shared, 100, 100))
  memory.free()
  t.is(shared.byteLength, size)
  memory.add(new Uint8Array(size))
  memory.free()
  t.is(shared.byteLength, 0)
})

test('common memory of small buffers, and an empty constant, are not freed', (t) => {
  const memory = new PassedMemory()
  const empty = new Uint8Array(0)
  const small = Buffer.allocUnsafe(16).fill(7)
  for (const chunk of [small, empty, new Uint8Array(size)]) memory.add(chunk)
  memory.free()
  t.is(small[15], 7)
  t.notThrows(() => new Uint8Array(4).set(empty))
})
