import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { makeHmacDigest } from '../../../adapters/security/digests.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlLeaseStore } from '../../../adapters/sql/kernel/lease-store.ts'
import { makeSqlMonthStore } from '../../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { makeSpools } from '../../../adapters/system/spools.ts'
import { makeAuditChain } from '../../../core/audit/audit-chain.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { monthEnd } from '../../../core/usage/month.ts'
import type { CloseDeps } from '../../../core/usage/months/close.ts'
import { makeCloseMonth } from '../../../core/usage/months/close.ts'
import { gatherMonth } from '../../../core/usage/months/product-month.ts'
import type { UnixSeconds } from '../../../core/usage/types.ts'
import { buildViews } from '../../../core/usage/views/build-views.ts'
import { benchMonth, benchOwner } from './month-data.ts'

/** Rolls up or closes the month of the database whose URL is the first argument, as the second one says; prints the figures as JSON. */
const [url = '', what] = process.argv.slice(2)
const db = await openDatabase(url)
const months = makeSqlMonthStore(db)
const views = makeSqlUsageViewStore(db)(db)
const asOf = (monthEnd(benchMonth) + 3600) as UnixSeconds
const deps: CloseDeps = {
  inputs: makeSqlUsageInputs(db),
  spools: makeSpools(tmpdir()),
  digest: () => {
    const hash = createHash('sha256')
    return { add: (text) => void hash.update(text), end: () => hash.digest('hex') }
  },
  clock: { now: () => new Date(asOf * 1000) },
  leases: makeSqlLeaseStore(db),
  newHolder: randomUUID,
  months: months(db),
  unitOfWork: makeSqlUnitOfWork(db, (tx, audit) => ({ months: months(tx), audit }), makeSqlAuditTrail(db, makeAuditChain(makeHmacDigest(new Uint8Array(randomBytes(32)))))),
  settle: async () => undefined,
  views: { write: (monthId, product) => buildViews(views, monthId, product) },
  report: { write: async () => undefined },
}
const ownerId = benchOwner as AccountId
const call = { principal: undefined, requestId: 'bench', sourceIp: '127.0.0.1', operation: 'bench', signal: new AbortController().signal }

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const [started, cpu] = [performance.now(), process.cpuUsage()]
if (what === 'close') await makeCloseMonth(deps)(call, { ownerId, month: benchMonth })
else await (await gatherMonth(deps, { ownerId, month: benchMonth, asOf, signal: call.signal, onProgress: () => undefined })).remove()
const used = process.cpuUsage(cpu)
delay.disable()
process.stdout.write(`${JSON.stringify({
  seconds: (performance.now() - started) / 1000,
  cpuSeconds: (used.user + used.system) / 1e6,
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
  loopP99Ms: delay.percentile(99) / 1e6,
  loopMaxMs: delay.max / 1e6,
})}\n`)
await db.close()
