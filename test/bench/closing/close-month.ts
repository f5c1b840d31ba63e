import { randomBytes, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { makeHmacDigest } from '../../../adapters/security/digests.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlLeaseStore } from '../../../adapters/sql/kernel/instance-store.ts'
import { makeSqlMonthStore } from '../../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { makeClosingThreads } from '../../../composition/parts/usage/closing-threads.ts'
import { makeClosingSpools, sha256 } from '../../../composition/parts/usage/closing-work.ts'
import { makeAuditChain } from '../../../core/audit/audit-chain.ts'
import { monthEnd } from '../../../core/usage/month.ts'
import type { CloseDeps } from '../../../core/usage/months/close.ts'
import { makeCloseMonth } from '../../../core/usage/months/close.ts'
import { makeGatherMonth } from '../../../core/usage/months/product-month.ts'
import type { UnixSeconds } from '../../../core/usage/types.ts'
import { benchMonth, benchOwner } from './bench-month.ts'

/**
 * Rolls up or closes the month of the database whose URL is the first argument, as the second one says, after rolling
 * it up as often as the third one says; prints the figures as JSON.
 */
const [url = '', what, warmUpText = '0'] = process.argv.slice(2)
const warmUps = Number(warmUpText)
const db = await openDatabase(url)
const months = makeSqlMonthStore(db)
const asOf = (monthEnd(benchMonth) + 3600) as UnixSeconds
// This process does what the service does in a process of low priority. The twin has normal priority too.
const work = makeClosingThreads({ databaseUrl: url, database: {}, dataDir: tmpdir() })
const gather = makeGatherMonth({
  settle: async () => undefined,
  inputs: makeSqlUsageInputs(db, { isAlone: true }),
  spools: makeClosingSpools(tmpdir()),
  digest: sha256,
  work,
})
const deps: CloseDeps = {
  gather,
  digest: sha256,
  clock: { now: () => new Date(asOf * 1000) },
  leases: makeSqlLeaseStore(db),
  newHolder: randomUUID,
  months: months(db),
  unitOfWork: makeSqlUnitOfWork(
    db,
    (tx, audit) => ({
      months: months(tx),
      audit,
      mail: { post: async () => undefined },
      events: { add: async () => undefined },
      contractsIn: async () => [],
    }),
    makeSqlAuditTrail(db, makeAuditChain(makeHmacDigest(new Uint8Array(randomBytes(32))))),
  ),
  report: { write: async () => undefined },
}
const ownerId = benchOwner
const call = {
  principal: undefined,
  requestId: 'bench',
  sourceIp: '127.0.0.1',
  operation: 'bench',
  signal: new AbortController().signal,
}

const rollUp = async (): Promise<void> =>
  (await gather({ call, ownerId, month: benchMonth, asOf, onProgress: () => undefined })).remove()

const delay = monitorEventLoopDelay({ resolution: 1 })
/** Does a step and prints what it cost. */
const measure = async (step: () => Promise<unknown>): Promise<void> => {
  delay.reset()
  delay.enable()
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  await step()
  const seconds = (performance.now() - started) / 1000
  const used = process.cpuUsage(cpu)
  delay.disable()
  process.stdout.write(
    `${JSON.stringify({ seconds, cpuSeconds: (used.user + used.system) / 1e6, peakMegabytes: process.resourceUsage().maxRSS / 1024, loopP99Ms: delay.percentile(99) / 1e6, loopMaxMs: delay.max / 1e6 })}\n`,
  )
}
if (what === 'close') await measure(() => makeCloseMonth(deps)(call, { ownerId, month: benchMonth }))
else {
  // As in a service that closes the months of many owners: threads run, and code is compiled.
  for (let round = 0; round < warmUps; round += 1) await rollUp()
  await measure(rollUp)
}
await work.close()
await db.close()
