import { createHash } from 'node:crypto'
import type { TokenId } from '../../core/kernel/brand.ts'
import { eachDatabase } from '../support/databases.ts'
import { makeBench } from './bench.ts'
import { membershipStoreSuite } from './membership-store.suite.ts'
import { organizationStoreSuite } from './organization-store.suite.ts'
import type { StoreBench } from './store-bench.ts'
import { teamStoreSuite } from './team-store.suite.ts'

for (const { name, open } of eachDatabase()) {
  const openBench = async (): Promise<StoreBench> => {
    const database = await open()
    return {
      ...makeBench(database),
      cluster: async (ownerId, cluster) => {
        const fixed = { provider: 'Generic', uid: 'u', endpoint: 'e', phase: 'Active', ref: 'r', display_name: 'c', created_at: 1 }
        await database.query((k) => k('clusters').insert({ ...fixed, owner_id: ownerId, name: cluster }))
      },
      token: async (userId, tokenName, onlyOrgId) => {
        const token_hash = createHash('sha256').update(`${userId} ${tokenName}`).digest()
        const columns = { user_id: userId, name: tokenName, token_hash, last_eight: 'abcdefgh', scopes: 'all', created_at: 1 }
        await database.query((k) => k('access_tokens').insert({ ...columns, only_org_id: onlyOrgId ?? null }))
        const [row] = await database.query<{ id: number }>((k) => k('access_tokens').where({ user_id: userId, name: tokenName }).select('id'))
        return Number(row?.id) as TokenId
      },
    }
  }
  organizationStoreSuite(`${name} organizations`, openBench)
  teamStoreSuite(`${name} teams`, openBench)
  membershipStoreSuite(`${name} memberships`, openBench)
}
