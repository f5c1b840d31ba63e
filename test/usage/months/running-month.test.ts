import test from 'ava'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import type { Contract, ContractId } from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { makeReadRunningMonth } from '../../../core/usage/months/overview.ts'
import type { UsageInputs } from '../../../core/usage/months/ports.ts'
import type { RunningContract } from '../../../core/usage/overview-ports.ts'
import { unwrap } from '../../support/outcome.ts'

/** When the running month of an account is computed, and when what the job has stored is shown. */

const ownerId = 5 as AccountId
const contract = {
  id: 7 as ContractId,
  ownerId,
  quota: { enabled: false, metric: 'cpu_core_month', limit: 0 },
} as Contract
const start = new Date('2026-06-10T12:30:00Z')
const stored: RunningContract['used'] = {
  milliCpuSeconds: 2_592_000_000n,
  mebibyteSeconds: 0n,
  computedAt: new Date('2026-06-10T12:00:00Z'),
}

const environment = (given: { readonly objects?: number; readonly used?: RunningContract['used'] } = {}) => {
  const { objects = 0, used } = { used: stored, ...given }
  const state = { now: start, passes: 0, fails: false, contracts: [contract] }
  const inputs: UsageInputs = {
    async factsOf() {
      state.passes += 1
      if (state.fails) throw new Error('The database does not answer.')
      const bindings = [{ contractId: 7, from: 0, to: undefined }]
      const cluster = { id: 1, uid: 'uid', presence: [], outages: [], modeChanges: [], clientNamespaces: [], bindings }
      return { clusters: [cluster], contracts: [], trialClaims: [] } as never
    },
    async *objectsOf() {
      for (let count = 0; count < objects; count += 1000)
        yield Array.from({ length: Math.min(1000, objects - count) }, () => ({
          object: { product: 'dbProduct' },
          intervals: '',
        })) as never
    },
  }
  const read = makeReadRunningMonth({
    overview: { runningContracts: async () => state.contracts.map((each) => ({ contract: each, used })) },
    inputs,
    clock: { now: () => state.now },
    caches: lruCaches,
  })
  return {
    state,
    figures: async () =>
      unwrap(await read(undefined as never, { ownerId })).contracts.map(({ cpu, computedAt }) => ({ cpu, computedAt })),
  }
}
const later = (minutes: number): Date => new Date(start.getTime() + minutes * 60_000)

test('an account is computed once in five minutes, also for concurrent reads', async (t) => {
  const { state, figures } = environment()
  const fresh = [{ cpu: 0, computedAt: start }]
  t.deepEqual(await Promise.all([figures(), figures()]), [fresh, fresh])
  state.now = later(4)
  t.deepEqual(await figures(), fresh)
  t.is(state.passes, 1)
  state.now = later(5)
  t.deepEqual(await figures(), [{ cpu: 0, computedAt: later(5) }])
  t.is(state.passes, 2)
})

test('a new contract is computed at the next read', async (t) => {
  const { state, figures } = environment({ used: undefined })
  await figures()
  state.now = later(1)
  state.contracts.push({ ...contract, id: 8 as ContractId })
  t.deepEqual(
    (await figures()).map(({ computedAt }) => computedAt),
    [later(1), later(1)],
  )
})

test("an account with more than 20,000 objects has the job's figures", async (t) => {
  t.deepEqual(await environment({ objects: 20_000 }).figures(), [{ cpu: 0, computedAt: start }])
  const large = environment({ objects: 20_001 })
  const ofJob = [{ cpu: 1, computedAt: stored?.computedAt }]
  t.deepEqual([await large.figures(), await large.figures()], [ofJob, ofJob])
  t.is(large.state.passes, 1, 'its size is not counted again at each read')
  t.deepEqual(await environment({ objects: 20_001, used: undefined }).figures(), [])
})

test('figures of the job that are newer are shown', async (t) => {
  const { state, figures } = environment({ used: stored && { ...stored, computedAt: later(2) } })
  state.now = later(3)
  t.deepEqual(await figures(), [{ cpu: 0, computedAt: later(3) }])
  state.now = start
  t.deepEqual(await environment({ used: stored && { ...stored, computedAt: later(2) } }).figures(), [
    { cpu: 1, computedAt: later(2) },
  ])
})

test('a pass that failed is not kept', async (t) => {
  const { state, figures } = environment()
  state.fails = true
  await t.throwsAsync(figures(), { message: 'The database does not answer.' })
  state.fails = false
  t.deepEqual(await figures(), [{ cpu: 0, computedAt: start }])
})
