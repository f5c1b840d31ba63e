import type { FreeObject, Json } from '../../../core/kernel/json.ts'

/** The same value with each bigint as the nearest number, as a reader of JSON text has it. */
export const plainNumbers = (value: Json | undefined): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return (value as readonly Json[]).map(plainNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value as FreeObject).map(([key, item]) => [key, plainNumbers(item)]))
}
