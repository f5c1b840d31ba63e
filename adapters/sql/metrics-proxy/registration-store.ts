import type { Dashboard, Registration, RegistrationChange, RegistrationStore } from '../../../core/metrics-proxy/ports.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, nullable, pick, selectedAs, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto } from '../kit/values.ts'
import { accessTokens } from '../tables/identity.ts'
import { metricsRegistrations } from '../tables/metrics-proxy.ts'
import { orgMembers } from '../tables/organizations.ts'

const shown = without(metricsRegistrations, 'dashATokenId', 'dashBTokenId', 'createdAt', 'updatedAt')
const foundRow = {
  ...without(aliased(metricsRegistrations, 'r'), 'dashATokenId', 'dashBTokenId', 'createdAt', 'updatedAt'),
  tokenUserId: selectedAs(nullable(accessTokens.userId)),
  memberId: selectedAs(nullable(orgMembers.userId)),
}

/** What a change sets. A new column of the table belongs to it. */
const content = without(
  metricsRegistrations,
  'id',
  'backend',
  'ownerId',
  'tenantId',
  'clusterUid',
  'createdAt',
  'version',
)

const statements = (db: SqlDatabase) => {
  const findFor = (tokenColumn: string) =>
    db.prepare({ ...pick(metricsRegistrations, 'backend'), at: metricsRegistrations.updatedAt }, foundRow, (k, p) =>
      k('metrics_registrations as r')
        .leftJoin('access_tokens as t', (on) =>
          on
            .on('t.id', `r.${tokenColumn}`)
            .on((live) => live.onNull('t.expires_at').orOnVal('t.expires_at', '>', p.at)),
        )
        .leftJoin('org_members as m', (on) => on.on('m.org_id', 'r.tenant_id').on('m.user_id', 't.user_id'))
        .select('t.user_id as token_user_id', 'm.user_id as member_id')
        .where('r.backend', p.backend),
    )
  return {
    find: { dashA: findFor('dash_a_token_id'), dashB: findFor('dash_b_token_id') },
    insert: insertInto(db, metricsRegistrations, { omitted: ['id'], fixed: { version: 1 } }),
    change: db.prepare({ ...content, ...pick(metricsRegistrations, 'id', 'version') }, (k, p) =>
      k('metrics_registrations')
        .where('id', p.id)
        .where('version', p.version)
        .update({ ...assigned(content, p), version: k.raw('?? + 1', ['version']) }),
    ),
    remove: db.prepare(pick(metricsRegistrations, 'id', 'version'), (k, p) =>
      k('metrics_registrations').where('id', p.id).where('version', p.version).delete(),
    ),
  }
}

/** The token with which the datasource asks: the newest of those that a registration names. */
const tokenIdOf = (dashboards: Registration['dashboards'], dashboard: Dashboard) =>
  dashboards[dashboard]?.proxyTokens[0]?.id

const contentBinds = ({ ref, sealedContents, dashboards, leasedUntil }: RegistrationChange, at: Date) => ({
  ref,
  sealedContents,
  dashboards,
  leasedUntil,
  dashATokenId: tokenIdOf(dashboards, 'dashA'),
  dashBTokenId: tokenIdOf(dashboards, 'dashB'),
  updatedAt: at,
})

const registrationOf = ({ tokenUserId: _, memberId: _member, ...row }: Row<typeof foundRow>): Row<typeof shown> => row

/** RegistrationStore over the table metrics_registrations. */
export const makeSqlRegistrationStore = (db: SqlDatabase): ((runner: SqlRunner) => RegistrationStore) => {
  const s = statements(db)
  return (runner) => ({
    async find(backend, dashboard, at) {
      const row = await runner.first(s.find[dashboard], { backend, at })
      if (row === undefined) return undefined
      const { tokenUserId, memberId, tenantId } = row
      return {
        registration: registrationOf(row),
        hasToken: tokenUserId !== undefined && (memberId !== undefined || tokenUserId === tenantId),
      }
    },
    async insert({ backend, ownerId, tenantId, clusterUid, ...change }, at) {
      try {
        const row = { backend, ownerId, tenantId, clusterUid, createdAt: at, ...contentBinds(change, at) }
        return (await runner.run(s.insert, row)).insertedId
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    async change(id, version, change, at) {
      return (await runner.run(s.change, { id, version, ...contentBinds(change, at) })).affected === 1
    },
    async remove(id, version) {
      return (await runner.run(s.remove, { id, version })).affected === 1
    },
  })
}
