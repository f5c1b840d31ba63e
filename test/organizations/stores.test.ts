import { createHash } from 'node:crypto'
import type { TokenId } from '../../core/kernel/ids.ts'
import { eachDatabase } from '../support/databases.ts'
import { makeBench } from './bench.ts'
import { invitationStoreSuite } from './invitation-store.suite.ts'
import { membershipStoreSuite } from './membership-store.suite.ts'
import { organizationStoreSuite } from './organization-store.suite.ts'
import { policyStoreSuite } from './policy-store.suite.ts'
import { robotStoreSuite } from './robot-store.suite.ts'
import type { StoreBench } from './store-bench.ts'
import { teamStoreSuite } from './team-store.suite.ts'

for (const { name, open } of eachDatabase()) {
  const openBench = async (): Promise<StoreBench> => {
    const database = await open()
    return {
      ...makeBench(database),
      removeUser: async (userId) => void (await database.query((k) => k('accounts').where('id', userId).delete())),
      email: async (userId, email, verified) => {
        const columns = { user_id: userId, email, lower_email: email.toLowerCase(), verified: verified ? 1 : 0, is_primary: 1, created_at: 1 }
        await database.query((k) => k('emails').insert(columns))
      },
      factor: async (userId, isEnrolled) => {
        await database.query((k) => k('two_factors').where('user_id', userId).delete())
        const columns = { user_id: userId, sealed_seed: Buffer.from([1]), ref: 'r', offered_at: 1, enrolled_at: isEnrolled ? 2 : null }
        await database.query((k) => k('two_factors').insert(columns))
      },
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
  invitationStoreSuite(`${name} invitations`, openBench)
  policyStoreSuite(`${name} policies`, openBench)
  robotStoreSuite(`${name} robots`, openBench)
  membershipStoreSuite(`${name} memberships`, openBench)
}
