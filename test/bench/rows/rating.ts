import { linesOf, randomAccount } from '../../rating/random-accounts.ts'
import { makeRandom } from '../../usage/sample/random.ts'
import { bars } from '../bars.ts'
import type { MeasureRow } from './row.ts'

const accounts = 22_000
const mebibyte = 2 ** 20

/** Row 42: prices of all models over dated terms, in this process. Reading the usage and writing drafts is not in it. */
export const rating: MeasureRow = async ({ bench }) => {
  bench.progress.doing('rating a month')
  const random = makeRandom('bench')
  const all = Array.from({ length: accounts }, (_, i) => randomAccount(random, i + 1))
  const before = process.memoryUsage().rss
  const from = performance.now()
  const lines = all.reduce((sum, account) => sum + linesOf(account).length, 0)
  const seconds = (performance.now() - from) / 1000
  const megabytes = (process.memoryUsage().rss - before) / mebibyte
  const row = { row: '42', ours: {}, against: '-' }
  const note = `${lines} lines of ${accounts} accounts, one after the other`
  return [
    { ...row, what: 'rating a month', value: seconds, unit: ' s', bar: bars.ratingSeconds, note },
    { ...row, what: 'memory of it', value: megabytes, unit: ' MB', bar: bars.ratingMegabytes },
  ]
}
