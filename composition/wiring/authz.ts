import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import { makeSqlRoleStore, roleObjectRows } from '../../adapters/sql/authz/role-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { makeAuthorizer } from '../../core/authz/authorizer.ts'
import {
  AuthorizationFactsToken,
  AuthorizationSchemaToken,
  AuthorizerToken,
  CatalogueToken,
  RoleStoreToken,
  RoleUnitOfWorkToken,
} from '../../core/authz/ports.ts'
import { compileSchema } from '../../core/authz/schema.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import type { Provide } from '../boot.ts'
import { StartRefused } from '../boot.ts'

export const provideAuthz: Provide = (container, boot) => {
  const { database } = boot
  const bindRoles = makeSqlRoleStore(database)
  const bindRights = makeSqlRightsStore(database)
  boot.objectRows.add(roleObjectRows)
  container.provideValue(CatalogueToken, boot.catalogue)
  container.provide(AuthorizationSchemaToken, (resolve) => {
    const schema = compileSchema(resolve(CatalogueToken))
    if (isLeft(schema)) throw new StartRefused(schema.left)
    return schema.right
  })
  container.provide(AuthorizationFactsToken, () =>
    makeSqlAuthorizationFacts(database, boot.catalogue.objectTypes, boot.objectRows.all())(database),
  )
  container.provide(AuthorizerToken, (resolve) =>
    makeAuthorizer({
      schema: resolve(AuthorizationSchemaToken),
      facts: resolve(AuthorizationFactsToken),
      clock: resolve(ClockToken),
    }),
  )
  container.provide(RoleStoreToken, () => bindRoles(database))
  container.provide(RoleUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ roles: bindRoles(tx), rights: bindRights(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
}
