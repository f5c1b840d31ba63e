import { roleObjectRows } from '../../adapters/sql/authz/role-store.ts'
import { clusterObjectRows } from '../../adapters/sql/clusters/rows.ts'
import { contractObjectRows } from '../../adapters/sql/contracts/rows.ts'
import { tokenObjectRows } from '../../adapters/sql/identity/rows.ts'
import type { HeldObjects, ObjectRows } from '../../adapters/sql/kit/object-rows.ts'
import { makeSqlHeldObjects } from '../../adapters/sql/kit/object-rows.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { organizationObjectRows } from '../../adapters/sql/organizations/rows.ts'

/**
 * The rows that the parts of this build declare, for tests without a service. A new type with rows of its own is
 * added here.
 */
export const objectRows: readonly ObjectRows[] = [
  tokenObjectRows,
  ...organizationObjectRows,
  roleObjectRows,
  ...clusterObjectRows,
  contractObjectRows,
]

/** The objects that keep an account, as the service finds them. */
export const heldObjects = (db: SqlDatabase): HeldObjects => {
  return makeSqlHeldObjects(db, objectRows)
}
