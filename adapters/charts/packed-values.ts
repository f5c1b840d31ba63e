import { deserialize, serialize } from 'node:v8'
import type { Json } from '../../core/kernel/json.ts'
import type { TimeSlices } from '../../core/kernel/clock.ts'

/** Bytes that are read back in a few milliseconds. */
const partBytes = 64 * 1024

/** Values as bytes, in parts that are read back one by one; a value by itself is never parted. */
export const packValues = (values: readonly Json[]): readonly Uint8Array[] => {
  const bytes = serialize(values)
  if (bytes.length <= partBytes || values.length < 2) return [bytes]
  const half = values.length >> 1
  return [...packValues(values.slice(0, half)), ...packValues(values.slice(half))]
}

export const unpackValues = async (parts: readonly Uint8Array[], slices: TimeSlices): Promise<readonly Json[]> => {
  const read = await Promise.all(parts.map((part) => slices.run(() => deserialize(part) as readonly Json[])))
  return read.flat(1) as readonly Json[]
}
