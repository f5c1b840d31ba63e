import { isLeft } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { ContractTerms } from './types.ts'
import { parseTerms } from './contract-rules.ts'
import { recordBound, recordEvent } from './contracts.ts'
import type { ContractBeginning, ContractLifecycle, ContractStores } from './ports.ts'

type LifecycleStores = Pick<ContractStores, 'contracts' | 'bindings' | 'events' | 'licenses' | 'audit'>

const parsed = (
  { name, product, features, days }: Pick<ContractBeginning, 'name' | 'product' | 'features' | 'days'>,
  from: Date,
) => parseTerms({ name, product, features, startsAt: from, endsAt: laterByDays(from, days) }, undefined)

/** Returns the beginning and the end of contracts on stores that are bound to one transaction. */
export const makeContractLifecycle = (stores: LifecycleStores, clock: Clock): ContractLifecycle => {
  const termsOf = (beginning: ContractBeginning, at: Date): ContractTerms => {
    const terms = parsed(beginning, at)
    if (isLeft(terms)) throw new Error(`The terms of a contract were checked and are not valid: ${terms.left.message}`)
    return terms.right
  }
  return {
    faultOf(beginning) {
      const terms = parsed(beginning, clock.now())
      return isLeft(terms) ? terms.left.message : undefined
    },
    async begin(beginning, by) {
      const { ownerId, product } = beginning
      const at = clock.now()
      const terms = termsOf(beginning, at)
      const id = await stores.contracts.insert(ownerId, terms, at, by)
      const contract = { id, ownerId, name: terms.name }
      const changes = { product, start: at.toISOString(), end: terms.endsAt.toISOString() }
      await recordEvent(stores, contract, { event: 'contract.created', by, at, changes })
      const clusterUid = uuidOf(beginning.clusterUid)
      if (clusterUid === undefined) return id
      await stores.bindings.add(contract, [{ clusterUid, displayName: clusterUid }], at)
      await recordBound(stores, contract, { by, at, clusters: [clusterUid] })
      return id
    },
    async revoke(ids, by) {
      const at = clock.now()
      const revoked = []
      for (const id of [...ids].sort((a, b) => a - b)) {
        const known = await stores.contracts.getAny(id)
        const [contract] = known === undefined ? [] : await stores.contracts.lock(known.ownerId, [id])
        if (contract === undefined || contract.revokedAt !== undefined) continue
        await stores.contracts.revoke(id, at)
        await stores.licenses.revokeOf(id, at)
        await recordEvent(stores, contract, { event: 'contract.revoked', by, at })
        revoked.push(id)
      }
      return revoked
    },
  }
}
