import { left, right } from 'fp-ts/lib/Either.js'
import { ClusterChanged, ClusterNameTaken, type ClusterAccount, type ClusterStore } from '../../../core/clusters/ports.ts'
import { toManagerMask, type ClusterChange } from '../../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../../core/kernel/ids.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { CountRow } from '../counted-page.ts'
import { pageOf } from '../counted-page.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { Bind, SqlDatabase, SqlRunner } from '../statement.ts'
import { clusterStatements, type changeableColumns } from './cluster-statements.ts'
import { clusterOf, newBinds, type ClusterRow } from './rows.ts'

interface LinkRow {
  readonly id: number
  readonly owner_id: number
  readonly owner_name: string
  readonly version: number
  readonly impersonates_users: number
}
interface SealedRow {
  readonly owner_id: number
  readonly ref: string
  readonly sealed_credential: Uint8Array
}
interface AccountRow {
  readonly id: number
  readonly name: string
  readonly kind: string
}

/** A null leaves the column as it is. */
const changeBinds = (change: ClusterChange): Record<(typeof changeableColumns)[number], Bind> => ({
  display_name: change.displayName ?? null,
  provider: change.provider ?? null,
  infra_namespace: change.infraNamespace ?? null,
  impersonates_users: change.impersonatesUsers === undefined ? null : change.impersonatesUsers ? 1 : 0,
  endpoint: change.endpoint ?? null,
  ref: change.sealed?.ref ?? null,
  sealed_credential: change.sealed?.box ?? null,
})

/** ClusterStore over the table `clusters`; statements are composed once, then bound to a runner. */
export const makeSqlClusterStore = (db: SqlDatabase): ((runner: SqlRunner) => ClusterStore) => {
  const s = clusterStatements(db)
  return (runner) => {
    const one = async (id: ClusterId) => {
      const row = await runner.first<ClusterRow>(s.get, { id })
      return row === undefined ? undefined : clusterOf(row)
    }
    return {
      async listOf(ownerId, provider) {
        const rows = await runner.all<ClusterRow>(s.listOf, { ownerId })
        return rows.map(clusterOf).filter((cluster) => provider === undefined || cluster.provider === provider)
      },
      async listAll(page) {
        const rows = await runner.all<ClusterRow>(s.listAll, { limit: page.limit, offset: pageOffset(page) })
        return pageOf(rows.map(clusterOf), await runner.first<CountRow>(s.countAll, {}))
      },
      async accountsOf(userId) {
        const rows = await runner.all<AccountRow>(s.accountsOf, { userId })
        return rows.map((row): ClusterAccount => ({ id: row.id as AccountId, name: row.name, isOrganization: row.kind === 'organization' }))
      },
      async listGranted(userId, relations) {
        const grants = await runner.all<{ object_id: number; relation: string }>(s.granted, { userId })
        const ids = [...new Set(grants.filter(({ relation }) => relations.includes(relation)).map((grant) => grant.object_id))]
        const found = await Promise.all(ids.map((id) => one(id as ClusterId)))
        return found.filter((cluster) => cluster !== undefined)
      },
      async find(ownerId, name) {
        const row = await runner.first<ClusterRow>(s.find, { ownerId, name })
        return row === undefined ? undefined : clusterOf(row)
      },
      async findByUid(ownerId, uid) {
        const row = await runner.first<ClusterRow>(s.findByUid, { ownerId, uid })
        return row === undefined ? undefined : clusterOf(row)
      },
      get: one,
      async link(id) {
        const row = await runner.first<LinkRow>(s.link, { id })
        if (row === undefined) return undefined
        return {
          id: row.id as ClusterId,
          ownerId: row.owner_id as AccountId,
          ownerName: row.owner_name,
          version: row.version,
          impersonatesUsers: row.impersonates_users === 1,
        }
      },
      async sealed(id, version) {
        const row = await runner.first<SealedRow>(s.sealed, { id, version })
        return row === undefined ? undefined : { box: row.sealed_credential, ref: row.ref, ownerId: row.owner_id as AccountId }
      },
      async insert(cluster) {
        try {
          const { insertId } = await runner.run(s.insert, newBinds(cluster))
          const inserted = await one(insertId as ClusterId)
          if (inserted === undefined) throw new Error('the cluster that was just inserted is gone')
          return right(inserted)
        } catch (error) {
          if (!isUniqueViolation(error, 'name')) throw error
          return left(ClusterNameTaken(`There is already a cluster named ${cluster.name}.`))
        }
      },
      async change(id, version, change) {
        const { affected } = await runner.run(s.change, { ...changeBinds(change), id, version })
        const changed = affected === 0 ? undefined : await one(id)
        return changed === undefined ? left(ClusterChanged('The cluster was changed meanwhile; read it again.')) : right(changed)
      },
      async observe(id, status, facts, at) {
        await runner.run(s.observeStatus, { id, phase: status.phase, reason: status.reason ?? '', message: status.message.slice(0, 1000), at: at.getTime() })
        if (facts === undefined) return
        const { kubernetesVersion, nodeCount } = facts
        await runner.run(s.observeFacts, { id, kubernetesVersion: kubernetesVersion.slice(0, 64), nodeCount, managers: toManagerMask(facts.managers) })
      },
      async remove(id) {
        await runner.run(s.removeGrants, { id })
        await runner.run(s.removeTokens, { id })
        return (await runner.run(s.remove, { id })).affected > 0
      },
    }
  }
}
