import fc from 'fast-check'
import { usageClasses } from '../../core/usage/types.ts'
import type { UsedOnDay } from './product-months.ts'

const amount = fc.oneof(
  fc.constant(0n),
  fc.bigInt({ min: 0n, max: 3_000_000n }),
  fc.bigInt({ min: 0n, max: 10n ** 15n }),
)
const usedOnDay = fc
  .record({
    day: fc.integer({ min: 1, max: 28 }),
    use: fc.constantFrom(...usageClasses),
    contractId: fc.constantFrom(7, 9),
    milliCpuSeconds: amount,
    mebibyteSeconds: amount,
  })
  .map((used): UsedOnDay => (used.use === 'free' ? { ...used, contractId: 0 } : used))

/** Months of any use, as plans of `monthOfPlans`. */
export const plans = fc.array(
  fc.record({
    cluster: fc.integer({ min: 1, max: 4 }),
    kind: fc.constantFrom('Postgres', 'MySQL', 'Redis'),
    namespace: fc.constantFrom('shop', 'demo', 'ops'),
    name: fc.oneof(
      fc.constantFrom('=1+1', '+x', '-x', '@x', 'a,b', 'a"b', 'База', '数据库'),
      fc.string({ minLength: 1, maxLength: 8 }),
    ),
    used: fc.array(usedOnDay, { maxLength: 6 }),
  }),
  { maxLength: 25 },
)
