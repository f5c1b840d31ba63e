import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeHmacDigest } from '../../adapters/security/digests.ts'
import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import { makeSqlRoleStore } from '../../adapters/sql/authz/role-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import { makeAuthorizer } from '../../core/authz/authorizer.ts'
import { makeCreateRole, makeDeleteRole, makeUpdateRole } from '../../core/authz/roles.ts'
import { makeListAllowedPermissions } from '../../core/authz/allowed-permissions.ts'
import type { RoleStores } from '../../core/authz/ports.ts'
import type { AccessContext } from '../../core/kernel/access.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { objectRows } from '../support/object-rows.ts'
import { catalogue, schema } from './catalogue.ts'
import { nameOf } from './account-names.ts'

const auditKey = makeHmacDigest(new Uint8Array(32).fill(7))
const clock = { now: () => new Date('2026-05-01T08:00:00.000Z') }

/** The part's use cases over one database, wired as the composition root wires them. */
export const makeRoleFixture = (db: SqlDatabase) => {
  const facts = makeSqlAuthorizationFacts(db, catalogue.objectTypes, objectRows)(db)
  const bindRoles = makeSqlRoleStore(db)
  const bindRights = makeSqlRightsStore(db)
  const unitOfWork = makeSqlUnitOfWork<RoleStores>(
    db,
    (tx, audit) => ({ roles: bindRoles(tx), rights: bindRights(tx), audit }),
    makeSqlAuditTrail(db, makeAuditChain(auditKey)),
  )
  const deps = { schema, clock, unitOfWork }
  return {
    db,
    facts,
    unitOfWork,
    roles: bindRoles(db),
    authorizer: makeAuthorizer({ schema, facts, clock: { now: () => new Date() } }),
    list: makeListAllowedPermissions({ schema, facts }),
    create: makeCreateRole(deps),
    update: makeUpdateRole(deps),
    remove: makeDeleteRole(deps),
    /** What a person holds in an account, now. */
    async context(userId: number, accountId: number): Promise<AccessContext> {
      const found = await facts.locate(userId as UserId, { type: 'account', name: nameOf(accountId) })
      if (found === undefined) throw new Error(`no account ${accountId}`)
      return found.context
    },
    /** The audit log's actions, oldest first. */
    async audited(): Promise<readonly string[]> {
      const rows = await db.query<{ action: string }>((k) => k('audit_events').select('action').orderBy('id'))
      return rows.map(({ action }) => action)
    },
    close: () => db.close(),
  }
}
export type RoleFixture = ReturnType<typeof makeRoleFixture>
